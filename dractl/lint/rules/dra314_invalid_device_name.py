"""The name of a device is not a DNS label.

## What it does

A name has lower-case letters, digits and `-`, begins and ends with a letter or digit, and has at most 63 characters.

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
  - name: 0000:3b:00.0
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
  - name: pci-0000-3b-00-0
```

## Source

RS-14; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDevice
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-14",)
