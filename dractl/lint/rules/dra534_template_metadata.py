"""A template gives its claims more metadata than labels and annotations.

## What it does

`spec.metadata` of a ResourceClaimTemplate has labels and annotations only.

## Why is this bad

The API server rejects the template: the names of claims are derived from their pod.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec:
  metadata: {name: gpu}
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.example.com}
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu}
spec:
  metadata: {labels: {app: train}}
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.example.com}
```

## Source

OM-09; pkg/apis/core/validation ValidateTemplateObjectMeta
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("OM-09",)
