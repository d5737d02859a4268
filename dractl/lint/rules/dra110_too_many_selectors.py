"""A request or class has more than 32 selectors.

## What it does

Counts the `selectors` of a request, a subrequest or a class.

## Why is this bad

The API server rejects the object. Join conditions with `&&` to need fewer selectors.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
        selectors:
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
        - cel: {expression: "true"}
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
      exactly:
        deviceClassName: gpu.example.com
        selectors:
        - cel:
            expression: device.driver == "gpu.example.com"
```

## Source

RC-10; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateSelectorSlice
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-10", "DC-01")
