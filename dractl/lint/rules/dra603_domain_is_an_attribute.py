"""An attribute is looked up where a domain belongs.

## What it does

Finds `device.attributes["model"]`: the first key is a domain, mostly the driver's name, and has a dot.

## Why is this bad

A domain that a device does not have is an empty map, so the lookup is an error, or the guarded expression is never
true.

## Example

```yaml
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
            expression: '"a" in device.attributes["model"]'
```

## Use instead

```yaml
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
            expression: 'device.attributes["gpu.example.com"].model == "A100"'
```

## Source

k8s.io/dynamic-resource-allocation/cel/compile.go; api.md section 6, row 12
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint.advice import Advice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.lint.model import Run

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
FIELDS = ("selectors",)


def check(run: Run) -> Iterator[Advice]:
    for subject, expression in run.expressions:
        lookups = run.program(expression).lookups
        for found in lookups:
            guarded = any(other.name is None and other.tested and other.domain == found.domain for other in lookups)
            if found.domain and "." not in found.domain and not guarded:
                yield Advice(
                    subject,
                    expression.path,
                    f'"{found.domain}" stands where the domain of an attribute belongs',
                    help=f'write device.{found.kind}["the driver\'s name"].{found.domain}',
                    offset=found.domain_start,
                    end=found.domain_start + len(found.domain),
                    confidence="likely",
                )
