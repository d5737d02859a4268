"""The scheduler of the release does not enforce `distinctAttribute`.

## What it does

Finds constraints with `distinctAttribute` for which the scheduler of the chosen release does not
compare all values.

## Why is this bad

Devices with equal values are silently allocated together. 1.34 compares nothing: a device only
needs to have the attribute. 1.35 and 1.36 remember only the value of the last device of each
request, and forget the values before it. So the third device of a request may have the value of the
first, and so may a device of a later request. 1.37 compares all values.

## Example

With `--kubernetes-version 1.34`:

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com, count: 2}
    constraints:
    - {requests: [gpu], distinctAttribute: gpu.example.com/uuid}
```

## Source

kubernetes/kubernetes#140438;
k8s.io/dynamic-resource-allocation/structured/internal/experimental/constraint.go of 0.34, 0.35 and
0.36
"""

from dractl.lint.model import Advice, Claim, Found, Run
from dractl.objects import Constraint, Request

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True
FIELDS = ("distinctAttribute",)
MAX_ALLOCATION_RESULTS = 32
"""The maximum number of devices for a request with mode All."""


def check(run: Run) -> Found:
    target = run.target
    # DRA802 reports that 1.33 lacks the field, and that later releases drop it if its gate is off.
    if not target.has("distinct-allocated") or target.has("distinct-compared"):
        return
    if target.has("distinct-kept-by-gate") and not target.enabled("DRAConsumableCapacity"):
        return
    explain = (
        _explain_forgotten_values if target.has("distinct-kept-by-gate") else _explain_no_comparison
    )
    for claim, constraint in run.constraints:
        if constraint.fields.get("distinctAttribute") and not constraint.fields.get(
            "matchAttribute"
        ):
            explanation = explain(_amounts(claim, constraint))
            if explanation:
                yield Advice(claim.subject, (*constraint.path, "distinctAttribute"), *explanation)


def _amounts(claim: Claim, constraint: Constraint) -> list[tuple[Request, int]]:
    """Return the requests that a constraint binds, in the order of the claim, and how many devices
    each may get.
    """
    bound = {request.path for request in claim.targets(constraint.requests)}
    groups = [[request for request in group if request.path in bound] for group in claim.requests]
    return [
        (group[0], max(request.amount or MAX_ALLOCATION_RESULTS for request in group))
        for group in groups
        if group
    ]


def _explain_no_comparison(amounts: list[tuple[Request, int]]) -> tuple[str, str] | None:
    if sum(amount for _, amount in amounts) < 2:
        return None
    return (
        (
            "kube-scheduler 1.34 does not compare the values: it accepts any devices that have the "
            "attribute"
        ),
        (
            "tell the devices apart with selectors, or upgrade: 1.36 compares if each request is "
            "for one device, and 1.37 always"
        ),
    )


def _explain_forgotten_values(amounts: list[tuple[Request, int]]) -> tuple[str, str] | None:
    for request, amount in amounts:
        if amount > 2 or (amount == 2 and request is not amounts[-1][0]):
            last = f"the last device of request {request.whole}"
            return (
                f"up to 1.36 kube-scheduler compares with {last} only: earlier values may recur",
                (
                    "use requests of one device each, all under the constraint; 1.37 compares "
                    "every value"
                ),
            )
    return None
