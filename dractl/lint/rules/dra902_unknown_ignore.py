"""An ignore comment names an unknown rule.

## What it does

Looks up the codes and names in `# dractl: ignore[...]` comments.

## Why is this bad

The comment suppresses nothing, although it looks as if it did.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu  # dractl: ignore[DRA1160]
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

dractl: ignore comments
"""

from __future__ import annotations

SEVERITY = "warning"
SERVER = ()
