"""A CEL expression does not compile, or does not return a boolean.

## What it does

Parses and type-checks each selector with the functions and types that the chosen release has, as the API server does
when an object is created.

## Why is this bad

The API server rejects the object. Quantities are compared with `compareTo`, `isGreaterThan` and `isLessThan`, not
with `<` and `>`.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        selectors:
        - cel:
            expression: device.capacity["gpu.example.com"].memory > quantity("40Gi")
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
      exactly:
        deviceClassName: gpu.example.com
        selectors:
        - cel:
            expression: device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("40Gi"))
```

## Source

RC-13; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateCELSelector; k8s.io/dynamic-resource-
allocation/cel/compile.go
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-13", "DC-04")
