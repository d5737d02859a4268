"""The pod-level resources have claims.

## What it does

Claims belong in the `resources` of containers.

## Why is this bad

The API server rejects the pod, and every workload with such a pod template.

## Example

```yaml
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  resources:
    claims: [{name: gpu}]
  resourceClaims:
  - {name: gpu, resourceClaimTemplateName: one-gpu}
  containers:
  - name: main
    image: registry.example.com/train:1
    resources:
      claims: [{name: gpu}]
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

PC-11; kubernetes/kubernetes pkg/apis/core/validation/validation.go
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("PC-11",)
