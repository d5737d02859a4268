"""An ignore comment suppresses nothing.

## What it does

Finds `# dractl: ignore[...]` comments whose codes have no finding in their line or file.

## Why is this bad

Once the finding is fixed, the comment would hide the next one.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu  # dractl: ignore[DRA116]
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
