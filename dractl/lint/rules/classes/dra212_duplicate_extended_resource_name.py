"""Two device classes have the same extended resource name.

## What it does

Compares the `extendedResourceName` of all classes in the run.

## Why is this bad

The scheduler uses the class that was created last; of two created in the same second, the first by
name. A request for the resource may get devices of the wrong class.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: DeviceClass
-metadata: {name: a.example.com}
+metadata: {name: gpu.example.com}
 spec:
   selectors:
   - cel: {expression: device.driver == "gpu.example.com"}
   extendedResourceName: example.com/gpu
----
-apiVersion: resource.k8s.io/v1
-kind: DeviceClass
-metadata: {name: b.example.com}
-spec:
-  selectors:
-  - cel: {expression: device.driver == "gpu.example.com"}
-  extendedResourceName: example.com/gpu
```

## Source

k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache
"""

from dractl.lint.model import Advice, Found, Manifest, Run
from dractl.objects import text

SEVERITY = "warning"
KINDS = ("DeviceClass",)


def check(run: Run) -> Found:
    first: dict[str, Manifest] = {}
    path = ("spec", "extendedResourceName")
    for subject in run.of("DeviceClass"):
        name = text(subject.spec.get("extendedResourceName"))
        other = first.setdefault(name, subject) if name else subject
        if other.name != subject.name:
            yield Advice(
                subject,
                path,
                f"class {other.name} has the extended resource name {name} too",
                help="give each class its own name",
                related=((f"class {other.name}", other, path),),
            )
