"""A device publishes -1 as its NUMA node.

## What it does

Finds attributes named after a NUMA node whose value is -1.

## Why is this bad

The kernel reports -1 for an unknown node. If drivers publish it, all such devices seem to be on the
same node and satisfy constraints that they should not.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-gpu}
 spec:
   driver: gpu.example.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 1}
   nodeName: node-1
   devices:
   - name: gpu-0
     attributes:
-      resource.kubernetes.io/numaNode: {int: -1}
+      resource.kubernetes.io/numaNode: {int: 0}
```

## Source

KEP-6072
"""

from dractl.lint.model import Advice, Found, Run
from dractl.objects import mapping

SEVERITY = "warning"
KINDS = ("ResourceSlice",)


def check(run: Run) -> Found:
    for subject in run.of("ResourceSlice"):
        for device in subject.devices:
            for name, value in mapping(device.fields.get("attributes")).items():
                if "numa" in name.lower() and mapping(value).get("int") == -1:
                    yield Advice(
                        subject,
                        (*device.path, "attributes", name, "int"),
                        f"{name} of -1 means that the NUMA node is unknown",
                        help="remove the attribute",
                        confidence="likely",
                    )
