"""Two requests of a claim have the same name.

## What it does

Compares the names of all requests of a claim.

## Why is this bad

Constraints, configurations and containers could not tell the two apart: the API server rejects the claim.

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
    - name: gpu
      exactly: {deviceClassName: gpu.example.com}
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
    - name: other
      exactly: {deviceClassName: gpu.example.com}
```

## Source

RC-02; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceClaim
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-02",)
