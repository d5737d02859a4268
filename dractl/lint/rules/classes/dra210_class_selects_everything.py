"""A device class has no selectors.

## What it does

Finds classes without `selectors`.

## Why is this bad

Such a class matches every device of every driver: a request for it gets whichever device comes
first.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: DeviceClass
 metadata: {name: gpu.example.com}
 spec:
-  config: []
+  selectors:
+  - cel: {expression: device.driver == "gpu.example.com"}
```

## Source

k8s.io/api/resource/v1 DeviceClassSpec
"""

from dractl.lint.model import Advice, Found, Manifest, Run

SEVERITY = "warning"
KINDS = ("DeviceClass",)


def check(run: Run) -> Found:
    for subject in run.of("DeviceClass"):
        if not subject.spec.get("selectors") and not _is_prototype(subject):
            yield Advice(
                subject,
                ("spec",),
                "the class has no selectors: it matches every device of every driver",
                help=(
                    f'add a selector such as device.driver == "{subject.name or "gpu.example.com"}"'
                ),
                key=True,
            )


def _is_prototype(subject: Manifest) -> bool:
    """Return True for a class as an early prototype of the API had it, with its fields at the top
    level and no ``spec``.
    """
    return "spec" not in subject.value and not {*subject.value} <= {
        "apiVersion",
        "kind",
        "metadata",
        "status",
    }
