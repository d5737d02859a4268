"""The name of a pod's claim is not a DNS label.

## What it does

A name has lower-case letters, digits and `-`, and at most 63 characters.

## Why is this bad

The API server rejects the pod, and every workload with such a pod template.

## Example

```yaml
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  resourceClaims:
  - {name: GPU, resourceClaimTemplateName: one-gpu}
  containers:
  - name: main
    image: registry.example.com/train:1
    resources:
      claims: [{name: GPU}]
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

PC-03; kubernetes/kubernetes pkg/apis/core/validation/validation.go
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("PC-03",)
