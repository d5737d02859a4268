"""The parameters of a configuration are longer than 10240 bytes.

## What it does

Counts the bytes of `opaque.parameters` as JSON.

## Why is this bad

The API server rejects the object.

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

RC-29; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateOpaqueConfiguration
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-29", "DC-10")
