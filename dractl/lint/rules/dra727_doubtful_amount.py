"""An amount in a unit that is hardly meant.

## What it does

Looks at comparisons of capacities of known drivers with `quantity("...")`, and at `capacity.requests`: less than a
mebibyte of something that is counted in bytes, or an amount with a binary suffix of something that is not.

## Why is this bad

A quantity without a suffix is in bytes: every GPU has more than `quantity("80")`, so the selector excludes none.

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
_BYTES = frozenset(
    {"memory", "addressableMemory", "size"}
)  # of every known driver that publishes a capacity so named
_LEAST = Quantity.parse("1Mi")


def check(run: Run) -> Found:
    for read in reads(run):
        if read.lookup.kind != "capacity" or read.row is None:
            continue
        for found in read.program.comparisons:
            for literal in found.literals if found.lookup == read.lookup else ():
                why = (
                    _why(read.row.name, str(literal.value)) if literal.kind == "quantity" else None
                )
                if why:
                    yield read.advice(*why, span=literal.span)
    for selection in selections(run):
        request, wanted = selection.request, selection.devices
        if request is None or wanted is None:
            continue
        for key, amount in request.capacity.items():
            full = key if "/" in key else f"{wanted.driver.name}/{key}"
            why = _why(full, str(amount)) if full in wanted.driver.capacities else None
            if why:
                path = (*request.path, "capacity", "requests", key)
                yield Advice(selection.subject, path, *why, confidence="likely")


def _why(name: str, text: str) -> tuple[str, str] | None:
    """What is doubtful about an amount of a capacity, and what may be meant."""
    amount = quantity(text)
    if amount is None:
        return None  # DRA601
    bare = name.rpartition("/")[2]
    if bare in _BYTES:
        if amount.sign() > 0 and amount < _LEAST:
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
