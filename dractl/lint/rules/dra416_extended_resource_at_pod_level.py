"""Pod-level resources include an extended resource.

## What it does

Finds names with a domain in `spec.resources` of a pod.

## Why is this bad

The API server rejects the pod: at pod level only cpu, memory and huge pages can be requested.

## Example

```yaml
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
  - name: train
    image: registry.example.com/train
  resources:
    limits: {example.com/gpu: 1}
```

## Use instead

```yaml
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
  - name: train
    image: registry.example.com/train
    resources:
      limits: {example.com/gpu: 1}
```

## Source

PC-16; kubernetes/kubernetes pkg/apis/core/validation/validation.go validatePodResourceName
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("PC-16",)
