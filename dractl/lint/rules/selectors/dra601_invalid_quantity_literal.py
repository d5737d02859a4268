"""The argument of `quantity()` is not a quantity.

## What it does

Parses the literal arguments of `quantity` in selectors.

## Why is this bad

The expression compiles, and the API server accepts it. Evaluating it on a device is an error, and
one error stops the scheduling of the pod on all nodes.

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
         selectors:
         - cel:
-            expression: device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("6 GiB"))
+            expression: 'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("6Gi"))'
```

## Source

k8s.io/apiserver/pkg/cel/library/quantity.go
"""

import re

from dractl.cel.conditions import first_arguments
from dractl.cel.functions.kubernetes import parse_quantity
from dractl.lint.model import Advice, Found, Replacement, Run

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True


def check(run: Run) -> Found:
    for subject, expression in run.expressions:
        if "quantity" not in expression.text:
            continue
        for literal, _ in first_arguments(run.program(expression).tokens, "quantity"):
            try:
                parse_quantity(literal.text)
            except ValueError as error:
                meant, path = _guess_quantity(literal.text), expression.path
                fix, help_ = (
                    None,
                    "a quantity is a number with a suffix such as k, M, G, Ki, Mi, Gi",
                )
                if meant is not None:
                    # A conversion to another unit, such as 80g to 80G, is not safe.
                    safe = meant == literal.text.rstrip("B")
                    fix = Replacement(path, meant, f"write {meant}", span=literal.span, safe=safe)
                    help_ = f"write {meant}; units have no B, and quantities contain no spaces"
                message = f'"{literal.text}" is not a quantity: {error}'
                yield Advice(subject, path, message, help=help_, span=literal.span, fix=fix)


def _guess_quantity(text: str) -> str | None:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([kKmMgGtTpPeE])(i?)[bB]?)?\s*", text)
    if not match:
        return None
    letter, binary = match[2] or "", match[3] or ""
    unit = "k" if letter in ("k", "K") and not binary else letter.upper() + binary
    return f"{match[1]}{unit}"
