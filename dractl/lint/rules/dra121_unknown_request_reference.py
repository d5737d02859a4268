"""A constraint or configuration names a request that the claim does not have.

## What it does

Each name must be that of a request, or `request/subrequest`.

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
    - {requests: [gpu, nics], matchAttribute: resource.kubernetes.io/pcieRoot}
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

RC-21; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateRequestNameRef
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-21",)
