"""The request that a container names is not a DNS label.

## What it does

`request` is the name of a request; a subrequest cannot be named.

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
      claims: [{name: gpu, request: gpu/large}]
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
      claims: [{name: gpu, request: gpu}]
```

## Source

PC-10; kubernetes/kubernetes pkg/apis/core/validation/validation.go
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("PC-10",)
