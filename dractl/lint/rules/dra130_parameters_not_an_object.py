"""The parameters of a configuration are not an object.

## What it does

`opaque.parameters` is a map, usually with apiVersion and kind.

## Why is this bad

The API server rejects the object.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com}
    config:
    - opaque: {driver: gpu.example.com, parameters: [sharing]}
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com}
    config:
    - opaque: {driver: gpu.example.com, parameters: {apiVersion: gpu.example.com/v1, kind: GpuConfig}}
```

## Source

RC-30; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateRawExtension
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-30", "DC-11")
