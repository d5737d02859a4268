"""A CEL expression is longer than 10240 bytes.

## What it does

Counts the UTF-8 bytes of a selector's expression.

## Why is this bad

The API server rejects the object without compiling the expression.

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
            expression: device.driver == "gpu.example.com"
```

## Source

RC-12; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateCELSelector; k8s.io/api/resource/v1
CELSelectorExpressionMaxLength
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-12", "DC-03")
