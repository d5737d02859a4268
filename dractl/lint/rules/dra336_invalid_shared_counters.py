"""The counter sets of a slice are malformed.

## What it does

A slice has at most 8 counter sets, each named by a different DNS label, with 1 to 32 counters named by DNS labels.

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
  - name: gpu-0-slices
    counters: {memory: {value: 80Gi}}
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

RS-36; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateCounterSet
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-36",)
