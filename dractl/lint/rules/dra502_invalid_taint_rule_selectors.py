"""The class or the CEL selectors of a taint rule are malformed.

## What it does

Up to 1.34 a taint rule could select by `deviceClassName` and `selectors`.

## Why is this bad

The API server rejects the rule.

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: hot}
spec:
  deviceSelector: {driver: gpu.example.com}
  taint: {key: gpu.example.com/hot, effect: NoSchedule}
```

## Source

DT-04; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceTaintSelector (1.34)
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("DT-04",)
