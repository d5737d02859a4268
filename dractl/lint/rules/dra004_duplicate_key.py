"""A key stands twice in one map.

## What it does

Finds keys that are given more than once, merged ones included.

## Why is this bad

Strict decoding rejects the document; without it the last one counts silently.

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
        count: 1
        count: 2
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

kubernetes-sigs/yaml UnmarshalStrict
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("duplicate-key",)
