"""The name of a device class is not a DNS subdomain.

## What it does

A class name is a DNS subdomain: DNS labels joined by dots, at most 253 characters.

## Why is this bad

The API server rejects the claim; no class can have that name.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: GPU}
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

RC-09; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceClass
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-09",)
