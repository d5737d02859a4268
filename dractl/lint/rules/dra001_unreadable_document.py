"""A document cannot be read.

## What it does

Reads each YAML or JSON document as the API server does.

## Why is this bad

Neither kubectl nor the API server can decode it. The other documents of the file are still checked.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus
spec: {}
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
      exactly: {deviceClassName: gpu.example.com}
```

## Source

kubernetes-sigs/yaml; k8s.io/apimachinery/pkg/util/yaml/decoder.go
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ()
