"""A valid value of a request policy exceeds the capacity of the device.

## What it does

Compares each of `validValues` with the capacity.

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
        requestPolicy: {default: 10Gi, validValues: [10Gi, 100Gi]}
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

RS-27; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateRequestPolicyValidValues
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-27",)
