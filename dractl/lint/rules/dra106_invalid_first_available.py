"""A request has too many alternatives, or two with the same name.

## What it does

`firstAvailable` has at most 8 subrequests with different names.

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
      firstAvailable:
      - {name: any, deviceClassName: large.example.com}
      - {name: any, deviceClassName: small.example.com}
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
      - {name: large, deviceClassName: large.example.com}
      - {name: small, deviceClassName: small.example.com}
```

## Source

RC-06; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceRequest
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-06",)
