"""The attributes of a device have more than 48 values.

## What it does

A scalar counts one, a list as many as it has items.

## Why is this bad

The API server rejects the slice, and the driver that publishes it does not get going.

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
