"""The name of an object is malformed.

## What it does

The names of claims, templates, classes and slices are DNS subdomains of at most 253 characters.

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

OM-02 and OM-03; pkg/apis/core/validation and k8s.io/apimachinery/pkg/api/validation ValidateObjectMeta
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("OM-02", "OM-03")
