"""An attribute is looked up with domain and name in one key.

## What it does

Finds `device.attributes["gpu.example.com/model"]`.

## Why is this bad

Devices keep attributes by domain, then by name. A domain with a slash is always an empty map, so the lookup is an error
or never true.

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
        for found in run.program(expression).lookups:
            domain, slash, name = found.domain.partition("/")
            if not slash:
                continue
            turned = f"{name.partition('-')[0]}.{domain}"  # nvidia.com/gpu, the resource of the device plugin
            driver = (
                driver_at(run, subject, expression)
                or (turned if in_domain(turned) else None)
                or domain
            )
            names = (found.name or "", name, name.rpartition("-")[2])
            meant = _published(driver, found.kind, names)
            # what CEL can read at all
            readable = (
                f'device.{found.kind}["{driver}"].{next(filter(str.isidentifier, names), "NAME")}'
            )
            fix = None
            if meant and found.name is not None and not found.tested and not found.optional:
                fix = Replacement(expression.path, meant, f"write {meant}", span=found.span)
            yield Advice(
                subject,
                expression.path,
                f'no device has a domain "{found.domain}": it is always empty',
                help=f"write {meant or readable}",
                span=found.domain_span,
                fix=fix,
            )


def _published(domain: str, kind: str, names: Sequence[str]) -> str | None:
    """The lookup of what the driver publishes by one of the names."""
    kinds = (kind, "attributes", "capacity")
    known = (
        (what, name) for what in kinds for name in names if name in in_domain(domain).get(what, ())
    )
    return next((f'device.{what}["{domain}"].{name}' for what, name in known), None)
