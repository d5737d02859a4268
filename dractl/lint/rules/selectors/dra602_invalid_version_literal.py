"""The argument of `semver()` is not a semantic version.

## What it does

Parses the literal arguments of `semver` in selectors. A second argument `true` allows a leading `v`, leading zeros
and missing parts.

## Why is this bad

The expression compiles, and the API server accepts it. Evaluating it on a device is an error, and one error stops the
scheduling of the pod on all nodes.

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
-            expression: 'device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("550.08.1"))'
+            expression: 'device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("550.8.1"))'
```

## Source

k8s.io/apiserver/pkg/cel/library/semverlib.go
"""

from collections.abc import Iterator

from dractl.cel.conditions import first_arguments
from dractl.lint.advice import Advice, Replacement
from dractl.lint.model import Run
from dractl.model import Version

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True


def check(run: Run) -> Iterator[Advice]:
    for subject, expression in run.expressions:
        if "semver" not in expression.text:
            continue
        for literal, after in first_arguments(run.program(expression).tokens, "semver"):
            # A second argument may be false, but what even normalizing cannot parse is an error either way.
            parse = Version.parse_tolerant if after == "," else Version.parse
            try:
                parse(literal.text)
            except ValueError as error:
                yield Advice(
                    subject,
                    expression.path,
                    f'"{literal.text}" is not a semantic version: {error}',
                    help=f"write {meant}"
                    if (meant := _meant(literal.text))
                    else "a version has three numbers without leading zeros: 550.8.1",
                    offset=literal.start,
                    end=literal.end,
                    fix=Replacement(f"write {meant}", expression.path, meant, start=literal.start, end=literal.end)
                    if meant
                    else None,
                )


def _meant(text: str) -> str | None:
    """The version that semver's normalizing makes of it, as NVIDIA's driver does of its own: 580.65.06 is 580.65.6."""
    try:
        return Version.parse_tolerant(text).text
    except ValueError:
        return None
