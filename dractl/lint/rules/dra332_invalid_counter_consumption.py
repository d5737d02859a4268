"""The counters that a device consumes are malformed.

## What it does

`consumesCounters` has at most 2 entries for different counter sets, each with 1 to 32 counters named by DNS labels.

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
    consumesCounters:
    - {counterSet: gpu-0-slices, counters: {}}
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpu}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 2}
  nodeName: node-1
  devices:
  - name: gpu-0
    consumesCounters:
    - {counterSet: gpu-0-slices, counters: {memory: {value: 10Gi}}}
```

## Source

RS-32; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceCounterConsumption
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-32",)
