"""All devices in a template, which Kueue does not support.

## What it does

With `--for kueue`: finds `allocationMode: All` in templates, except with `adminAccess`, which Kueue
does not count.

## Why is this bad

Kueue refuses the workload ("AllocationMode 'All' is not supported"): it cannot tell how many
devices that is.

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
-        exactly: {deviceClassName: gpu.example.com, allocationMode: All}
+        exactly: {deviceClassName: gpu.example.com, count: 8}
```

## Source

kubernetes-sigs/kueue pkg/dra/claims.go countDevicesPerClass (ff69552)
"""

from dractl.lint.model import Advice, Found, Run

SEVERITY = "warning"
KINDS = ("ResourceClaimTemplate",)
FIELDS = ("allocationMode",)
FOR = ("kueue",)


def check(run: Run) -> Found:
    for claim in run.claims:
        for request in claim.alternatives if claim.subject.kind == "ResourceClaimTemplate" else ():
            if (
                request.parent is None
                and request.takes_all
                and request.fields.get("adminAccess") is not True
            ):
                yield Advice(
                    claim.subject,
                    (*request.path, "allocationMode"),
                    "Kueue does not support allocationMode All: it refuses workloads that use "
                    "this template",
                    help="set count to the number of devices",
                )
