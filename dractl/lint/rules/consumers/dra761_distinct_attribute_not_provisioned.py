"""A constraint that Karpenter does not support.

## What it does

With `--for karpenter`: finds `distinctAttribute` in claims and templates.

## Why is this bad

Karpenter refuses the claim ("DistinctAttribute constraints not done yet"), and launches no node for
its pods.

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

from dractl.lint.model import Advice, Found, Run

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
FIELDS = ("distinctAttribute",)
FOR = ("karpenter",)


def check(run: Run) -> Found:
    for claim, constraint in run.constraints:
        if constraint.fields.get("distinctAttribute"):
            yield Advice(
                claim.subject,
                (*constraint.path, "distinctAttribute"),
                "Karpenter does not support distinctAttribute: it launches no node for this claim",
                key=True,
            )
