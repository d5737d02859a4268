"""A constraint has both `matchAttribute` and `distinctAttribute`.

## What it does

Finds constraints with both fields.

## Why is this bad

The API server accepts it, and the scheduler ignores `distinctAttribute`: the devices may all have the same value.

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
    - name: nic
      exactly: {deviceClassName: nic.example.com}
    constraints:
    - requests: [gpu, nic]
      matchAttribute: resource.kubernetes.io/numaNode
      distinctAttribute: resource.kubernetes.io/pcieRoot
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
    - name: nic
      exactly: {deviceClassName: nic.example.com}
    constraints:
    - {requests: [gpu, nic], matchAttribute: resource.kubernetes.io/numaNode}
    - {requests: [gpu, nic], distinctAttribute: resource.kubernetes.io/pcieRoot}
```

## Source

kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceConstraint
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint.advice import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.lint.model import Run

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
FIELDS = ("distinctAttribute",)


def check(run: Run) -> Iterator[Advice]:
    for claim in run.claims:
        for constraint in claim.constraints:
            if constraint.fields.get("matchAttribute") and constraint.fields.get("distinctAttribute"):
                yield Advice(
                    claim.subject,
                    (*constraint.path, "distinctAttribute"),
                    "distinctAttribute is ignored beside matchAttribute",
                    help="split it into two constraints",
                    key=True,
                )
