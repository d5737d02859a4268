"""A field is unknown or in the wrong place.

## What it does

Looks up each field in the types of the chosen release.

## Why is this bad

kubectl asks the API server to decode strictly, so the object is rejected. Clients that do not (Helm, many controllers)
silently lose the field: without its selector, a request matches any device.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      deviceClassName: gpu.example.com
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

k8s.io/api/resource; k8s.io/apimachinery/pkg/runtime/serializer/json (strict decoding)
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("unknown-field",)
