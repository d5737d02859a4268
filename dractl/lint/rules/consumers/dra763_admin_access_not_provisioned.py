"""Admin access, which Karpenter ignores.

## What it does

With `--for karpenter`: finds `adminAccess: true`.

## Why is this bad

Karpenter does not look at `adminAccess`: it treats the request as one for unused devices, and
launches nodes for pods that only watch the devices of existing nodes.

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
-        exactly: {deviceClassName: gpu.example.com, allocationMode: All, adminAccess: true}
+        exactly: {deviceClassName: gpu.example.com}
```

## Source

kubernetes-sigs/karpenter pkg/scheduling/dynamicresources/request.go: deviceRequestAccessor has
class, selectors, mode, count and capacity only (2266468)
"""

from dractl.lint.model import Advice, Found, Run

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
FIELDS = ("adminAccess",)
FOR = ("karpenter",)


def check(run: Run) -> Found:
    for claim, request in run.requests:
        if request.fields.get("adminAccess") is True:
            yield Advice(
                claim.subject,
                (*request.path, "adminAccess"),
                "Karpenter ignores adminAccess: it looks for unused devices, on new nodes if "
                "necessary",
            )
