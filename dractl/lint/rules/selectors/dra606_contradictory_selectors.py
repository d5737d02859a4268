"""Selectors of a request contradict each other.

## What it does

Reads the selectors of a class and those of its requests (if both are part of the run) and finds two
comparisons that require different values of one attribute, or different drivers.

## Why is this bad

A device must satisfy all selectors: none is ever found, and the pod stays pending. An alternative
of `firstAvailable` is never chosen.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: DeviceClass
 metadata: {name: gpu.example.com}
 spec:
   selectors:
   - cel: {expression: device.driver == "gpu.example.com"}
 ---
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
-            expression: >-
-              device.driver == "gpu.exmaple.com" &&
-              device.attributes["gpu.example.com"].model == "A100"
+            expression: device.attributes["gpu.example.com"].model == "A100"
```

## Source

k8s.io/dynamic-resource-allocation/structured isSelectable
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.cel.conditions import Comparison, Literal
from dractl.lint.model import Advice, Found, Manifest, Run
from dractl.objects import Expression

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True

Value = tuple[str, Any]


class MustHold(Struct, frozen=True):
    """A comparison that has to hold: its operand has one of the values."""

    subject: Manifest
    expression: Expression
    comparison: Comparison
    values: dict[Value, Literal]

    @property
    def operand(self) -> str:
        return self.comparison.lookup.full_name if self.comparison.lookup else "device.driver"


def check(run: Run) -> Found:
    for subject in run.of("DeviceClass"):
        if pair := _contradiction(run, [(subject, expression) for expression in subject.selectors]):
            yield _advice(*pair)
    for claim, request in run.requests:
        of_class = run.device_class(request.device_class)
        selectors = (
            [(of_class, expression) for expression in of_class.selectors] if of_class else []
        )
        pair = _contradiction(
            run, [*selectors, *((claim.subject, expression) for expression in request.selectors)]
        )
        # If both selectors are the class's, the class is reported above.
        if pair and pair[1].subject is claim.subject:
            yield replace(_advice(*pair), severity="error" if request.parent is None else "warning")


def _advice(first: MustHold, second: MustHold) -> Advice:
    name = second.operand
    before = "the class" if first.subject is not second.subject else "another selector"
    if first.expression is second.expression:
        before = "the same selector"
    first_values, second_values = (
        " or ".join(literal.text for literal in wanted.values.values())
        for wanted in (first, second)
    )
    return Advice(
        second.subject,
        second.expression.path,
        f"no device satisfies this: {before} requires {name} to be {first_values}, not "
        f"{second_values}",
        help=(
            "a device must satisfy all selectors of class and request; join alternatives with "
            "|| in one of them"
        ),
        span=second.comparison.span,
        related=((f"{name} is {first_values}", first.subject, first.expression.path),),
    )


def _contradiction(
    run: Run, selectors: list[tuple[Manifest, Expression]]
) -> tuple[MustHold, MustHold] | None:
    """Return the first two comparisons that have no value in common; None if there are none."""
    if (
        sum(
            expression.text.count("==") + expression.text.count(" in ")
            for _, expression in selectors
        )
        < 2
    ):
        return None
    before: dict[str, list[MustHold]] = {}
    for subject, expression in selectors:
        for item in _demands(run, subject, expression):
            for other in before.get(item.operand, ()):
                if other.values.keys().isdisjoint(item.values):
                    return other, item
            before.setdefault(item.operand, []).append(item)
    return None


def _demands(run: Run, subject: Manifest, expression: Expression) -> Iterator[MustHold]:
    for comparison in run.program(expression).comparisons:
        compares = comparison.lookup is None or comparison.lookup.kind == "attributes"
        if not (comparison.required and compares and comparison.operator in ("==", "in")):
            continue
        values = {literal.key: literal for literal in comparison.literals}
        # If the default of .orValue(...) is a wanted value, a device without the attribute
        # satisfies the comparison.
        if comparison.default is None or comparison.default.key not in values:
            yield MustHold(subject, expression, comparison, values)
