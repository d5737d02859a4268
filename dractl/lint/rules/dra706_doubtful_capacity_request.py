"""A request asks for a zero or negative amount of a capacity.

## What it does

Checks the amounts in `capacity.requests`.

## Why is this bad

The API server does not check them. Zero reserves nothing, unless the device's policy has a minimum.
A negative amount ends the scheduling of the pod from 1.37 on ("capacity value is negative"); before
1.37, it leaves more of a shared device to others than the device has.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       exactly:
         deviceClassName: gpu.example.com
-        capacity: {requests: {gpu.example.com/memory: "0"}}
+        capacity: {requests: {gpu.example.com/memory: 10Gi}}
```

## Source

k8s.io/dynamic-resource-allocation/structured (consumable capacity)
"""

from dractl.lint.model import Advice, Found, Run
from dractl.objects import quantity

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True
FIELDS = ("capacity",)


def check(run: Run) -> Found:
    less = "is negative"
    if run.target.has("strict-amounts"):
        less += (
            ': scheduling ends in an error ("capacity value is negative") unless the device has '
            "a policy with a minimum"
        )
    for claim, request in run.requests:
        for key, written in request.capacity.items():
            amount = quantity(written)
            if amount is not None and amount.sign() <= 0:
                yield Advice(
                    claim.subject,
                    (*request.path, "capacity", "requests", key),
                    f"{written} of {key} {less if amount.sign() < 0 else 'reserves nothing'}",
                    help="ask for a positive amount, or remove it",
                )
