"""An attribute has to match and to differ, or a constraint has both `matchAttribute` and
`distinctAttribute`.

## What it does

Finds constraints with both fields, and pairs of constraints that want the same attribute of the
same devices to be equal and to be different.

## Why is this bad

The API server accepts both. If one constraint has both fields, the scheduler ignores
`distinctAttribute`: the devices may all have the same value. If two constraints contradict each
other, it respects both: no devices satisfy them, and the pod stays pending.

## Example

```diff
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
-    - requests: [gpu, nic]
-      matchAttribute: resource.kubernetes.io/numaNode
-      distinctAttribute: resource.kubernetes.io/pcieRoot
+    - {requests: [gpu, nic], matchAttribute: resource.kubernetes.io/numaNode}
+    - {requests: [gpu, nic], distinctAttribute: resource.kubernetes.io/pcieRoot}
```

## Source

kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDeviceConstraint;
k8s.io/dynamic-resource-allocation/structured/internal constraint.go
"""

from dractl.lint.model import Advice, Claim, Found, Run
from dractl.objects import Constraint

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True
FIELDS = ("distinctAttribute",)


def check(run: Run) -> Found:
    for claim in run.claims:
        for constraint in claim.constraints:
            if constraint.fields.get("matchAttribute") and constraint.fields.get(
                "distinctAttribute"
            ):
                yield Advice(
                    claim.subject,
                    (*constraint.path, "distinctAttribute"),
                    "distinctAttribute is ignored beside matchAttribute",
                    help="split it into two constraints",
                    key=True,
                )
        if run.target.has("distinct-compared"):
            yield from _advise_opposites(claim)


def _advise_opposites(claim: Claim) -> Found:
    """Yield advice on two constraints that no devices satisfy together."""
    single = [
        constraint
        for constraint in claim.constraints
        if len({"matchAttribute", "distinctAttribute"} & set(constraint.fields)) == 1
    ]
    for distinct in single:
        for match in single:
            kinds = (match.kind, distinct.kind)
            if (
                kinds != ("matchAttribute", "distinctAttribute")
                or match.attribute != distinct.attribute
            ):
                continue
            if match.attribute and _count_shared_devices(claim, match, distinct) > 1:
                yield Advice(
                    claim.subject,
                    (*distinct.path, "distinctAttribute"),
                    f"{distinct.attribute} has to differ here and to match in another constraint "
                    "on the same devices",
                    help="remove one of them",
                    related=(
                        ("the other constraint", claim.subject, (*match.path, "matchAttribute")),
                    ),
                )
                break


def _count_shared_devices(claim: Claim, first: Constraint, second: Constraint) -> int:
    """Count the devices that both constraints cover, whatever alternative is chosen."""
    both = {request.path for request in claim.targets(first.requests)}
    both &= {request.path for request in claim.targets(second.requests)}
    groups = [group for group in claim.requests if all(request.path in both for request in group)]
    return sum(min(request.amount for request in group) for group in groups)
