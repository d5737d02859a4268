"""The API server rejects the object for a reason that has no rule of its own.

## What it does

Reports what the API server says about metadata, status and other parts that are not particular to DRA.

## Why is this bad

The API server rejects the object.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: GPUs}
spec:
  devices:
    requests:
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
```

## Source

Various; pkg/apis/resource/validation and pkg/apis/core/validation of kubernetes/kubernetes
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ()
