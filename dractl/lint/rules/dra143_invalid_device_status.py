"""The status of an allocated device is malformed.

## What it does

Checks `status.devices` of claims in dumps: whether the devices are allocated, their conditions, data and network data.

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
  allocation:
    devices:
      results:
      - {request: gpu, driver: gpu.example.com, pool: node-1, device: gpu-0}
  devices:
  - {driver: gpu.example.com, pool: node-1, device: gpu-1}
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
  devices:
  - {driver: gpu.example.com, pool: node-1, device: gpu-0}
```

## Source

CS-10 to CS-14; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateResourceClaimStatusUpdate
"""

from __future__ import annotations

SEVERITY = "warning"
SERVER = ("CS-10", "CS-11", "CS-12", "CS-13", "CS-14")
