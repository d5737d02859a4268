"""A claim asks for admin access in a namespace that does not allow it.

## What it does

A request with `adminAccess: true` needs the label `resource.kubernetes.io/admin-access: "true"` on the namespace. Only
Namespace documents of the same run are checked; without one, nothing is reported.

## Why is this bad

The API server rejects the claim or the template.

## Example

```yaml
apiVersion: v1
kind: Namespace
metadata: {name: monitoring}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus, namespace: monitoring}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com, adminAccess: true}
```

## Use instead

```yaml
apiVersion: v1
kind: Namespace
metadata:
  name: monitoring
  labels: {resource.kubernetes.io/admin-access: "true"}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus, namespace: monitoring}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com, adminAccess: true}
```

## Source

RC-19; kubernetes/kubernetes pkg/registry/resource/utils.go AuthorizedForAdmin
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-19",)
