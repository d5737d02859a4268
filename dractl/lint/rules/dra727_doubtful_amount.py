"""An amount in a unit that is hardly meant.

## What it does

Looks at comparisons of capacities of known drivers with `quantity("...")`, and at
`capacity.requests`: it reports less than a mebibyte of a capacity that is counted in bytes, and a
binary suffix for a capacity that is not.

## Why is this bad

A quantity without a suffix is in bytes: every GPU has more than `quantity("80")`, so the selector
excludes none.

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
         deviceClassName: gpu.nvidia.com
         selectors:
         - cel:
-            expression: device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("80")) >= 0
+            expression: device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("75Gi")) >= 0
```

## Source

The catalogues of dractl/drivers, each with its driver's source: `dractl rule DRIVER`
"""

from dractl.lint.model import Advice, Found, Run
from dractl.lint.published import reads, selections
from dractl.model import Quantity
from dractl.objects import quantity

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True
FIELDS = ("selectors", "capacity")
# Every known driver that publishes a capacity with such a name counts it in bytes.
_BYTES = frozenset({"memory", "addressableMemory", "size"})
_MIN_BYTES = Quantity.parse("1Mi")


def check(run: Run) -> Found:
    for read in reads(run):
        if read.lookup.kind != "capacity" or read.row is None:
            continue
        for comparison in read.program.comparisons:
            for literal in comparison.literals if comparison.lookup == read.lookup else ():
                doubt = (
                    _explain_doubt(read.row.name, str(literal.value))
                    if literal.kind == "quantity"
                    else None
                )
                if doubt:
                    yield read.advice(*doubt, span=literal.span)
    for selection in selections(run):
        request, wanted = selection.request, selection.devices
        if request is None or wanted is None:
            continue
        for key, amount in request.capacity.items():
            full = key if "/" in key else f"{wanted.driver.name}/{key}"
            doubt = _explain_doubt(full, str(amount)) if full in wanted.driver.capacities else None
            if doubt:
                path = (*request.path, "capacity", "requests", key)
                yield Advice(selection.subject, path, *doubt, confidence="likely")


def _explain_doubt(name: str, text: str) -> tuple[str, str] | None:
    """Return the doubt about an amount of a capacity, and the possible intent; None for an amount
    that is plausible.
    """
    amount = quantity(text)
    if amount is None:
        return None  # the API server refuses the amount
    bare = name.rpartition("/")[2]
    if bare in _BYTES:
        if amount.sign() > 0 and amount < _MIN_BYTES:
            number = text.rstrip("mkKi")
            return (
                f"{text} is less than a mebibyte of {name}",
                f"{bare} is in bytes: write {number}Gi or {number}Mi",
            )
        return None
    if text.endswith("i"):
        return (
            f"{name} is a number, not an amount of bytes such as {text}",
            f"write {text.rstrip('KMGTPEi')}",
        )
    return None
