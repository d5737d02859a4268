"""Two slices of a pool have a device with the same name.

## What it does

Compares the devices of all slices of a pool's newest generation, except those of different nodes.

## Why is this bad

The API server checks one slice at a time and accepts it. The scheduler treats the pool as invalid
and uses none of its devices.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-gpu}
 spec:
   driver: gpu.example.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 2}
   nodeName: node-1
   devices:
   - name: gpu-0
 ---
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-gpu-2}
 spec:
   driver: gpu.example.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 2}
   nodeName: node-1
   devices:
-  - name: gpu-0
+  - name: gpu-1
```

## Source

k8s.io/dynamic-resource-allocation/resourceslice/validation.go validatePool
"""

from dractl.lint.model import Advice, Found, Manifest, Run
from dractl.lint.pools import node_of, pools
from dractl.validation.violation import Path

SEVERITY = "error"
KINDS = ("ResourceSlice",)


def check(run: Run) -> Found:
    for pool in pools(run):
        first: dict[str, tuple[Manifest, Path]] = {}
        for subject in pool.slices:
            for device in subject.devices:
                if not device.name:
                    continue
                path = ("spec", "devices", device.path[2], "name")
                other, other_path = first.setdefault(device.name, (subject, path))
                # The scheduler never sees devices of different nodes together; DRA354 reports them.
                together = node_of(other) == node_of(subject) or not (
                    node_of(other) and node_of(subject)
                )
                if other is not subject and together:
                    yield Advice(
                        subject,
                        path,
                        f"{pool} has two devices {device.name}",
                        help="device names are unique in a pool",
                        related=((f"the other one, in {other.name}", other, other_path),),
                    )
