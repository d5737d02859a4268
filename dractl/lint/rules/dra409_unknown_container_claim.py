"""A container uses a claim that the pod does not have.

## What it does

Looks up each name of `resources.claims` in the pod's `resourceClaims`.

## Why is this bad

The API server rejects the pod, and every workload with such a pod template.

## Example

```yaml
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: one-gpu}
  containers:
  - name: main
    image: registry.example.com/train:1
    resources:
      claims: [{name: gpus}]
```

## Use instead

```yaml
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: one-gpu}
  containers:
  - name: main
    image: registry.example.com/train:1
    resources:
      claims: [{name: gpu}]
```

## Source

PC-09; kubernetes/kubernetes pkg/apis/core/validation/validation.go
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("PC-09",)
