"""A claim asks for more than 32 devices.

## What it does

Adds up the smallest numbers of devices that the requests of a claim accept.

## Why is this bad

The claim is accepted, but at most 32 devices can be allocated for one claim: the pod stays pending.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       exactly: {deviceClassName: gpu.example.com, count: 16}
     - name: more
-      exactly: {deviceClassName: gpu.example.com, count: 17}
+      exactly: {deviceClassName: gpu.example.com, count: 16}
```

## Source

k8s.io/api/resource/v1 AllocationResultsMaxSize; k8s.io/dynamic-resource-allocation/structured
"""

from dractl.lint.model import Advice, Found, Run

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True
FIELDS = ("count",)
MAX_DEVICES = 32


def check(run: Run) -> Found:
    for claim in run.claims:
        total = sum(min(request.amount or 1 for request in group) for group in claim.requests)
        if total > MAX_DEVICES and len(claim.requests) <= MAX_DEVICES:
            largest = max(claim.alternatives, key=lambda request: request.amount)
            yield Advice(
                claim.subject,
                (*largest.path, "count"),
                f"the claim asks for {total} devices; at most {MAX_DEVICES} can be allocated",
                help="spread the devices over several claims of the pod",
            )
