"""The allocation of a claim is malformed.

## What it does

Checks `status.allocation` of claims in dumps: devices, the requests they are for, configurations and the node selector.

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
      - {request: nic, driver: gpu.example.com, pool: node-1, device: gpu-0}
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
```

## Source

CS-03 to CS-09; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateResourceClaimStatusUpdate
"""

from __future__ import annotations

SEVERITY = "warning"
SERVER = ("CS-03", "CS-04", "CS-05", "CS-06", "CS-07", "CS-08", "CS-09")
