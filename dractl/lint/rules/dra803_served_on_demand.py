"""The release serves this version only if an administrator enables it.

## What it does

Since 1.34 an API server serves `resource.k8s.io/v1` by default; older versions need `--runtime-config`.

## Why is this bad

On most clusters the object cannot be created: the server could not find the requested resource.

## Example

```yaml
apiVersion: resource.k8s.io/v1beta2
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

k8s.io/api/resource/*/zz_generated.prerelease-lifecycle.go; kubernetes/kubernetes pkg/controlplane/instance.go
"""

from __future__ import annotations

SEVERITY = "warning"
SERVER = ("served-on-demand",)
