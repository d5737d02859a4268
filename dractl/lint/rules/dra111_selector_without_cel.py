"""A selector has no `cel`.

## What it does

Each selector needs a CEL expression in `cel.expression`.

## Why is this bad

The API server rejects the object.

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
        - {}
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
            expression: device.driver == "gpu.example.com"
```

## Source

RC-11; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateSelector
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-11", "DC-02")
