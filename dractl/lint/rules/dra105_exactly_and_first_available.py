"""A request has both `exactly` and `firstAvailable`.

## What it does

A request has exactly one of the two.

## Why is this bad

The API server cannot know which one is meant and rejects the claim.

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
      firstAvailable:
      - {name: large, deviceClassName: gpu.example.com}
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
      firstAvailable:
      - {name: large, deviceClassName: gpu.example.com}
```

## Source

RC-05; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceRequest
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-05",)
