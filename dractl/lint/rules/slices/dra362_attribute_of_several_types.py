"""Devices of one driver have an attribute with different types.

## What it does

Compares the types of each attribute over all devices of a driver in the run.

## Why is this bad

A selector is written for one type. On a device with the other type, it fails with an error such as
`no such overload`, and the error ends the attempt for the pod: other devices are not tried, even if
they match.

## How to fix

Publish one type for a name, or two names. Keep the type that was published first, since users'
selectors rely on it.

## Seen in

CoHDI/composable-dra-driver 0.1.1 publishes devices under the name of the vendor's driver, with
strings for all attributes. `driverVersion` is a string on these devices, but a version on the
devices of `gpu.nvidia.com` that NVIDIA's driver publishes.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-gpu}
 spec:
   driver: gpu.example.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 1}
   nodeName: node-1
   devices:
   - name: gpu-0
     attributes:
       driverVersion: {version: 1.2.3}
   - name: gpu-1
     attributes:
-      driverVersion: {string: 1.2.3}
+      driverVersion: {version: 1.2.3}
```

## Source

k8s.io/dynamic-resource-allocation structured/internal/incubating/allocator_incubating.go
isSelectable, which returns the error of a selector; CoHDI/composable-dra-driver@d30f6eb
pkg/manager/manager.go
"""

from msgspec import Struct

from dractl.lint.model import Advice, Found, Manifest, Run
from dractl.model import full_name
from dractl.objects import mapping
from dractl.validation.violation import Path

SEVERITY = "warning"
KINDS = ("ResourceSlice",)


class _Use(Struct, frozen=True):
    """The first device of a driver that has an attribute, and the type of the attribute on it."""

    type: str
    device: str
    subject: Manifest
    path: Path


def check(run: Run) -> Found:
    first: dict[tuple[str, str], _Use] = {}
    reported: set[tuple[str, str, str]] = set()
    for subject in run.of("ResourceSlice"):
        driver = subject.slice.driver
        for device in subject.devices:
            for name, value in device.attributes.items():
                members = mapping(value)
                if len(members) != 1:
                    continue  # the API server refuses it
                full = full_name(name, driver)
                use = first.get((driver, full))
                if use is not None and use.type in members:
                    continue
                (member,) = members
                if use is None:
                    path = (*device.path, "attributes", name)
                    first[driver, full] = _Use(member, device.name, subject, path)
                elif (driver, full, member) not in reported:
                    reported.add((driver, full, member))
                    yield Advice(
                        subject,
                        (*device.path, "attributes", name, member),
                        f"{name} is of type {member} on {device.name} and of type {use.type} on"
                        f" {use.device}",
                        help="publish one type for a name: a selector for one fails on the other",
                        related=((f"the one of {use.device}", use.subject, use.path),),
                    )
