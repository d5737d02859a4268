"""A container asks for a resource with a malformed name.

## What it does

Checks the names in `requests` and `limits`: standard resources, or extended ones such as `example.com/gpu`, which a
DeviceClass can provide.

## Why is this bad

The API server rejects the pod.

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
      limits: {requests.example.com/gpu: 1}
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

PC-15; kubernetes/kubernetes pkg/apis/core/validation/validation.go ValidateContainerResourceName
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("PC-15",)
