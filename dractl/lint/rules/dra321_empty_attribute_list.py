"""A list attribute is empty.

## What it does

`ints`, `bools`, `strings` and `versions` have at least one item. Feature gate DRAListTypeAttributes.

## Why is this bad

The API server rejects the slice, so the driver cannot publish its devices.

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpu}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  nodeName: node-1
  devices:
  - name: gpu-0
    attributes:
      model: {string: A100}
```

## Source

RS-21; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceAttribute
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-21",)
