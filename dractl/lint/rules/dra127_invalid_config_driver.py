"""The driver of a configuration is missing or malformed.

## What it does

A driver name is a DNS subdomain of at most 63 characters.

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
    - opaque: {driver: gpu_example, parameters: {kind: GpuConfig}}
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

RC-27; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateOpaqueConfiguration;
pkg/apis/core/validation ValidateCSIDriverName
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-27", "DC-08")
