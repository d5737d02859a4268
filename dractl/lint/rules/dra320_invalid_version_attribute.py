"""A version attribute is not a semantic version.

## What it does

A version has three numbers without leading zeros, optionally followed by a pre-release (`-rc.1`) and build metadata
(`+build`).

## Why is this bad

The API server rejects the slice, so the driver cannot publish its devices. Versions of vendors often have leading zeros
or four parts: publish them as a string, or drop the zeros.

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
      driverVersion: {version: 550.08.01}
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
      driverVersion: {version: 550.8.1}
```

## Source

RS-20; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceAttributeVersionValue
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-20",)
