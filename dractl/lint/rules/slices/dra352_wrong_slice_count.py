"""A pool announces a different number of slices than it has.

## What it does

Counts the slices of a pool's newest generation and compares that with `resourceSliceCount`. If
there are fewer slices than announced, the run may merely lack the others. A node can use the pool
if its own slices are complete.

## Why is this bad

The scheduler treats the pool as incomplete and uses none of its devices; 1.34 and earlier only
refuse requests for all devices.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-gpu}
 spec:
   driver: gpu.example.com
-  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
+  pool: {name: node-1, generation: 1, resourceSliceCount: 2}
   nodeName: node-1
   devices:
   - name: gpu-0
 ---
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-gpu-2}
 spec:
   driver: gpu.example.com
-  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
+  pool: {name: node-1, generation: 1, resourceSliceCount: 2}
   nodeName: node-1
   devices:
   - name: gpu-1
```

## Source

k8s.io/dynamic-resource-allocation/structured GatherPools
"""

from dractl.lint.model import Advice, Found, Run
from dractl.lint.pools import pools

SEVERITY = "error"
KINDS = ("ResourceSlice",)


def check(run: Run) -> Found:
    for pool in pools(run):
        first = pool.slices[0]
        announced, count = pool.announced, len(pool.slices)
        if announced > 0 and announced != count:
            noun = "slice" if announced == 1 else "slices"
            yield Advice(
                first,
                ("spec", "pool", "resourceSliceCount"),
                f"{pool} announces {announced} {noun} in generation {pool.generation}, but has "
                f"{count}",
                help=(
                    "every slice states how many slices the pool has; update all of them when "
                    "that changes"
                ),
                severity="error" if count > announced else "warning",
                confidence="certain" if count > announced else "possible",
            )
