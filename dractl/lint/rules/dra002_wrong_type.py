"""A value has the wrong type.

## What it does

Compares each value with the type of its field in the API, including the strings of quantities and times.

## Why is this bad

The API server cannot decode the object: a string where a number belongs, a number where a string belongs.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com, count: "2"}
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
      exactly: {deviceClassName: gpu.example.com, count: 2}
```

## Source

k8s.io/apimachinery/pkg/runtime/serializer/json; sigs.k8s.io/json
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("wrong-type",)
