"""A request asks for fewer than one device.

## What it does

`count` must be greater than zero.

## Why is this bad

The API server rejects a negative number.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com, count: -1}
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
      exactly: {deviceClassName: gpu.example.com, count: 1}
```

## Source

RC-16; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceAllocationMode
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-16",)
