"""A map has the same key twice.

## What it does

Finds keys that are given more than once. A key that overrides one from a merge (`<<: *anchor`) is only an info: that is
what merge keys are for.

## Why is this bad

kubectl, Helm and kustomize silently take the last one; an API server that is sent the YAML itself decodes it strictly
and rejects it.

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

sigs.k8s.io/yaml yaml.go (UnmarshalStrict)
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("duplicate-key", "merged-key")
