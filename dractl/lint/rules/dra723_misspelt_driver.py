"""A selector or configuration names a driver that nearly matches a known one, or that cannot exist.

## What it does

Compares the drivers in selectors and configurations with the known ones and with those mentioned in the files: a name
that is nearly one of them, the domain of its vendor alone (`nvidia.com`), or a name that no driver can have
(`nvidia.com/gpu`). Where the class does not tell the driver, the domains of attributes are compared too. Also reports
configurations that name a different driver than that of the request's class, if a driver installs that class (for
classes in the files: DRA709).

## Why is this bad

A driver that does not exist has no devices, and nobody reads the configuration of another driver: it is silently
ignored.

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
     config:
     - requests: [gpu]
       opaque:
-        driver: gpu.nvidia.io
+        driver: gpu.nvidia.com
         parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}
```

## Source

The drivers in dractl/drivers; dynamic-resource-allocation/structured, configurations in AllocationResult;
kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateDriverName
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dractl.facts.resources import drivers_of
from dractl.lint.advice import Advice, Replacement
from dractl.lint.model import Manifest, Run
from dractl.lint.published import classes, driver_at, drivers, in_domain, wanted
from dractl.model.nearest import nearest_names
from dractl.objects import Expression, items, mapping, text
from dractl.validation.formats import subdomain_errors
from dractl.validation.violation import Path

if TYPE_CHECKING:  # not for files without selectors
    from dractl.cel import Program

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True
FIELDS = ("config", "selectors")
_MAX = 63  # DriverNameMaxLength


def check(run: Run) -> Iterator[Advice]:
    real = {subject.slice.driver for subject in run.of("ResourceSlice")}
    for subject, expression in run.expressions:
        program = run.program(expression)
        for found in program.comparisons:
            for literal in found.literals if found.lookup is None and found.operator in ("==", "in") else ():
                name = str(literal.value)
                meant = _meant(name, real)
                if meant or not _is_name(name):
                    what = f"unknown driver {name}" if _is_name(name) else f'no driver can have the name "{name}"'
                    advice = _unknown(subject, expression.path, what, meant, (literal.start + 1, literal.end - 1))
                    yield replace(
                        advice,
                        offset=literal.start,
                        end=literal.end,
                        help="device.driver is the name of the driver, as in the ResourceSlices",
                    )
        if driver_at(run, subject, expression) is None and all(_meant(name, real) for name in program.drivers):
            yield from _domains(subject, expression, program, real)
    yield from _configurations(run, real)
    for subject in run.of("DeviceClass"):
        for at, item in enumerate(items(subject.spec.get("config"))):
            name = text(mapping(mapping(item).get("opaque")).get("driver"))
            if _is_name(name) and (meant := _meant(name, real)):  # else DRA127
                yield _unknown(subject, ("spec", "config", at, "opaque", "driver"), f"unknown driver {name}", meant)


def _domains(subject: Manifest, expression: Expression, program: Program, real: set[str]) -> Iterator[Advice]:
    """Domains of attributes that no driver is known to use, where the class does not tell the driver."""
    said = set()
    for lookup in program.lookups:
        if lookup.domain in said or "/" in lookup.domain:  # DRA604
            continue
        said.add(lookup.domain)
        if meant := _meant(lookup.domain, real):
            meant = [name for name in meant if lookup.name in in_domain(name)[lookup.kind]] or meant
            place = lookup.domain_start, lookup.domain_end
            advice = _unknown(subject, expression.path, f"unknown domain {lookup.domain}", meant, place)
            yield replace(advice, help="attributes are in the domain of the driver, unless they have another one")


def _unknown(
    subject: Manifest, path: Path, what: str, meant: Sequence[str], place: tuple[int, int] | None = None
) -> Advice:
    """Advice on a name at ``path``, or in the part of it at ``place``; with a fix if it is clear which is meant."""
    start, end = place or (None, None)
    one = meant[0] if len(meant) == 1 else None
    return Advice(
        subject,
        path,
        what + (f"; did you mean {' or '.join(meant)}?" if meant else ""),
        offset=start,
        end=end,
        confidence="likely",
        fix=Replacement(f"replace by {one}", path, one, start=start, end=end, safe=False) if one else None,
    )


def _configurations(run: Run, real: set[str]) -> Iterator[Advice]:
    for claim in run.claims:
        for at, item in enumerate(items(claim.devices.get("config"))):
            name = text(mapping(mapping(item).get("opaque")).get("driver"))
            path = (*claim.path, "config", at, "opaque", "driver")
            targets = claim.targets([text(request) for request in items(mapping(item).get("requests"))])
            known = [wanted(run, request) for request in targets]
            installed = all(r.device_class in classes() and run.device_class(r.device_class) is None for r in targets)
            owners = sorted({side.driver.name for side in known if side is not None})
            meant = owners[0] if len(owners) == 1 else None
            if name and targets and installed and owners and name not in owners:
                asked = ", ".join(sorted({request.device_class for request in targets}))
                yield Advice(
                    claim.subject,
                    path,
                    f"devices of class {asked} belong to {' and '.join(owners)}: {name} never gets the configuration",
                    help=f"write driver: {meant}" if meant else None,
                    confidence="likely",
                    fix=Replacement(f"replace by {meant}", path, meant, safe=False) if meant else None,
                )
            elif _is_name(name) and (near := _meant(name, real)):  # else DRA127
                yield _unknown(claim.subject, path, f"unknown driver {name}", near)


def _meant(name: str, real: set[str]) -> list[str]:
    """The known drivers of which ``name`` is nearly one, the vendor's domain, or a device plugin's resource."""
    if name in drivers() or name in real:
        return []
    if "/" in name:
        return list(drivers_of(name))
    near = nearest_names(name, drivers(), 0.9, 2)[:1]
    return near or [known for known in drivers() if name.count(".") == 1 and known.endswith(f".{name}")]


def _is_name(name: str) -> bool:
    return 0 < len(name) <= _MAX and not subdomain_errors(name.lower())
