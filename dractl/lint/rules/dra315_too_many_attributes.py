"""A device has more than 32 attributes and capacities.

## What it does

Counts both together.

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
    attributes:
      a0: {int: 0}
      a1: {int: 1}
      a2: {int: 2}
      a3: {int: 3}
      a4: {int: 4}
      a5: {int: 5}
      a6: {int: 6}
      a7: {int: 7}
      a8: {int: 8}
      a9: {int: 9}
      a10: {int: 10}
      a11: {int: 11}
      a12: {int: 12}
      a13: {int: 13}
      a14: {int: 14}
      a15: {int: 15}
      a16: {int: 16}
      a17: {int: 17}
      a18: {int: 18}
      a19: {int: 19}
      a20: {int: 20}
      a21: {int: 21}
      a22: {int: 22}
      a23: {int: 23}
      a24: {int: 24}
      a25: {int: 25}
      a26: {int: 26}
      a27: {int: 27}
      a28: {int: 28}
      a29: {int: 29}
      a30: {int: 30}
      a31: {int: 31}
      a32: {int: 32}
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
    attributes:
      model: {string: A100}
```

## Source

RS-15; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDevice
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-15",)
