"""`extendedResourceName` is not the name of an extended resource.

## What it does

The name has a domain other than Kubernetes' own: `example.com/gpu`.

## Why is this bad

The API server rejects the class.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  selectors:
  - cel: {expression: device.driver == "gpu.example.com"}
  extendedResourceName: gpu
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.example.com}
spec:
  selectors:
  - cel: {expression: device.driver == "gpu.example.com"}
  extendedResourceName: example.com/gpu
```

## Source

DC-12; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceClassSpec;
k8s.io/apimachinery/pkg/api/validate/strfmt.go
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("DC-12",)
