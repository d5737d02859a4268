"""Several nodes publish devices with the same name in pools with the same name.

## What it does

Compares what a driver publishes on different nodes: slices of one pool with different `nodeName`s
and equal device names.

## Why is this bad

A device is identified by driver, pool and its own name. If they are equal on two nodes, the
scheduler sees one device: once it is allocated on one node, it is in use on the other too and
cannot be allocated there.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-gpu}
 spec:
   driver: gpu.example.com
-  pool: {name: gpus, generation: 1, resourceSliceCount: 1}
+  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
   nodeName: node-1
   devices:
   - name: gpu-0
 ---
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-2-gpu}
 spec:
   driver: gpu.example.com
-  pool: {name: gpus, generation: 1, resourceSliceCount: 1}
+  pool: {name: node-2, generation: 1, resourceSliceCount: 1}
   nodeName: node-2
   devices:
   - name: gpu-0
```

## Source

k8s.io/dynamic-resource-allocation/structured DeviceID; cilium/cilium#48923
"""

from dractl.lint.model import Advice, Found, Manifest, Run
from dractl.lint.pools import node_of, pools

SEVERITY = "error"
KINDS = ("ResourceSlice",)
MAX_SHOWN = 4


def check(run: Run) -> Found:
    first: dict[tuple[str, str, str], Manifest] = {}
    path = ("spec", "pool", "name")
    for pool in pools(run):
        for subject in pool.slices:
            shared: dict[str, list[str]] = {}
            others: dict[str, Manifest] = {}
            for device in subject.devices if node_of(subject) else ():
                other = first.setdefault((pool.driver, pool.name, device.name), subject)
                if device.name and node_of(other) != node_of(subject):
                    shared.setdefault(node_of(other), []).append(device.name)
                    others.setdefault(node_of(other), other)
            for node, names in shared.items():
                listed = ", ".join(names[:MAX_SHOWN]) + (", ..." if len(names) > MAX_SHOWN else "")
                yield Advice(
                    subject,
                    path,
                    f"{node} and {node_of(subject)} both publish {listed} in {pool}: to the "
                    "scheduler that is one device, in use on both nodes once it is allocated on "
                    "one",
                    help=f"name the pool after its node: {node_of(subject)}",
                    related=((f"the pool on {node}", others[node], path),),
                )
