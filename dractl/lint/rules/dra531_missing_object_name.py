"""An object has no name.

## What it does

`metadata.name` or `metadata.generateName` is required.

## Why is this bad

The API server rejects the object.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {labels: {app: a}}
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

OM-01; pkg/apis/core/validation and k8s.io/apimachinery/pkg/api/validation ValidateObjectMeta
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("OM-01",)
