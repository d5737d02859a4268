"""The bounds of a request policy do not fit together.

## What it does

`min` is required; `min` ≤ `default` ≤ `max` ≤ the capacity.

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
    allowMultipleAllocations: true
    capacity:
      memory:
        value: 80Gi
        requestPolicy: {default: 10Gi, validRange: {min: 20Gi, max: 80Gi}}
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
    allowMultipleAllocations: true
    capacity:
      memory:
        value: 80Gi
        requestPolicy: {default: 10Gi, validRange: {min: 5Gi, max: 80Gi, step: 5Gi}}
```

## Source

RS-29; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateRequestPolicyRange
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-29",)
