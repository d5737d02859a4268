"""An attribute is looked up with domain and name in one key.

## What it does

Finds `device.attributes["gpu.example.com/model"]`.

## Why is this bad

Devices keep attributes by domain, then by name. A domain with a slash is always an empty map, so
the lookup is an error or never true.

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
-            expression: 'device.attributes["gpu.example.com/model"].string == "A100"'
+            expression: 'device.attributes["gpu.example.com"].model == "A100"'
```

## Source

k8s.io/dynamic-resource-allocation/cel/compile.go parseQualifiedName
"""

from collections.abc import Sequence

from dractl.lint.model import Advice, Found, Replacement, Run
from dractl.lint.published import driver_at, in_domain

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True


def check(run: Run) -> Found:
    for subject, expression in run.expressions:
        for lookup in run.program(expression).lookups:
            domain, slash, name = lookup.domain.partition("/")
            if not slash:
                continue
            # nvidia.com/gpu is the device plugin's resource
            driver_name = f"{name.partition('-')[0]}.{domain}"
            driver = (
                driver_at(run, subject, expression)
                or (driver_name if in_domain(driver_name) else None)
                or domain
            )
            names = (lookup.name or "", name, name.rpartition("-")[2])
            meant = _find_lookup(driver, lookup.kind, names)
            # CEL accepts only an identifier after the dot
            readable = (
                f'device.{lookup.kind}["{driver}"].{next(filter(str.isidentifier, names), "NAME")}'
            )
            fix = None
            if meant and lookup.name is not None and not lookup.tested and not lookup.optional:
                fix = Replacement(expression.path, meant, f"write {meant}", span=lookup.span)
            yield Advice(
                subject,
                expression.path,
                f'no device has a domain "{lookup.domain}": it is always empty',
                help=f"write {meant or readable}",
                span=lookup.domain_span,
                fix=fix,
            )


def _find_lookup(domain: str, kind: str, names: Sequence[str]) -> str | None:
    """Return the lookup of an attribute or capacity that the driver publishes by one of the
    names.
    """
    kinds = (kind, "attributes", "capacity")
    matches = (
        (field, name)
        for field in kinds
        for name in names
        if name in in_domain(domain).get(field, ())
    )
    return next((f'device.{field}["{domain}"].{name}' for field, name in matches), None)
