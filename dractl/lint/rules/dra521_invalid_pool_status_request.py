"""A ResourcePoolStatusRequest is malformed.

## What it does

`driver` is required; `poolName` is a valid pool name; `limit` is 1 to 1000.

## Why is this bad

The API server rejects the object.

## Example

```yaml
apiVersion: resource.k8s.io/v1alpha3
kind: ResourcePoolStatusRequest
metadata: {name: gpus}
spec: {driver: gpu.example.com, limit: 0}
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1alpha3
kind: ResourcePoolStatusRequest
metadata: {name: gpus}
spec: {driver: gpu.example.com, limit: 10}
```

## Source

PS-01 to PS-04; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateResourcePoolStatusRequestSpec
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("PS-01", "PS-02", "PS-03", "PS-04")
