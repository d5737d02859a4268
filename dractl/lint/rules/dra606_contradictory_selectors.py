"""Selectors of a request can never hold together.

## What it does

Follows the selectors of a class and those of its requests (where both are part of the run) and finds two comparisons
that want different values of one attribute, or different drivers.

## Why is this bad

All selectors have to hold: no device is ever found, and the pod stays pending. An alternative of `firstAvailable` is
never chosen.

## Example

```yaml
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
            expression: device.driver == "gpu.exmaple.com" && device.attributes["gpu.example.com"].model == "A100"
```

## Use instead

```yaml
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
            expression: device.attributes["gpu.example.com"].model == "A100"
```

## Source

k8s.io/dynamic-resource-allocation/structured isSelectable; api.md section 4.6 and section 6, row 19
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dractl.cel import environment
from dractl.cel.ast import Call, Const, Ident, ListLiteral, Select
from dractl.lint.advice import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.cel.ast import Checked, Node
    from dractl.lint.run import Expression, Run, Subject

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
FIELDS = ("selectors",)

Value = tuple[str, Any]
Lookup = tuple[str, ...]


class Wanted(NamedTuple):
    """A comparison that has to hold: what it looks at has one of the values."""

    subject: Subject
    expression: Expression
    checked: Checked
    comparison: Call
    what: Lookup
    values: dict[Value, Const]


def check(run: Run) -> Iterator[Advice]:
    classes = {subject.name: subject for subject in run.of("DeviceClass")}
    for subject in classes.values():
        if pair := _contradiction(run, [(subject, expression) for expression in subject.selectors]):
            yield _advice(*pair)
    for claim in run.claims:
        for request in claim.alternatives:
            of_class = classes.get(request.device_class)
            selectors = [(of_class, expression) for expression in of_class.selectors] if of_class else []
            pair = _contradiction(run, [*selectors, *((claim.subject, expression) for expression in request.selectors)])
            if pair and pair[1].subject is claim.subject:  # else the class is at fault, which has been said
                yield _advice(*pair)._replace(severity="error" if request.parent is None else "warning")


def _advice(first: Wanted, second: Wanted) -> Advice:
    from dractl.cel.spans import Spans

    name = ".".join(second.what) if len(second.what) == 2 else f"{second.what[2]}/{second.what[3]}"
    before = "the class" if first.subject is not second.subject else "another selector"
    if first.expression is second.expression:
        before = "the same selector"
    there, here = (
        " or ".join(Spans(wanted.checked).text(constant) for constant in wanted.values.values())
        for wanted in (first, second)
    )
    start, end = Spans(second.checked).span(second.comparison)
    return Advice(
        second.subject,
        second.expression.path,
        f"no device satisfies this: {before} wants {there} as {name}, not {here}",
        help="all selectors of the class and of the request have to hold; alternatives are joined by || in one of them",
        offset=start,
        end=end,
        related=((f"{name} is {there}", first.subject, first.expression.path),),
    )


def _contradiction(run: Run, selectors: list[tuple[Subject, Expression]]) -> tuple[Wanted, Wanted] | None:
    """The first two comparisons that have no value in common."""
    if sum(expression.text.count("==") + expression.text.count(" in ") for _, expression in selectors) < 2:
        return None
    before: dict[Lookup, list[Wanted]] = {}
    for subject, expression in selectors:
        for item in _wanted(run, subject, expression):
            for other in before.get(item.what, ()):
                if other.values.keys().isdisjoint(item.values):
                    return other, item
            before.setdefault(item.what, []).append(item)
    return None


def _wanted(run: Run, subject: Subject, expression: Expression) -> Iterator[Wanted]:
    checked = environment(run.target, "new").compile(expression.text).checked
    if checked is None:
        return  # the API server says why
    for node in _comparisons(checked.root):
        left, right = node.args
        if isinstance(left, Const):
            left, right = right, left
        constants = right.elements if isinstance(right, ListLiteral) else (right,)
        values = {_value(constant): constant for constant in constants if isinstance(constant, Const)}
        what = _lookup(left)
        # Where .orValue(...) gives a value that is wanted, a device without the attribute satisfies the comparison.
        if what and len(values) == len(constants) and _default(left) not in values:
            yield Wanted(subject, expression, checked, node, what, values)


def _comparisons(node: Node) -> Iterator[Call]:
    """``a == b`` and ``a in [b, c]``, as far as they have to hold for the whole to hold."""
    if not isinstance(node, Call):
        return
    if node.function == "_&&_":
        for part in node.args:
            yield from _comparisons(part)
    elif node.function == "_==_" or (node.function == "@in" and isinstance(node.args[1], ListLiteral)):
        yield node


def _value(constant: Const) -> Value:
    """What is equal in CEL is equal here: numbers of all types."""
    return "number" if constant.kind in ("int", "uint", "double") else constant.kind, constant.value


def _default(node: Node) -> Value | None:
    if isinstance(node, Call) and node.function == "orValue" and isinstance(node.args[0], Const):
        return _value(node.args[0])
    return None


def _lookup(node: Node) -> Lookup:
    """``("device", "attributes", domain, name)`` or ``("device", "driver")``; empty for everything else."""
    if isinstance(node, Call) and node.function == "orValue" and node.target is not None:
        node = node.target
    steps: list[str] = []
    while not isinstance(node, Ident):
        if isinstance(node, Select) and not node.test:
            steps.append(node.field)
            node = node.operand
        elif isinstance(node, Call) and node.function in ("_[_]", "_?._", "_[?_]") and isinstance(node.args[1], Const):
            steps.append(str(node.args[1].value))
            node = node.args[0]
        else:
            return ()
    path = (*node.name.split("."), *reversed(steps))
    return path if path == ("device", "driver") or (path[:2] == ("device", "attributes") and len(path) == 4) else ()
