"""The binding conditions of a device are malformed.

## What it does

`bindingConditions` and `bindingFailureConditions` go together; each has at most 4 entries, and no entry is in both.

## Why is this bad

The API server rejects the slice, so the driver cannot publish its devices.

## Example

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
    bindingConditions: [example.com/attached]
```

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
    bindingConditions: [example.com/attached]
    bindingFailureConditions: [example.com/failed]
```

## Source

RS-35; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDevice
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-35",)
