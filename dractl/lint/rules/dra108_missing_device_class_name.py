"""A request names no device class.

## What it does

`deviceClassName` is required in every request and subrequest.

## Why is this bad

The API server rejects the claim: devices are only found through a class.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {count: 1}
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
```

## Source

RC-08; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceClass
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-08",)
