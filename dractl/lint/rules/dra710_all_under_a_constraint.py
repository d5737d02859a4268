"""A constraint covers a request for all devices.

## What it does

Finds requests with `allocationMode: All` that a constraint applies to.

## Why is this bad

The request takes all matching devices of the node, and all of them must satisfy the constraint: a
single device with a different value makes the allocation fail on that node.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
-      exactly: {deviceClassName: gpu.example.com, allocationMode: All}
+      exactly: {deviceClassName: gpu.example.com, count: 2}
     constraints:
     - {requests: [gpu], matchAttribute: resource.kubernetes.io/numaNode}
```

## Source

k8s.io/dynamic-resource-allocation/structured ("cannot add device ... because a claim constraint
would not be satisfied")
"""

from dractl.lint.model import Advice, Found, Run

SEVERITY = "info"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True
FIELDS = ("constraints",)


def check(run: Run) -> Found:
    for claim, constraint in run.constraints:
        for request in claim.targets(constraint.requests):
            if request.takes_all:
                yield Advice(
                    claim.subject,
                    (*request.path, "allocationMode"),
                    f"request {request.reference} takes all devices: every one of them must "
                    "satisfy the constraint",
                    help=(
                        "ask for a number of devices unless all devices of a node can satisfy "
                        "the constraint"
                    ),
                    confidence="possible",
                    related=(("the constraint", claim.subject, constraint.path),),
                )
