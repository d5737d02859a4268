"""A request for all devices also has a count.

## What it does

`allocationMode: All` takes every matching device of the node; `count` must be left out.

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
      exactly: {deviceClassName: gpu.example.com, allocationMode: All, count: 2}
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

RC-15; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceAllocationMode
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-15",)
