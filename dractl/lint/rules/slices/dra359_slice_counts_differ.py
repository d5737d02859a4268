"""Slices of one pool announce different numbers of slices.

## What it does

Compares `resourceSliceCount` of all slices of a pool's newest generation.

## Why is this bad

The scheduler compares the number of slices with the count of whichever slice it happens to see
first. So the pool is complete for one scheduling attempt and incomplete for the next, and after a
restart of the scheduler it may stay incomplete.

## How to fix

Write the same count into every slice of the pool, and raise the generation of all of them when the
count changes. `PublishResources` of k8s.io/dynamic-resource-allocation/kubeletplugin does both.

## Seen in

Drivers that write slices themselves, while they shard a growing pool: cilium/cilium#48922.

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
-  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
+  pool: {name: node-1, generation: 1, resourceSliceCount: 2}
   nodeName: node-1
   devices:
   - name: gpu-1
```

## Source

k8s.io/dynamic-resource-allocation structured/internal/experimental/pools_experimental.go
GatherPools, which reads `slicesForPool[0].Spec.Pool.ResourceSliceCount`
"""

from dractl.lint.model import Advice, Found, Run
from dractl.lint.pools import pools

SEVERITY = "error"
KINDS = ("ResourceSlice",)


def check(run: Run) -> Found:
    path = ("spec", "pool", "resourceSliceCount")
    for pool in pools(run):
        first, announced = pool.slices[0], pool.announced
        for subject in pool.slices[1:]:
            here = subject.slice.announced
            if here != announced:
                noun = "slice" if here == 1 else "slices"
                yield Advice(
                    subject,
                    path,
                    f"{pool} announces {here} {noun} here and {announced} in"
                    f" {first.name or 'its first slice'}, both in generation {pool.generation}",
                    help="every slice of a generation announces the same number",
                    related=((f"the count in {first.name or 'the first slice'}", first, path),),
                )
