"""A device that cannot be shared has a request policy.

## What it does

`requestPolicy` needs `allowMultipleAllocations: true` on the device.

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
    capacity:
      memory:
        value: 80Gi
        requestPolicy: {default: 10Gi, validValues: [10Gi, 20Gi]}
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
        requestPolicy: {default: 10Gi, validValues: [10Gi, 20Gi]}
```

## Source

RS-22; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceCapacity
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-22",)
