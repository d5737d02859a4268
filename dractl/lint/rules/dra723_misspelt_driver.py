"""A selector or configuration names a driver that nearly matches a known one, or that cannot exist.

## What it does

Compares the drivers in selectors and configurations with the known ones and with those mentioned in
the files: a name that is nearly one of them, the domain of its vendor alone (`nvidia.com`), or a
name that no driver can have (`nvidia.com/gpu`). If the class does not show the driver, the domains
of attributes are compared too. Also reports configurations that name a different driver than the
one of the request's class, if a driver installs that class (for classes in the files: DRA709).

## Why is this bad

A driver that does not exist has no devices, and nobody reads the configuration of another driver:
it is silently ignored.

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

The drivers in dractl/drivers; dynamic-resource-allocation/structured, configurations in
AllocationResult; kubernetes/kubernetes pkg/apis/resource/validation/validation.go
validateDriverName
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dractl.facts.resources import drivers_of
from dractl.lint.configs import Configuration, configurations
from dractl.lint.model import Advice, Found, Manifest, Replacement, Run
from dractl.lint.published import classes, devices_of_request, driver_at, drivers, in_domain
from dractl.model.nearest import nearest_names
from dractl.objects import Expression
from dractl.validation.formats import subdomain_errors
from dractl.validation.violation import Path

if TYPE_CHECKING:  # only needed for files with selectors
    from dractl.cel import Program

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True
FIELDS = ("config", "selectors")
_MAX_LENGTH = 63  # DriverNameMaxLength


def check(run: Run) -> Found:
    real = {subject.slice.driver for subject in run.of("ResourceSlice")}
    for subject, expression in run.expressions:
        program = run.program(expression)
        for comparison in program.comparisons:
            for literal in (
                comparison.literals
                if comparison.lookup is None and comparison.operator in ("==", "in")
                else ()
            ):
                name = str(literal.value)
                meant = _guess_drivers(name, real)
                if meant or not _is_name(name):
                    message = (
                        f"unknown driver {name}"
                        if _is_name(name)
                        else f'no driver can have the name "{name}"'
                    )
                    inside = (literal.start + 1, literal.end - 1)
                    advice = _advise_unknown(subject, expression.path, message, meant, inside)
                    help_ = "device.driver is the name of the driver, as in the ResourceSlices"
                    yield replace(advice, span=literal.span, help=help_)
        if driver_at(run, subject, expression) is None and all(
            _guess_drivers(name, real) for name in program.drivers
        ):
            yield from _advise_domains(subject, expression, program, real)
    for config in configurations(run):
        path = (*config.path, "driver")
        mismatch = _advise_mismatch(run, config, path)
        if mismatch is not None:
            yield mismatch
        # DRA127 reports a text that cannot be the name of a driver.
        elif _is_name(config.driver) and (near := _guess_drivers(config.driver, real)):
            yield _advise_unknown(config.subject, path, f"unknown driver {config.driver}", near)


def _advise_mismatch(run: Run, config: Configuration, path: Path) -> Advice | None:
    """Return advice on a configuration for another driver than the requests'."""
    targets = (
        config.subject.claim.targets(config.requests) if config.subject.claim is not None else ()
    )
    profiles = [devices_of_request(run, request) for request in targets]
    installed = all(
        r.device_class in classes() and run.device_class(r.device_class) is None for r in targets
    )
    owners = sorted({profile.driver.name for profile in profiles if profile is not None})
    if not (config.driver and installed and owners) or config.driver in owners:
        return None
    meant = owners[0] if len(owners) == 1 else None
    asked = ", ".join(sorted({request.device_class for request in targets}))
    return Advice(
        config.subject,
        path,
        f"devices of class {asked} belong to {' and '.join(owners)}: {config.driver} never gets "
        "the configuration",
        help=f"write driver: {meant}" if meant else None,
        confidence="likely",
        fix=Replacement(path, meant) if meant else None,
    )


def _advise_domains(
    subject: Manifest, expression: Expression, program: Program, real: set[str]
) -> Found:
    """Yield advice on domains of attributes that no known driver uses, if the class does not show
    the driver.
    """
    reported = set()
    for lookup in program.lookups:
        if lookup.domain in reported or "/" in lookup.domain:  # DRA604 reports a slash
            continue
        reported.add(lookup.domain)
        if meant := _guess_drivers(lookup.domain, real):
            meant = [name for name in meant if lookup.name in in_domain(name)[lookup.kind]] or meant
            advice = _advise_unknown(
                subject,
                expression.path,
                f"unknown domain {lookup.domain}",
                meant,
                lookup.domain_span,
            )
            yield replace(
                advice,
                help="attributes are in the domain of the driver, unless they have another one",
            )


def _advise_unknown(
    subject: Manifest,
    path: Path,
    message: str,
    meant: Sequence[str],
    span: tuple[int, int] | None = None,
) -> Advice:
    """Return advice on a name at ``path``, or in a part of it; with a fix if it is clear which
    driver is meant.
    """
    return Advice(
        subject,
        path,
        message + (f"; did you mean {' or '.join(meant)}?" if meant else ""),
        span=span,
        confidence="likely",
        fix=Replacement(path, meant[0], span=span) if len(meant) == 1 else None,
    )


def _guess_drivers(name: str, real: set[str]) -> list[str]:
    """Return the known drivers that ``name`` may mean: a similar name, the vendor's domain, or a
    device plugin's resource.
    """
    if name in drivers() or name in real:
        return []
    if "/" in name:
        return list(drivers_of(name))
    near = nearest_names(name, drivers(), 0.9, 2)[:1]
    return near or [
        driver for driver in drivers() if name.count(".") == 1 and driver.endswith(f".{name}")
    ]


def _is_name(name: str) -> bool:
    return 0 < len(name) <= _MAX_LENGTH and not subdomain_errors(name.lower())
