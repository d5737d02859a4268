"""An alternative can never be chosen, because an earlier one matches all of its devices.

## What it does

Compares the subrequests of `firstAvailable`. An earlier one matches all devices of a later one if
it has no additional selector, asks for no more devices, and names the same class, or a class whose
selectors require nothing beyond those of the later subrequest and its class.

## Why is this bad

Alternatives are tried in order; wherever the later one fits, the earlier one fits as well.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       firstAvailable:
+      - {name: two, deviceClassName: gpu.example.com, count: 2}
       - {name: any, deviceClassName: gpu.example.com}
-      - {name: two, deviceClassName: gpu.example.com, count: 2}
```

## Source

k8s.io/api/resource/v1 DeviceRequest.firstAvailable
"""

from collections.abc import Iterable

from dractl.lint.model import Advice, Found, Run
from dractl.objects import Expression, Request

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True
FIELDS = ("firstAvailable",)


def check(run: Run) -> Found:
    for claim in run.claims:
        if claim.constraints:
            continue  # the constraints may hold only for the later alternative
        for group in claim.requests:
            for at, later in enumerate(group):
                earlier = next(
                    (request for request in group[:at] if _covers(run, request, later)), None
                )
                if earlier:
                    yield Advice(
                        claim.subject,
                        later.path,
                        f"{later.name} is never chosen: wherever it fits, the earlier "
                        f"{earlier.name} fits too",
                        help=(
                            "put the most wanted alternative, the one that is hardest to get, first"
                        ),
                        confidence="likely",
                    )


def _covers(run: Run, earlier: Request, later: Request) -> bool:
    plain = {"name", "deviceClassName", "selectors", "count", "allocationMode"}
    if (
        earlier.takes_all
        or later.takes_all
        or (earlier.fields.keys() | later.fields.keys()) - plain
    ):
        return False
    if earlier.amount > later.amount:
        return False
    if earlier.device_class == later.device_class:
        return _conditions(run, earlier.selectors) <= _conditions(run, later.selectors)
    wide, narrow = run.device_class(earlier.device_class), run.device_class(later.device_class)
    if wide is None or narrow is None or not wide.selectors:
        return False
    required = _conditions(run, (*wide.selectors, *earlier.selectors))
    return required <= _conditions(run, (*narrow.selectors, *later.selectors))


def _conditions(run: Run, selectors: Iterable[Expression]) -> frozenset[str]:
    """Return the conditions that selectors require, regardless of their layout."""
    return frozenset(
        " ".join(part.text.split()) for item in selectors for part in run.program(item).conjuncts
    )
