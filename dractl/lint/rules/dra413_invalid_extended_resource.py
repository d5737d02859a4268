"""The amount of an extended resource is invalid.

## What it does

An extended resource is counted in whole numbers, and request and limit are the same.

## Why is this bad

The API server rejects the pod, and every workload with such a pod template.

## Example

```yaml
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
  - name: main
    image: registry.example.com/train:1
    resources:
      limits: {example.com/gpu: 500m}
```

## Use instead

```yaml
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
  - name: main
    image: registry.example.com/train:1
    resources:
      limits: {example.com/gpu: 1}
```

## Source

PC-13; kubernetes/kubernetes pkg/apis/core/validation/validation.go
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("PC-13",)
