"""A toleration of a device taint is not well-formed.

## What it does

Checks key, operator (`Exists` or `Equal`), value and effect (`NoSchedule`, `NoExecute` or `None`) of each toleration;
with `Exists` there is no value.

## Why is this bad

The API server rejects the claim.

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
        tolerations:
        - {key: gpu.example.com/hot, operator: Exists, value: "yes"}
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
        tolerations:
        - {key: gpu.example.com/hot, operator: Exists}
```

## Source

RC-18; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceToleration
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-18",)
