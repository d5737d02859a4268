"""The name of a subrequest is not a DNS label.

## What it does

A name has lower-case letters, digits and `-`, begins and ends with a letter or digit, and has at most 63 characters.

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
      - {name: Large, deviceClassName: gpu.example.com}
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

RC-07; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceSubRequest
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-07",)
