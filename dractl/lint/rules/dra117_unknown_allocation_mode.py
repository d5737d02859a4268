"""The allocation mode of a request is unknown.

## What it does

`allocationMode` is `ExactCount` (the default) or `All`.

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
      exactly: {deviceClassName: gpu.example.com, allocationMode: Any}
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
      exactly: {deviceClassName: gpu.example.com, allocationMode: All}
```

## Source

RC-17; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceAllocationMode
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-17",)
