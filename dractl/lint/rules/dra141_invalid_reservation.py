"""The reservations of a claim are malformed, or the claim is not allocated.

## What it does

Checks `status.reservedFor` of claims in dumps: at most 256 entries, each with resource, name and uid, and none unless
the claim is allocated.

## Why is this bad

An API server rejects such a status: it was written by hand, or the dump is truncated.

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
status:
  reservedFor:
  - {resource: pods, name: train, uid: 0b6e}
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
status:
  allocation:
    devices:
      results:
      - {request: gpu, driver: gpu.example.com, pool: node-1, device: gpu-0}
  reservedFor:
  - {resource: pods, name: train, uid: 0b6e}
```

## Source

CS-01 and CS-02; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateResourceClaimStatusUpdate
"""

from __future__ import annotations

SEVERITY = "warning"
SERVER = ("CS-01", "CS-02")
