"""An attribute's name is used where its domain belongs.

## What it does

Finds `device.attributes["model"]`: the first key is a domain, usually the driver's name, and
contains a dot.

## Why is this bad

A domain that a device does not have is an empty map, so the lookup is an error, or the guarded
expression is never true.

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
         deviceClassName: gpu.example.com
         selectors:
         - cel:
-            expression: '"a" in device.attributes["model"]'
+            expression: 'device.attributes["gpu.example.com"].model == "A100"'
```

## Source

k8s.io/dynamic-resource-allocation/cel/compile.go
"""

from dractl.lint.model import Advice, Found, Run
from dractl.lint.published import driver_at, drivers, in_domain
from dractl.objects import mapping

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True


def check(run: Run) -> Found:
    for subject, expression in run.expressions:
        lookups = run.program(expression).lookups
        for lookup in lookups:
            name = lookup.domain
            if not name or "." in name:
                continue
            guarded = any(
                other.name is None and other.tested and other.domain == name for other in lookups
            )
            if not guarded and name in _names(run):
                driver = driver_at(run, subject, expression) or "the driver's name"
                kind = "capacity" if name in in_domain(driver).get("capacity", ()) else lookup.kind
                yield Advice(
                    subject,
                    expression.path,
                    f'"{name}" is used as the domain of an attribute',
                    help=f'write device.{kind}["{driver}"].{name}',
                    span=lookup.domain_span,
                    confidence="likely",
                )


def _names(run: Run) -> set[str]:
    """Return the attributes and capacities of known drivers and of the slices of the run, without
    their domains.

    Any other word without a dot may be the name of a driver.
    """
    names = {
        name.partition("/")[2]
        for known in drivers().values()
        for name in (*known.attributes, *known.capacities)
    }
    for subject in run.of("ResourceSlice"):
        for device in subject.devices:
            for field in ("attributes", "capacity"):
                names.update(name.rpartition("/")[2] for name in mapping(device.fields.get(field)))
    return names | {"model", "productName", "memory", "vendor"}
