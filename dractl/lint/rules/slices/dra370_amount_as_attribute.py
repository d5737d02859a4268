"""An attribute has an amount that should be a capacity.

## What it does

Finds attributes called memory, or ending in it, whose value is a number or a quantity.

## Why is this bad

Requests ask for capacities (`capacity.requests`), which the scheduler compares as quantities; an
attribute is compared only by a selector, in the unit that the driver happens to use. `80Gi` as a
string compares as text.

## How to fix

Publish it as a capacity: `capacity: {memory: {value: 80Gi}}`.

## Seen in

ascend.project-hami.io publishes `memory` in GB, and `cores`, as integers unless its gate
HAMivNPUCore is on.

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
-    attributes:
-      memory: {int: 64}
+    capacity:
+      memory: {value: 64Gi}
```

## Source

k8s.io/api/resource/v1/types.go Device.Capacity; Project-HAMi/ascend-dra-driver@dc1db52
cmd/ascend-dra-kubeletplugin/discovery.go
"""

import re
from functools import lru_cache

from dractl.lint.conventions import list_own_slices
from dractl.lint.model import Advice, Found, Run
from dractl.objects import mapping

SEVERITY = "info"
KINDS = ("ResourceSlice",)

_NAME = re.compile(r"(?:[a-z]*[mM]emory|vram)(?:MiB|GiB|MB|GB|Bytes|Size)?")
_AMOUNT = re.compile(r"[0-9]+(?:\.[0-9]+)?\s?(?:[KMGT]i?B?)?")


def check(run: Run) -> Found:
    reported: set[tuple[str, str]] = set()
    for subject in list_own_slices(run):
        for device in subject.devices:
            for name, value in device.attributes.items():
                if not _names_memory(name):
                    continue
                amount = mapping(value).get("int", mapping(value).get("string"))
                if (
                    not isinstance(amount, bool)
                    and _AMOUNT.fullmatch(str(amount))
                    and (subject.slice.driver, name) not in reported
                ):
                    reported.add((subject.slice.driver, name))
                    yield Advice(
                        subject,
                        (*device.path, "attributes", name),
                        f"{name} of {device.name} is an amount, {amount}, published as an "
                        "attribute",
                        help="publish it as a capacity, which requests can ask for",
                        key=True,
                    )


@lru_cache(maxsize=4096)
def _names_memory(name: str) -> bool:
    return _NAME.fullmatch(name.rpartition("/")[2]) is not None
