"""The taint of a taint rule is malformed.

## What it does

A taint has a label key, an optional label value, and an effect: `NoSchedule`, `NoExecute` or, since 1.35, `None`.

## Why is this bad

The API server rejects the rule.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: hot}
spec:
  deviceSelector: {driver: gpu.example.com}
  taint: {key: gpu.example.com/hot, effect: PreferNoSchedule}
```

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

DT-05 to DT-07; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceTaint
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("DT-05", "DT-06", "DT-07")
