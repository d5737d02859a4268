"""A claim has more requests, constraints or configurations than the API allows.

## What it does

Counts `requests`, `constraints` and `config` of a claim; each may have 32.

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
      exactly: {deviceClassName: gpu.example.com}
    constraints:
    - {requests: [gpu], matchAttribute: example.com/a0}
    - {requests: [gpu], matchAttribute: example.com/a1}
    - {requests: [gpu], matchAttribute: example.com/a2}
    - {requests: [gpu], matchAttribute: example.com/a3}
    - {requests: [gpu], matchAttribute: example.com/a4}
    - {requests: [gpu], matchAttribute: example.com/a5}
    - {requests: [gpu], matchAttribute: example.com/a6}
    - {requests: [gpu], matchAttribute: example.com/a7}
    - {requests: [gpu], matchAttribute: example.com/a8}
    - {requests: [gpu], matchAttribute: example.com/a9}
    - {requests: [gpu], matchAttribute: example.com/a10}
    - {requests: [gpu], matchAttribute: example.com/a11}
    - {requests: [gpu], matchAttribute: example.com/a12}
    - {requests: [gpu], matchAttribute: example.com/a13}
    - {requests: [gpu], matchAttribute: example.com/a14}
    - {requests: [gpu], matchAttribute: example.com/a15}
    - {requests: [gpu], matchAttribute: example.com/a16}
    - {requests: [gpu], matchAttribute: example.com/a17}
    - {requests: [gpu], matchAttribute: example.com/a18}
    - {requests: [gpu], matchAttribute: example.com/a19}
    - {requests: [gpu], matchAttribute: example.com/a20}
    - {requests: [gpu], matchAttribute: example.com/a21}
    - {requests: [gpu], matchAttribute: example.com/a22}
    - {requests: [gpu], matchAttribute: example.com/a23}
    - {requests: [gpu], matchAttribute: example.com/a24}
    - {requests: [gpu], matchAttribute: example.com/a25}
    - {requests: [gpu], matchAttribute: example.com/a26}
    - {requests: [gpu], matchAttribute: example.com/a27}
    - {requests: [gpu], matchAttribute: example.com/a28}
    - {requests: [gpu], matchAttribute: example.com/a29}
    - {requests: [gpu], matchAttribute: example.com/a30}
    - {requests: [gpu], matchAttribute: example.com/a31}
    - {requests: [gpu], matchAttribute: example.com/a32}
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

RC-01; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceClaim
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RC-01", "DC-06")
