"""An attribute has a version or a boolean as a string.

## What it does

Finds strings that are `true` or `false`, and attributes whose name ends in "version" and whose
string is a semantic version.

## Why is this bad

A selector compares strings as text: `"1.10.0" < "1.9.0"`, and `semver()` functions and `compareTo`
fail. For a boolean, `device.attributes["..."].x` alone is an error.

## How to fix

Publish `version: 1.10.0` or `bool: true`. If a release has published the string, keep its name and
add another one: a type that changes breaks selectors (DRA383).

## Seen in

npu.rebellions.ai 0.1 and spyre.ibm.com 1.4 publish `driverVersion` as a string.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-npu}
 spec:
   driver: npu.example.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 1}
   nodeName: node-1
   devices:
   - name: npu-0
     attributes:
-      driverVersion: {string: 1.10.0}
+      driverVersion: {version: 1.10.0}
```

## Source

k8s.io/api/resource/v1/types.go DeviceAttribute; RBLN-SW/rbln-k8s-dra-driver@dd9af1b
cmd/npu-kubelet-plugin/state.go; ibm-aiu/dra-driver-spyre@ea0e624 pkg/types/allocatable_device.go
"""

import re

from dractl.lint.conventions import list_own_slices
from dractl.lint.model import Advice, Found, Run
from dractl.objects import mapping

SEVERITY = "info"
KINDS = ("ResourceSlice",)

_VERSION = re.compile(r"(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:[-+][0-9A-Za-z.+-]+)?")


def check(run: Run) -> Found:
    reported: set[tuple[str, str]] = set()
    for subject in list_own_slices(run):
        for device in subject.devices:
            for name, value in device.attributes.items():
                member = _better_type(name, mapping(value).get("string"))
                if member and (subject.slice.driver, name) not in reported:
                    reported.add((subject.slice.driver, name))
                    yield Advice(
                        subject,
                        (*device.path, "attributes", name, "string"),
                        f"{name} is a string; {mapping(value)['string']} can be a {member}",
                        help=f"publish {member}: a selector compares strings as text",
                    )


def _better_type(name: str, value: object) -> str:
    """Return the type that a string should have; "" if it is text."""
    if not isinstance(value, str):
        return ""
    if value in ("true", "false"):
        return "bool"
    return "version" if name.lower().endswith("version") and _VERSION.fullmatch(value) else ""
