"""A slice has both `sharedCounters` and `devices`.

## What it does

Since 1.35, the counters of a pool are in a slice of their own; before, they were in the slice of the devices that use
them.

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
  sharedCounters:
  - name: gpu-0-slices
    counters: {memory: {value: 80Gi}}
  devices:
  - name: gpu-0
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
  sharedCounters:
  - name: gpu-0-slices
    counters: {memory: {value: 80Gi}}
```

## Source

RS-11; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateResourceSliceSpec
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-11",)
