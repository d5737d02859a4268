"""The step of a request policy does not fit its bounds.

## What it does

`step` is greater than zero, and `default` and `max` are whole steps away from `min`.

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
        requestPolicy: {default: 12Gi, validRange: {min: 5Gi, max: 80Gi, step: 5Gi}}
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

RS-30; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateRequestPolicyRange
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-30",)
