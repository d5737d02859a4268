"""A constraint names too many requests, or one twice.

## What it does

A constraint names at most 32 requests, each once.

## Why is this bad

The API server rejects the claim.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com}
    - name: nic
      exactly: {deviceClassName: nic.example.com}
    constraints:
    - {requests: [gpu, gpu], matchAttribute: resource.kubernetes.io/pcieRoot}
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com}
    - name: nic
      exactly: {deviceClassName: nic.example.com}
    constraints:
    - {requests: [gpu, nic], matchAttribute: resource.kubernetes.io/pcieRoot}
```

## Source

RC-20; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceConstraint
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-20",)
