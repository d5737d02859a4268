"""No constraint covers a request, although one covers another request of its class.

## What it does

Where constraints name two or more requests, finds requests of the same classes that no constraint
names.

## Why is this bad

A forgotten request gets any device, on another PCIe root or NUMA node than the rest, and nothing
reports it.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu-0
       exactly: {deviceClassName: gpu.example.com}
     - name: gpu-1
       exactly: {deviceClassName: gpu.example.com}
     - name: nic
       exactly: {deviceClassName: nic.example.com}
     constraints:
-    - {requests: [gpu-0, nic], matchAttribute: resource.kubernetes.io/pcieRoot}
+    - {requests: [gpu-0, gpu-1, nic], matchAttribute: resource.kubernetes.io/pcieRoot}
```

## Source

k8s.io/api/resource/v1 DeviceConstraint.requests
"""

from dractl.lint.model import Advice, Found, Run

SEVERITY = "info"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True
FIELDS = ("constraints",)


def check(run: Run) -> Found:
    for claim in run.claims:
        bound = {
            request.path: item
            for item in claim.constraints
            for request in claim.targets(item.requests)
        }
        named = [
            group for group in claim.requests if any(request.path in bound for request in group)
        ]
        if len(named) < 2:
            continue
        by_class = {
            request.device_class: request
            for group in named
            for request in group
            if request.path in bound
        }
        for number, group in enumerate(claim.requests):
            like = next(
                (
                    by_class[request.device_class]
                    for request in group
                    if request.device_class in by_class
                ),
                None,
            )
            if like is not None and group not in named:
                yield Advice(
                    claim.subject,
                    (*claim.path, "requests", number, "name"),
                    f"no constraint names request {group[0].whole}, but one names {like.whole} "
                    "of the same class",
                    help="add it to the constraint if its device should be aligned with the others",
                    confidence="possible",
                    related=(("the constraint", claim.subject, bound[like.path].path),),
                )
