"""A device names its node, although its slice already does.

## What it does

`nodeName`, `nodeSelector` and `allNodes` of a device need `perDeviceNodeSelection: true` in the slice.

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
    nodeName: node-1
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpu}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  perDeviceNodeSelection: true
  devices:
  - name: gpu-0
    nodeName: node-1
```

## Source

RS-34; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDevice
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-34",)
