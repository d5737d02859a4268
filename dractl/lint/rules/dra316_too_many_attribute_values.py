"""The attributes of a device have more than 48 values.

## What it does

A scalar counts as one value, a list as one per item.

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

RS-16; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDevice
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-16",)
