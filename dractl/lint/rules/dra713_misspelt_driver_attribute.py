"""An attribute or a capacity of a known driver is misspelt.

## What it does

Compares the attributes and capacities in selectors and constraints with what any version of the domain's driver
publishes, if dractl knows the driver (`dractl rule DRIVER`). Only names that nearly match are reported. If `--devices`
has devices of the driver, those are checked instead (DRA751, DRA753).

## Why is this bad

Nobody checks that an attribute exists. A selector fails with an error, which stops the scheduling of the pod on all
nodes; a device without the attribute never satisfies a constraint.

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

if TYPE_CHECKING:  # not for files without selectors
    from dractl.cel.lookups import Lookup

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True
FIELDS = ("selectors", "constraints")


def check(run: Run) -> Found:
    asked = {device.driver for device in run.devices.devices} if run.devices else set()
    for subject, expression in run.expressions:
        for found in run.program(expression).lookups:
            if found.name is None or not in_domain(found.domain) or found.domain in asked:
                continue
            meant = nearest_published(found.kind, found.domain, found.name)
            if meant and (found.domain, f"{found.domain}/{found.name}") in values_in_input(run):
                continue  # what is seen wins
            fix: Replacement | None
            if meant:
                fix = Replacement(expression.path, meant, span=found.name_span)
                message = f"{found.domain} publishes no {_WORDS[found.kind]} {found.name}; did you mean {meant}?"
            elif found.name in in_domain(found.domain)[_OTHER[found.kind]]:
                fix = _of_other_kind(run, expression, found)
                message = (
                    f"{found.name} is {_A[_OTHER[found.kind]]} of {found.domain}: "
                    f'write device.{_OTHER[found.kind]}["{found.domain}"].{found.name}'
                )
            else:
                continue
            known = driver(found.domain)
            advice = Advice(
                subject,
                expression.path,
                message,
                help=_known_to(run, found.domain),
                span=found.name_span,
                confidence="likely",
                fix=fix,
            )
            yield advice if known is None else driver_of_run(run, known).soften(advice)
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
                    help=_known_to(run, domain),
                    confidence="likely",
                    fix=Replacement(path, f"{domain}/{meant}"),
                )


def _known_to(run: Run, domain: str) -> str:
    known, rule = driver(domain), f"`{program_name()} rule {domain}` shows what its devices have"
    return rule if known is None else driver_of_run(run, known).explain_absence(rule)


def _of_other_kind(run: Run, expression: Expression, found: Lookup) -> Replacement | None:
    """``device.capacity`` in place of ``device.attributes``, or the other way round."""
    written, meant = f"device.{found.kind}", f"device.{_OTHER[found.kind]}"
    if not run.program(expression).text.startswith(written, found.start):
        return None
    span = (found.start, found.start + len(written))
    return Replacement(expression.path, meant, f"write {meant}", span=span)


_WORDS = {"attributes": "attribute", "capacity": "capacity"}
_A = {"attributes": "an attribute", "capacity": "a capacity"}
_OTHER = {"attributes": "capacity", "capacity": "attributes"}
