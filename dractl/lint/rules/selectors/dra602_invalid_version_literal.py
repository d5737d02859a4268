"""The argument of `semver()` is not a semantic version.

## What it does

Parses the literal arguments of `semver` in selectors. A second argument `true` allows a leading
`v`, leading zeros and missing parts.

## Why is this bad

The expression compiles, and the API server accepts it. Evaluating it on a device is an error, and
one error stops the scheduling of the pod on all nodes.

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
-            expression: >-
-              device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("550.08.1"))
+            expression: >-
+              device.attributes["gpu.example.com"].driverVersion.isGreaterThan(semver("550.8.1"))
```

## Source

k8s.io/apiserver/pkg/cel/library/semverlib.go
"""

from dractl.cel.conditions import first_arguments
from dractl.lint.model import Advice, Found, Replacement, Run
from dractl.model import Version

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True


def check(run: Run) -> Found:
    for subject, expression in run.expressions:
        if "semver" not in expression.text:
            continue
        for literal, after in first_arguments(run.program(expression).tokens, "semver"):
            # The second argument may be false, but a text that does not parse even if normalized is
            # an error either way.
            parse = Version.parse_tolerant if after == "," else Version.parse
            try:
                parse(literal.text)
            except ValueError as error:
                meant, path = _guess_version(literal.text), expression.path
                advice = (
                    f"write {meant}"
                    if meant
                    else "a version has three numbers without leading zeros: 550.8.1"
                )
                fix = (
                    Replacement(path, meant, advice, span=literal.span, safe=True)
                    if meant
                    else None
                )
                message = f'"{literal.text}" is not a semantic version: {error}'
                yield Advice(subject, path, message, help=advice, span=literal.span, fix=fix)


def _guess_version(text: str) -> str | None:
    """Return the version that semver makes of a text when normalizing, as NVIDIA's driver does with
    its versions: 580.65.06 becomes 580.65.6. None if semver refuses the text.
    """
    try:
        return Version.parse_tolerant(text).text
    except ValueError:
        return None
