"""An attribute or a capacity of a known driver is misspelt.

## What it does

Compares the attributes and capacities in selectors and constraints with what any version of the
domain's driver publishes, if dractl knows the driver (`dractl rule DRIVER`). Only names that nearly
match are reported. If `--devices` has devices of the driver, DRA751 and DRA753 compare the names
with these devices instead.

## Why is this bad

Nobody checks that an attribute exists. A selector fails with an error, which stops the scheduling
of the pod on all nodes; a device without the attribute never satisfies a constraint.

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
-            expression: device.attributes["gpu.nvidia.com"].architcture == "Hopper"
+            expression: device.attributes["gpu.nvidia.com"].architecture == "Hopper"
```

## Source

The catalogues of dractl/drivers, each with its driver's source
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint.model import Advice, Found, Replacement, Run
from dractl.lint.published import (
    driver,
    driver_of_run,
    in_domain,
    nearest_published,
    values_in_input,
)
from dractl.objects import Expression, text
from dractl.program import program_name

if TYPE_CHECKING:  # only needed for files with selectors
    from dractl.cel.lookups import Lookup

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True
FIELDS = ("selectors", "constraints")


def check(run: Run) -> Found:
    asked = {device.driver for device in run.devices.devices} if run.devices else set()
    for subject, expression in run.expressions:
        for lookup in run.program(expression).lookups:
            if lookup.name is None or not in_domain(lookup.domain) or lookup.domain in asked:
                continue
            meant = nearest_published(lookup.kind, lookup.domain, lookup.name)
            if meant and (lookup.domain, f"{lookup.domain}/{lookup.name}") in values_in_input(run):
                continue  # a published attribute cannot be a misspelling
            fix: Replacement | None
            if meant:
                fix = Replacement(expression.path, meant, span=lookup.name_span)
                message = (
                    f"{lookup.domain} publishes no {_WORDS[lookup.kind]} {lookup.name}; did you "
                    f"mean {meant}?"
                )
            elif lookup.name in in_domain(lookup.domain)[_OTHER[lookup.kind]]:
                fix = _swap_kind(run, expression, lookup)
                message = (
                    f"{lookup.name} is {_A[_OTHER[lookup.kind]]} of {lookup.domain}: "
                    f'write device.{_OTHER[lookup.kind]}["{lookup.domain}"].{lookup.name}'
                )
            else:
                continue
            known_driver = driver(lookup.domain)
            advice = Advice(
                subject,
                expression.path,
                message,
                help=_explain_driver(run, lookup.domain),
                span=lookup.name_span,
                confidence="likely",
                fix=fix,
            )
            yield (
                advice if known_driver is None else driver_of_run(run, known_driver).soften(advice)
            )
    for claim, constraint in run.constraints:
        for field in ("matchAttribute", "distinctAttribute"):
            domain, _, name = text(constraint.fields.get(field)).partition("/")
            ours = in_domain(domain) and domain not in asked
            meant = nearest_published("attributes", domain, name) if ours else None
            if meant:
                path = (*constraint.path, field)
                yield Advice(
                    claim.subject,
                    path,
                    f"{domain} publishes no attribute {name}; did you mean {domain}/{meant}?",
                    help=_explain_driver(run, domain),
                    confidence="likely",
                    fix=Replacement(path, f"{domain}/{meant}"),
                )


def _explain_driver(run: Run, domain: str) -> str:
    known_driver, rule = (
        driver(domain),
        f"`{program_name()} rule {domain}` shows what its devices have",
    )
    return rule if known_driver is None else driver_of_run(run, known_driver).explain_absence(rule)


def _swap_kind(run: Run, expression: Expression, lookup: Lookup) -> Replacement | None:
    """Return the fix that writes ``device.capacity`` in place of ``device.attributes``, or the
    other way round.
    """
    written, meant = f"device.{lookup.kind}", f"device.{_OTHER[lookup.kind]}"
    if not run.program(expression).text.startswith(written, lookup.start):
        return None
    span = (lookup.start, lookup.start + len(written))
    return Replacement(expression.path, meant, f"write {meant}", span=span)


_WORDS = {"attributes": "attribute", "capacity": "capacity"}
_A = {"attributes": "an attribute", "capacity": "a capacity"}
_OTHER = {"attributes": "capacity", "capacity": "attributes"}
