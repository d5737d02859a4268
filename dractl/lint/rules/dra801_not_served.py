"""The release does not serve this kind in this version.

## What it does

Looks up apiVersion and kind in the API of the chosen release.

## Why is this bad

kubectl says `no matches for kind`, or that the server could not find the requested resource. Since 1.34, write
`resource.k8s.io/v1`.

## Example

```yaml
apiVersion: resource.k8s.io/v1alpha2
kind: ResourceClaim
metadata: {name: gpus}
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
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com}
```

## Source

k8s.io/api/resource/*/zz_generated.prerelease-lifecycle.go
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("not-served",)
