"""A selector compares an attribute with a value that no device has.

## What it does

Compares the literals of `==` and `in` with the values that the driver can publish, for attributes
whose values are all in its catalogue (`architecture`, `type`, `addressingMode`). MIG profiles must
have the form that NVML gives them: `1g.5gb`, not `mig-1g.5gb`. Product names are compared with the
known ones, in calls too. `"H100"` is only a part of the name `NVIDIA H100 80GB HBM3`, so neither
`startsWith("H100")` nor `contains("h100")` is ever true.

## Why is this bad

Comparisons of strings respect case and spaces, so this one is false on every device, and the pod
stays pending.

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
-            expression: 'device.attributes["gpu.nvidia.com"].architecture == "hopper"'
+            expression: 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'
```

## Source

The catalogues of dractl/drivers, each with its driver's source: `dractl rule DRIVER`. The form of
MIG profiles: NVIDIA/go-nvlib pkg/nvlib/device/mig_profile.go (MigProfileInfo.String)
"""

import re
from functools import lru_cache
from typing import Any

from dractl.cel import Program
from dractl.cel.conditions import Literal
from dractl.lint.model import Advice, Found, Replacement, Run
from dractl.lint.published import Read, Row, products, reads, values_in_input
from dractl.model import Device
from dractl.model.nearest import nearest

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True
_PROFILE = re.compile(r"([1-8]c\.)?[1-8]g\.[0-9]+gb([+-](me|me\.all|gfx)(,(me|me\.all|gfx))*)*")
_LIKE_PROFILE = re.compile(r"(?i)(?:mig[- ._]?)?([1-8])g[ ._-]?([0-9]+)\s*gb?")

_CALL = re.compile(
    r"""\s*(\.lowerAscii\(\)|\.upperAscii\(\))?\.(startsWith|endsWith|contains|matches)"""
    r"""\(\s*["'](\^|\.\*|\(\?i\))*(?P<word>[A-Za-z0-9 -]{2,})(\.\*|\$)*["']\s*\)\s*"""
)


def check(run: Run) -> Found:
    seen = values_in_input(run)
    for read in reads(run):
        row = read.row
        if row is None or row.type != "string":
            continue
        yield from _advise_calls(read, row)
        for comparison in read.program.comparisons:
            if comparison.lookup != read.lookup or comparison.operator not in ("==", "!=", "in"):
                continue
            for literal in comparison.literals:
                if literal.kind != "string" or literal.key == (
                    comparison.default and comparison.default.key
                ):
                    continue
                if literal.value not in seen.get((read.driver.name, row.name), ()):
                    yield from map(read.driver.soften, _judge_value(read, row, literal))


def _judge_value(read: Read, row: Row, literal: Literal) -> Found:
    value = str(literal.value)
    later = read.driver.version_with_value(row, value)
    if later is not None:
        when = read.driver.release_date(later)
        since = f"{later} on{f', seen on {when} and not released yet' if when else ''}"
        message = (
            f'{row.name} is "{value}" only from {since}; this is judged as {read.driver.newest}'
        )
        yield _advise(read, literal, None, message, severity="info" if when else None)
    elif row.values and value not in row.values:
        values = [str(candidate) for candidate in row.values]
        same = [candidate for candidate in values if candidate.lower() == value.lower()]
        meant = same[0] if same else nearest(value, values)
        near = f"; did you mean {meant}?" if meant else ""
        help_ = f"{read.driver.name} publishes {', '.join(values)} ({read.driver.known_to})"
        yield _advise(read, literal, meant, f'{row.name} is never "{value}"{near}', help_)
    elif row.name == "gpu.nvidia.com/profile" and not _PROFILE.fullmatch(value):
        alike = _LIKE_PROFILE.fullmatch(value)
        meant = f"{alike[1]}g.{alike[2]}gb" if alike else None
        near = f"; did you mean {meant}?" if meant else ""
        help_ = "MIG profiles look like 1g.5gb, 3g.40gb or 1g.10gb+me"
        yield _advise(read, literal, meant, f'{row.name} is never "{value}"{near}', help_)
    elif row.name == f"{read.driver.name}/productName" and (
        names := products().get(read.driver.name, ())
    ):
        part = [
            candidate
            for candidate in names
            if value.lower() in candidate.lower() and value != candidate
        ]
        if part and value not in names and len(value) > 1:
            yield _advise(
                read,
                literal,
                part[0] if len(part) == 1 else None,
                f'{row.name} holds full product names such as "{part[0]}"; "{value}" is only '
                "part of one",
                f"known names that contain it: {', '.join(part[:6])}; or write "
                f'.contains("{value}")',
            )


def _advise_calls(read: Read, row: Row) -> Found:
    """Yield advice on conditions that no known product name meets, such as
    ``productName.startsWith("H100")``.
    """
    names = (
        products().get(read.driver.name, ())
        if row.name == f"{read.driver.name}/productName"
        else ()
    )
    program = read.program
    conditions = zip(program.conjuncts, program.conjunct_programs, strict=True)
    for part, condition in conditions if names else ():
        inside = [
            lookup
            for lookup in program.lookups
            if part.start <= lookup.start and lookup.end <= part.end
        ]
        call = _CALL.fullmatch(program.text[read.lookup.end : part.end])
        if inside != [read.lookup] or call is None or part.start != read.lookup.start:
            continue
        meant = [value for value in names if call["word"].lower() in value.lower()]
        if meant and _holds_for_none(condition, read.driver.name, row.name, names):
            message = f"this is true for no known {row.name}, such as {meant[0]}"
            yield read.advice(
                message, f'write .lowerAscii().contains("{call["word"].lower()}")', span=part.span
            )


@lru_cache
def _holds_for_none(condition: Program, name: str, attribute: str, values: tuple[str, ...]) -> bool:
    """Return True if a condition on the attribute is false for each of its ``values``."""
    devices = (
        Device({"name": "device", "attributes": {attribute: {"string": value}}}) for value in values
    )
    return condition.ok and all(condition.evaluate(name, device) is False for device in devices)


def _advise(
    read: Read, literal: Literal, meant: str | None, message: str, help_: str = "", **others: Any
) -> Advice:
    """Return advice at the literal, with a fix where one value was probably meant."""
    plain = len(literal.text) == len(str(literal.value)) + 2 and literal.text[0] in "'\""
    inside = (literal.start + 1, literal.end - 1)
    fix = (
        Replacement(read.expression.path, meant, span=inside)
        if meant is not None and plain
        else None
    )
    return read.advice(message, help_, span=literal.span, fix=fix, **others)
