"""A selector compares an attribute with a literal of another type.

## What it does

Evaluates each comparison of an attribute or capacity with a literal on a device that has it, with
the type that the driver publishes. Reports comparisons that are an error, and those that are false
for every value.

## Why is this bad

Compare versions with `compareTo(semver("..."))`, not with a string. `==` between a number and a
string is never true, and `<` or `>` between them is an error, which stops the scheduling of the pod
on all nodes.

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
-            expression: 'device.attributes["gpu.nvidia.com"].driverVersion >= "580"'
+            expression: >-
+              device.attributes["gpu.nvidia.com"].driverVersion.compareTo(semver("580.0.0")) >= 0
```

## Source

The catalogues of dractl/drivers, each with its driver's source: `dractl rule DRIVER`; cel-go
common/types, k8s.io/apiserver/pkg/cel/library/semverlib.go
"""

from typing import Any

from dractl.cel import EvalError, environment
from dractl.cel.conditions import Comparison
from dractl.lint.model import Found, Replacement, Run
from dractl.lint.published import Read, Row, reads
from dractl.model import Device, Version

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True

_SAMPLES: dict[str, Any] = {
    "string": "x", "int": 1, "bool": True, "version": "1.2.3", "strings": ["x"], "ints": [1]
}  # fmt: skip
_TYPES = {"string": "string", "int": "int", "bool": "bool", "semver": "version"}


def check(run: Run) -> Found:
    for read in reads(run):
        row = read.row
        if row is not None and read.lookup.kind == "attributes":
            yield from _advise_calls(read, row)
        for comparison in read.program.comparisons if row is not None else ():
            if (
                comparison.lookup != read.lookup
                or row is None
                or all(
                    _TYPES.get(literal.kind, literal.kind) == row.type
                    for literal in comparison.literals
                )
            ):
                continue
            result = _evaluate(run, read, row, comparison)
            if result is None:
                continue
            effect = "never true" if result is False else f"an error on every device ({result})"
            message = f"{row.name} {_describe_type(row)}: this comparison is {effect}"
            yield read.advice(
                message,
                _help(row, comparison),
                span=comparison.span,
                fix=_fix(read, row, comparison),
            )


def _advise_calls(read: Read, row: Row) -> Found:
    """Yield advice on conditions other than comparisons, such as ``version.startsWith("580")``."""
    sample = _SAMPLES.get(row.type)
    program = read.program
    conditions = zip(program.conjuncts, program.conjunct_programs, strict=True)
    for part, condition in conditions if sample is not None else ():
        inside = [
            lookup
            for lookup in program.lookups
            if part.start <= lookup.start and lookup.end <= part.end
        ]
        if inside != [read.lookup] or any(
            comparison.lookup == read.lookup for comparison in program.comparisons
        ):
            continue
        device = Device({"name": "device", "attributes": {row.name: {row.type: sample}}})
        result = condition.evaluate(read.driver.name, device) if condition.ok else None
        if isinstance(result, EvalError) and result.text.startswith("no such overload"):
            message = (
                f"{row.name} {_describe_type(row)}: this is an error on every device "
                f"({result.text})"
            )
            yield read.advice(message, span=part.span)


def _describe_type(row: Row) -> str:
    return f"is a list of {row.type}" if row.type.endswith("s") else f"has type {row.type}"


def _evaluate(run: Run, read: Read, row: Row, comparison: Comparison) -> str | bool | None:
    """Evaluate a comparison on devices with the attribute. Return the error if it always fails,
    False if it is false for every value, and None if it can hold.
    """
    text = read.program.text[comparison.start : comparison.end]
    program = environment(run.target, "stored").compile(text)
    sample = _SAMPLES.get(row.type)
    if not program.ok or sample is None:
        return None
    results: list[Any] = []
    for value in (
        sample,
        *row.values,
        *(_convert(row, literal.value) for literal in comparison.literals),
    ):
        if value is not None:
            device = Device({"name": "device", "attributes": {row.name: {row.type: value}}})
            results.append(program.evaluate(read.driver.name, device))
    errors = [result.text for result in results if isinstance(result, EvalError)]
    if errors and len(errors) == len(results):
        return str(errors[0])
    return False if not errors and not any(results) else None


def _convert(row: Row, value: Any) -> Any:
    """Return the value of the attribute's type that is most likely to be equal to a literal."""
    if row.type == "int":
        text = str(value)
        return int(text) if text.lstrip("-").isdigit() and len(text) < 19 else None
    if row.type == "bool":
        return {"true": True, "false": False}.get(str(value).lower())
    return str(value) if row.type == "string" else None


def _fix(read: Read, row: Row, comparison: Comparison) -> Replacement | None:
    if len(comparison.literals) > 1:
        return None
    literal = comparison.literals[0]
    value = (
        _convert(row, literal.value)
        if row.type in ("int", "bool") and literal.kind == "string"
        else None
    )
    if value is not None:
        text = str(value).lower()
        return Replacement(read.expression.path, text, f"write {text}", span=literal.span)
    if (
        row.type == "version"
        and comparison.lookup is not None
        and comparison.operator != "in"
        and comparison.default is None
    ):
        text = _help(row, comparison).removeprefix("write ")
        return Replacement(read.expression.path, text, f"write {text}", span=comparison.span)
    return None


def _help(row: Row, comparison: Comparison) -> str:
    literal = comparison.literals[0]
    lookup = comparison.lookup
    operand = f'device.{lookup.kind}["{lookup.domain}"].{lookup.name}' if lookup else ""
    match row.type:
        case "version":
            operator = "==" if comparison.operator == "in" else comparison.operator
            return f'write {operand}.compareTo(semver("{_version(literal.value)}")) {operator} 0'
        case "int":
            return f"compare it with a number without quotes: {literal.value}"
        case "bool":
            return f"write {operand} or !{operand}"
        case "strings" | "ints" if comparison.operator == "==":
            return f"write {literal.text} in {operand}"
    return f'compare it with a string: "{literal.value}"'


def _version(text: Any) -> str:
    try:
        return Version.parse_tolerant(str(text)).text
    except ValueError:
        return "1.2.3"
