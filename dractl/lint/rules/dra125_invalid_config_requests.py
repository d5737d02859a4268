"""A configuration names too many requests, or one twice.

## What it does

A configuration names at most 32 requests, each once.

## Why is this bad

The API server rejects the claim.

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
    - requests: [gpu, gpu]
      opaque: {driver: gpu.example.com, parameters: {apiVersion: gpu.example.com/v1, kind: GpuConfig}}
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
    - requests: [gpu]
      opaque: {driver: gpu.example.com, parameters: {apiVersion: gpu.example.com/v1, kind: GpuConfig}}
```

## Source

RC-25; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceClaimConfiguration
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-25",)
