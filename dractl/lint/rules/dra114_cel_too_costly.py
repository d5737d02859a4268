"""A CEL expression may cost more than the API server allows.

## What it does

Estimates the highest cost of a selector, as the API server does before it accepts it; the limit is 1,000,000.

## Why is this bad

The API server rejects the object. Nested loops are expensive, and so are comparisons of two values of unknown size
(`!=` between quantities).

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
            expression: device.capacity["gpu.example.com"].memory != quantity("40Gi")
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
            expression: device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) != 0
```

## Source

RC-14; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateCELSelector; k8s.io/api/resource/v1
CELSelectorExpressionMaxCost
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-14", "DC-05")
