"""A selector looks up an attribute that devices of other drivers lack.

## What it does

Checks the selectors of a request whose class is part of the run and accepts devices of every
driver. For each other driver that the slices and classes of the run name, evaluates the selectors
on a device that has only the standard attributes. Attributes in a domain that belongs to no driver
are not checked. With `--devices`, real devices are tried: DRA751.

## Why is this bad

A class that does not check the driver leaves the devices of all drivers to the request. Looking up
an attribute that such a device lacks is an error, and one error on one device stops the scheduling
of the pod on all nodes.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: DeviceClass
 metadata: {name: gpu.example.com}
 spec:
   selectors:
   - cel:
       expression: device.driver == "gpu.example.com"
 ---
 apiVersion: resource.k8s.io/v1
 kind: DeviceClass
 metadata: {name: nic.example.com}
 spec:
   selectors:
   - cel:
       expression: device.driver == "nic.example.com"
 ---
 apiVersion: resource.k8s.io/v1
 kind: DeviceClass
 metadata: {name: accelerators}
 spec:
   selectors:
   - cel:
       expression: device.allowMultipleAllocations == false
 ---
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       exactly:
         deviceClassName: accelerators
         selectors:
         - cel:
-            expression: device.attributes["gpu.example.com"].model == "A100"
+            expression: >-
+              device.driver == "gpu.example.com" &&
+              device.attributes["gpu.example.com"].model == "A100"
```

## Source

k8s.io/dynamic-resource-allocation/structured: an error ends Allocate; kubernetes/kubernetes#125826
"""

from collections.abc import Iterable
from functools import cache

from dractl.cel import EvalError
from dractl.lint.model import Advice, Found, Manifest, Run, spot
from dractl.lint.standard import STANDARD, STANDARD_DOMAIN
from dractl.model import Device, ResourceSlice, decode
from dractl.objects import Expression, text
from dractl.validation.violation import Path

SEVERITY = "warning"
KINDS = ("DeviceClass",)


def check(run: Run) -> Found:
    drivers = _drivers(run)
    for subject in run.of("DeviceClass"):
        # DRA211 reports a class that does not check the driver at all.
        if any(run.program(selector).mentions_driver for selector in subject.selectors):
            yield from _advise_failing(
                run, drivers, subject, [], subject.selectors, "the selectors before it let"
            )
    for claim, request in run.requests:
        of_class = run.device_class(request.device_class)
        if of_class is not None and request.selectors:
            passed = f"class {of_class.name} lets"
            yield from _advise_failing(
                run, drivers, claim.subject, of_class.selectors, request.selectors, passed
            )


def _advise_failing(
    run: Run,
    drivers: dict[str, tuple[Manifest, Path]],
    subject: Manifest,
    before: list[Expression],
    selectors: list[Expression],
    passed: str,
) -> Found:
    """Yield advice on the first selector that fails on a device of another driver, if the device
    satisfies the selectors ``before``.
    """
    others = {
        driver: at
        for driver, at in drivers.items()
        if not any(driver in selector.text for selector in selectors)
    }
    if not others:
        return
    lookups = [lookup for selector in selectors for lookup in run.program(selector).lookups]
    standard = [
        lookup for lookup in lookups if lookup.domain == STANDARD_DOMAIN and lookup.name in STANDARD
    ]
    if any(lookup.domain not in drivers and lookup not in standard for lookup in lookups):
        return  # the domain belongs to no driver, so any driver may have its attributes
    device = _plain_device()
    for driver, (named, path) in others.items():
        if _first_refusal(run, before, driver, device) is not None:
            continue
        selector, error = _first_refusal(run, selectors, driver, device) or (None, "")
        if selector and error:
            missing = error.partition("no such key: ")[2].partition(".")[0]
            yield Advice(
                subject,
                selector.path,
                f"{passed} devices of {driver} pass, and the selector fails on them: {error}",
                help=(
                    'begin it with device.driver == "..." && ..., or the first selector of the '
                    "class"
                ),
                span=spot(run.program(selector), missing),
                confidence="likely",
                related=((f"the driver {driver}", named, path),),
            )
            return


def _drivers(run: Run) -> dict[str, tuple[Manifest, Path]]:
    """Return the drivers that slices and classes of the run name, each with the object and the
    path.
    """
    drivers: dict[str, tuple[Manifest, Path]] = {}
    for subject in run.of("ResourceSlice"):
        drivers.setdefault(text(subject.spec.get("driver")), (subject, ("spec", "driver")))
    for subject in run.of("DeviceClass"):
        drivers.setdefault(run.driver_of(subject.selectors) or "", (subject, ("metadata", "name")))
    drivers.pop("", None)
    return drivers


def _first_refusal(
    run: Run, selectors: Iterable[Expression], driver: str, device: Device
) -> tuple[Expression, str] | None:
    """Return the first selector that a device does not satisfy, and the error if the selector
    fails; None if the device satisfies all.
    """
    for selector in selectors:
        program = run.program(selector)
        result = program.evaluate(driver, device) if program.ok else False
        if result is not True:
            return selector, result.text if isinstance(result, EvalError) else ""
    return None


@cache
def _plain_device() -> Device:
    """Return a device that has the standard attributes only."""
    values = {
        "pcieRoot": {"string": "pci0000:00"},
        "pciBusID": {"string": "0000:00:00.0"},
        "numaNode": {"int": 0},
    }
    attributes = {f"{STANDARD_DOMAIN}/{name}": value for name, value in values.items()}
    devices = [{"name": "device", "attributes": attributes}]
    decoded = decode(
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "spec": {"devices": devices}}
    )
    assert isinstance(decoded, ResourceSlice)
    return decoded.spec.devices[0]
