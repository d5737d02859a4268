"""A request has neither `exactly` nor `firstAvailable`.

## What it does

In v1 and v1beta2 the content of a request belongs below `exactly`, or as alternatives below `firstAvailable`.

## Why is this bad

The API server rejects the claim. A common cause: the fields are next to the request's name, as in v1beta1.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
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

RC-04; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceRequest
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-04",)
