"""A taint of a device is malformed.

## What it does

A taint has a label key, an optional label value, and an effect: `NoSchedule`, `NoExecute` or, since 1.35, `None`. A
device has at most 16 taints.

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
    taints: [{key: example.com/hot}]
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
    taints: [{key: example.com/hot, effect: NoSchedule}]
```

## Source

RS-40; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceTaint
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-40", "RS-41", "RS-42", "RS-43")
