"""A value is a placeholder that only a person can fill in.

## What it does

Finds values such as `<your-claim>` where the API server does not accept such a value. Placeholders that tools
substitute (`${APP}`, `$(APP)`, `__APP__`, `{{ app }}` in quotes) are assumed to be valid and are not reported.

## Why is this bad

Applied as it is, the object is rejected.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: <your-claim>}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com}
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: train}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com}
```

## Source

k8s.io/apimachinery pkg/util/validation/validation.go: no name may contain < or >
"""

from __future__ import annotations

SEVERITY = "info"
SERVER = ("unfilled-placeholder",)
