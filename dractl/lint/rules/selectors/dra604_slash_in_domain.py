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

from collections.abc import Iterator, Sequence

from dractl.lint.advice import Advice, Replacement
from dractl.lint.model import Run
from dractl.lint.published import driver_at, in_domain

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True


def check(run: Run) -> Iterator[Advice]:
    for subject, expression in run.expressions:
        for found in run.program(expression).lookups:
            domain, slash, name = found.domain.partition("/")
            if slash:
                turned = f"{name.partition('-')[0]}.{domain}"  # nvidia.com/gpu, the resource of the device plugin
                driver = driver_at(run, subject, expression) or (turned if in_domain(turned) else None)
                names = (found.name or "", name, name.rpartition("-")[2])
                meant = _published(driver or domain, found.kind, names)
                yield Advice(
                    subject,
                    expression.path,
                    f'no device has a domain "{found.domain}": it is always empty',
                    help=f"write {meant or _readable(driver or domain, found.kind, names)}",
                    offset=found.domain_start,
                    end=found.domain_start + len(found.domain),
                    fix=Replacement(
                        f"write {meant}", expression.path, meant, start=found.start, end=found.end, safe=False
                    )
                    if meant and found.name is not None and not found.tested and not found.optional
                    else None,
                )


def _published(domain: str, kind: str, names: Sequence[str]) -> str | None:
    """The lookup of what the driver publishes by one of the names."""
    for what in (kind, "attributes", "capacity"):
        for name in names:
            if name in in_domain(domain).get(what, ()):
                return f'device.{what}["{domain}"].{name}'
    return None


def _readable(domain: str, kind: str, names: Sequence[str]) -> str:
    """A lookup that CEL can read at all."""
    name = next((name for name in names if name.isidentifier()), "NAME")
    return f'device.{kind}["{domain}"].{name}'
