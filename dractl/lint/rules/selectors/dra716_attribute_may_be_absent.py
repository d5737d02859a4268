"""A selector reads an attribute that devices of the driver may lack.

## What it does

Looks up the names in selectors in the catalogue of the driver, and reports attributes and
capacities that only some of its devices have, unless this selector or an earlier one tests for
them: `"name" in device.attributes[...]`, `has(...)`, or `.?name.orValue(...)`. It is an info if
other conditions come first, or if the attribute depends on an option of the driver.

## Why is this bad

On a device without the attribute the selector is an error, not false, and one error stops the
scheduling of the pod on all nodes: a network card without an interface name is enough.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: nic
       exactly:
         deviceClassName: dranet
         selectors:
         - cel:
-            expression: 'device.attributes["dra.net"].ifName == "eth1"'
+            expression: 'device.attributes["dra.net"].?ifName.orValue("") == "eth1"'
```

## Source

The catalogues of dractl/drivers, each with its driver's source: `dractl rule DRIVER`;
dynamic-resource-allocation/cel/compile.go DeviceMatches
"""

import re

from dractl.lint.model import Found, Replacement, Run
from dractl.lint.published import Read, Row, reads, types_left

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True

# Beginnings of conditions that concern devices; all other conditions concern options of the driver.
_VARIES = ("where ", "of PCI functions", "of virtual functions")


def check(run: Run) -> Found:
    for read in reads(run):
        row = read.row
        if row is None or row.name in run.evidence.attributes or read.guarded:
            continue
        if read.driver.last_with(row) or read.driver.is_later(row):
            continue
        if (missing := _explain_absence(read, row)) and not _is_implied(read, row):
            varies = (not row.when or row.when.startswith(_VARIES)) and not _has_earlier_condition(
                read
            )
            yield read.advice(
                f"devices of {read.driver.name} may lack {row.name} ({missing}): the selector "
                "fails on them",
                help=f"write {_test(read)} && ... before it",
                confidence="likely" if varies else "possible",
                fix=_guard(read),
                severity=None if varies else "info",
            )


def _test(read: Read) -> str:
    return f'"{read.lookup.name}" in device.{read.lookup.kind}["{read.lookup.domain}"]'


def _guard(read: Read) -> Replacement | None:
    """Return the fix: a test of the attribute before the condition that reads it. None if the
    lookup is not in one condition, or if the condition contains ``||``.
    """
    lookup = read.lookup
    part = next(
        (
            conjunct
            for conjunct in read.program.conjuncts
            if conjunct.start <= lookup.start and lookup.end <= conjunct.end
        ),
        None,
    )
    if part is None or part.text != read.program.text[part.start : part.end] or "||" in part.text:
        return None
    text, title = f"{_test(read)} && {part.text}", f"write {_test(read)} && before it"
    return Replacement(read.expression.path, text, title, span=part.span)


def _has_earlier_condition(read: Read) -> bool:
    """Return True if other attributes are read first, since all devices that satisfy these
    conditions may have the attribute.
    """
    wanted = read.selection.devices
    earlier = [lookup for lookup in read.program.lookups if lookup.start < read.lookup.start]
    for program in (
        *(wanted.classes if wanted else ()),
        *(other for _, other in read.selection.selectors),
    ):
        if program is read.program:
            break
        earlier += program.lookups
    return any(lookup.name not in (None, "type", read.lookup.name) for lookup in earlier)


def _explain_absence(read: Read, row: Row) -> str:
    """Describe the devices that have the attribute; return "" if all devices that reach the
    selector have it.
    """
    wanted = read.selection.devices
    kinds = read.selection.types
    if row.when and not row.when.startswith("unless "):  # "unless" means on rare hardware
        condition = f"for {row.when[3:]}" if row.when.startswith("of ") else row.when
        return (
            f"set only {condition[4:]}"
            if condition.startswith("set by ")
            else f"published only {condition}"
        )
    if row.devices and wanted is not None and kinds and not set(kinds) <= set(row.devices):
        return f"published only for type {', '.join(row.devices)}"
    return ""


def _is_implied(read: Read, row: Row) -> bool:
    """Return True if the selector implies the attribute. It does so if it first reads another
    attribute that the row's condition ``when`` names (``rdma`` for ``rdmaDevice``), or if it
    requires a type of device and only some types have the attribute.
    """
    names = {
        lookup.name
        for lookup in read.program.lookups
        if lookup.name and lookup.start < read.lookup.start
    }
    named = any(re.search(rf"\b{re.escape(name)}\b", row.when) for name in names)
    return named or bool(
        row.devices
        and types_left(read.driver, (program for _, program in read.selection.selectors))
    )
