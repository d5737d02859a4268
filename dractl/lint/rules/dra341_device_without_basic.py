"""A device has no `basic`.

## What it does

Up to Kubernetes 1.32, every device of a slice (v1alpha3, v1beta1) has a field `basic`, even one without attributes and
capacities. Since 1.33 it can be left out.

## Why is this bad

The API server rejects the slice, so the driver cannot publish its devices.

## Use instead

```yaml
apiVersion: resource.k8s.io/v1beta1
kind: ResourceSlice
metadata: {name: node-1-gpu}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  nodeName: node-1
  devices:
  - name: gpu-0
    basic: {}
```

## Source

RS-44; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDevice (1.31, 1.32)
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-44",)
