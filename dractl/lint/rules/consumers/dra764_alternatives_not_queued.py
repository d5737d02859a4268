"""Alternatives in a template, which Kueue does not support.

## What it does

With `--for kueue`: finds `firstAvailable` in templates, which Kueue counts for quotas.

## Why is this bad

Kueue refuses the workload ("FirstAvailable device selection is not supported"): its jobs stay
suspended.

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
-        firstAvailable:
-        - {name: large, deviceClassName: large.example.com}
-        - {name: small, deviceClassName: small.example.com}
+        exactly: {deviceClassName: small.example.com}
```

## Source

kubernetes-sigs/kueue pkg/dra/claims.go countDevicesPerClass (ff69552)
"""

from dractl.lint.model import Advice, Found, Run

SEVERITY = "warning"
KINDS = ("ResourceClaimTemplate",)
FIELDS = ("firstAvailable",)
FOR = ("kueue",)


def check(run: Run) -> Found:
    for claim in run.claims:
        for alternatives in claim.requests if claim.subject.kind == "ResourceClaimTemplate" else ():
            if alternatives and alternatives[0].parent is not None:
                yield Advice(
                    claim.subject,
                    alternatives[0].path[:-1],
                    "Kueue does not support firstAvailable: it refuses workloads that use this "
                    "template",
                    help="name one class with exactly, in a template for each",
                    key=True,
                )
