"""`distinctAttribute` is not a fully qualified name.

## What it does

A constraint names its attribute together with the domain: `resource.kubernetes.io/pcieRoot`.

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
    - {requests: [gpu, nic], distinctAttribute: pcieRoot}
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
    - {requests: [gpu, nic], distinctAttribute: resource.kubernetes.io/pcieRoot}
```

## Source

RC-23; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceConstraint,
validateFullyQualifiedName
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-23",)
