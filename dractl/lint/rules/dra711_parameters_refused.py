"""A driver would refuse its configuration.

## What it does

Compares `opaque.parameters` of claims and classes with what the named driver accepts: kinds, field
names, types and values. dractl knows the configurations of gpu.nvidia.com,
compute-domain.nvidia.com, dra.net, dra.cpu and gpu.example.com, as of their newest versions.

## Why is this bad

The API server accepts any object as parameters. The driver checks them when the pod starts on a
node: the pod stays in ContainerCreating, with an event that names the error.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       exactly: {deviceClassName: gpu.nvidia.com}
     config:
     - opaque:
         driver: gpu.nvidia.com
         parameters:
           apiVersion: resource.nvidia.com/v1beta1
           kind: GpuConfig
-          sharing: {strategy: TimeSlice}
+          sharing: {strategy: TimeSlicing}
```

## Source

The pack of facts (configuration/) names each driver's own types and validation
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from dractl.lint.configs import configurations
from dractl.lint.model import Advice, Found, Replacement, Run
from dractl.lint.published import driver as published, driver_of_run
from dractl.objects import text

if TYPE_CHECKING:
    from dractl.drivers.opaque import OpaqueFault  # the drivers' schemas need jsonschema

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
FIELDS = ("config",)


def check(run: Run) -> Found:
    for config in configurations(run):
        if not config.driver or not isinstance(config.opaque.get("parameters"), dict):
            continue
        from dractl.drivers import opaque as schemas

        driver = config.driver
        known_driver = driver_of_run(run, entry) if (entry := published(driver)) else None
        faults = schemas.check(driver, config.parameters, run.versions.get(driver))
        if any(_is_for_another_driver(fault, config.parameters) for fault in faults):
            continue
        for fault in faults:
            path = (*config.path, "parameters", *fault.path)
            which = (
                f"{driver} {known_driver.newest}"
                if known_driver is not None and (known_driver.stated or fault.unreleased)
                else driver
            )
            meant = f"did you mean {fault.nearest}?" if fault.nearest else None
            fix = (
                Replacement(path, fault.nearest, f"write {fault.nearest}", key=fault.key)
                if fault.nearest
                else None
            )
            advice = Advice(
                config.subject,
                path,
                f"{which} would refuse this: {fault.message}",
                help=meant if known_driver is None else known_driver.explain_absence(meant),
                key=fault.key,
                confidence="likely",
                fix=fix,
                severity="info" if fault.unreleased else None,
            )
            yield advice if known_driver is None else known_driver.soften(advice)


def _is_for_another_driver(fault: OpaqueFault, parameters: Mapping[str, Any]) -> bool:
    """Return True if the parameters belong to the API of another driver of the same name, such as a
    fake one.

    An API that moved (gpu.nvidia.com to resource.nvidia.com) or is misspelt has nearly the same
    domain.
    """
    if fault.path != ("apiVersion",) or not fault.nearest:
        return False
    written, wanted = (
        _domain(text(name)) for name in (parameters.get("apiVersion"), fault.nearest)
    )
    return bool(written) and SequenceMatcher(None, written, wanted).ratio() < 0.8


def _domain(api_version: str) -> str:
    return ".".join(api_version.partition("/")[0].split(".")[-2:]) if "/" in api_version else ""
