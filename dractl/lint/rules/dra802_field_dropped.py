"""The API server drops a field because its feature gate is off.

## What it does

Knows which feature gates guard which fields, and their defaults in each release; `--feature-gates` overrides these.

## Why is this bad

The object is accepted and stored without the field, so it means something else than what is written.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpu}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  nodeName: node-1
  devices:
  - name: gpu-0
    attributes:
      model: {string: A100}
    consumesCounters:
    - counterSet: gpu-0-slices
      counters: {memory: {value: 10Gi}}
      compatibilityGroups: [a]
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpu}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  nodeName: node-1
  devices:
  - name: gpu-0
    attributes:
      model: {string: A100}
```

## Source

kubernetes/kubernetes pkg/registry/resource/*/strategy.go dropDisabledFields
"""

from __future__ import annotations

SEVERITY = "warning"
SERVER = ("dropped-field",)
