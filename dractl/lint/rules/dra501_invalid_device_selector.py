"""The device selector of a taint rule names a malformed driver, pool or device.

## What it does

Checks the form of `driver`, `pool` and `device`; an empty string is not the same as no value.

## Why is this bad

The API server rejects the rule.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: hot}
spec:
  deviceSelector: {driver: ""}
  taint: {key: gpu.example.com/hot, effect: NoSchedule}
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

DT-01 to DT-03; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceTaintSelector
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("DT-01", "DT-02", "DT-03")
