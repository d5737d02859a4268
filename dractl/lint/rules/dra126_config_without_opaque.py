"""A configuration has no content.

## What it does

Each item of `config` needs `opaque` with a driver and its parameters.

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
    - requests: [gpu]
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

RC-26; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceConfiguration
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-26", "DC-07")
