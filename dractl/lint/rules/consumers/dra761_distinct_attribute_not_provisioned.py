"""A constraint that Karpenter does not support.

## What it does

With `--for karpenter`: finds `distinctAttribute` in claims and templates.

## Why is this bad

Karpenter refuses the claim ("DistinctAttribute constraints not done yet"), and launches no node for its pods.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaimTemplate
 metadata: {name: gpus}
 spec:
   spec:
     devices:
       requests:
       - name: gpu
         exactly: {deviceClassName: gpu.example.com, count: 2}
-      constraints:
-      - distinctAttribute: gpu.example.com/numaNode
```

## Source

kubernetes-sigs/karpenter pkg/scheduling/dynamicresources/request.go ValidateClaimRequest (2266468)
"""

from collections.abc import Iterator

from dractl.lint.advice import Advice
from dractl.lint.model import Run

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
FIELDS = ("distinctAttribute",)
FOR = ("karpenter",)


def check(run: Run) -> Iterator[Advice]:
    for claim in run.claims:
        for constraint in claim.constraints:
            if constraint.fields.get("distinctAttribute"):
                yield Advice(
                    claim.subject,
                    (*constraint.path, "distinctAttribute"),
                    "Karpenter does not support distinctAttribute: it launches no node for this claim",
                    key=True,
                )
