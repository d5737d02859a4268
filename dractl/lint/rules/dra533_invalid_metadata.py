"""The metadata of an object is malformed.

## What it does

Checks labels, annotations, finalizers and owner references.

## Why is this bad

The API server rejects the object.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus, labels: {app: "one two"}}
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

OM-04 to OM-08; pkg/apis/core/validation and k8s.io/apimachinery/pkg/api/validation ValidateObjectMeta
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("OM-04", "OM-05", "OM-06", "OM-07", "OM-08")
