"""The selectors of a device class do not check the driver.

## What it does

Finds classes none of whose selectors mentions `device.driver`.

## Why is this bad

The selectors are evaluated on the devices of all drivers. Looking up an attribute that a device
lacks is an error, and one error on one device stops the scheduling of the pod on all nodes. The
class is evaluated first, so checking the driver there guards the selectors of all claims.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: DeviceClass
 metadata: {name: gpu.example.com}
 spec:
   selectors:
   - cel:
-      expression: device.attributes["gpu.example.com"].model == "A100"
+      expression: >-
+        device.driver == "gpu.example.com" &&
+        device.attributes["gpu.example.com"].model == "A100"
```

## Source

k8s.io/dynamic-resource-allocation/structured: an error ends Allocate
"""

from dractl.lint.model import Advice, Found, Run

SEVERITY = "warning"
KINDS = ("DeviceClass",)


def check(run: Run) -> Found:
    for subject in run.of("DeviceClass"):
        selectors = subject.selectors
        if selectors and not any(run.program(selector).mentions_driver for selector in selectors):
            domain = next(
                (
                    lookup.domain
                    for selector in selectors
                    for lookup in run.program(selector).lookups
                ),
                "gpu.example.com",
            )
            yield Advice(
                subject,
                selectors[0].path,
                "no selector checks device.driver: they are evaluated on the devices of all "
                "drivers",
                help=f'begin with device.driver == "{domain}" && ...',
                confidence="likely",
            )
