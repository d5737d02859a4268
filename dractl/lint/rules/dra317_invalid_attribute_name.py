"""The name of an attribute or capacity is malformed.

## What it does

A name is a C identifier (letters, digits, `_`) of at most 32 characters. A domain and `/` come before it unless the
name is in the driver's own domain.

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
      driver-version: {version: 1.2.3}
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
      driverVersion: {version: 1.2.3}
```

## Source

RS-17; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateQualifiedName
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-17",)
