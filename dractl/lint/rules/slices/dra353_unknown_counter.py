"""A device consumes a counter that its pool does not have.

## What it does

If all slices of a pool are part of the run, looks up the counter sets and counters that its devices
consume.

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
   sharedCounters:
   - name: gpu-0-slices
     counters: {memory: {value: 80Gi}}
 ---
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-gpu-2}
 spec:
   driver: gpu.example.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 2}
   nodeName: node-1
   devices:
   - name: gpu-0
     consumesCounters:
-    - counterSet: gpu-1-slices
+    - counterSet: gpu-0-slices
       counters: {memory: {value: 10Gi}}
```

## Source

k8s.io/dynamic-resource-allocation/resourceslice/validation.go validatePool
"""

from dractl.lint.model import Advice, Found, Run
from dractl.lint.pools import pools
from dractl.objects import items, mapping, text

SEVERITY = "error"
KINDS = ("ResourceSlice",)


def check(run: Run) -> Found:
    # If the gate is off, the API server drops `consumesCounters` (DRA802). In 1.34, the server
    # itself looks counters up (DRA332).
    if not run.target.has("counters-apart-from-devices") or not run.target.enabled(
        "DRAPartitionableDevices"
    ):
        return
    for pool in pools(run):
        if not pool.complete:
            continue
        counters: dict[str, set[str]] = {}
        for subject in pool.slices:
            for item in items(subject.spec.get("sharedCounters")):
                counters[text(mapping(item).get("name"))] = set(
                    mapping(mapping(item).get("counters"))
                )
        for subject in pool.slices:
            for device in subject.devices:
                for at, item in enumerate(items(device.fields.get("consumesCounters"))):
                    used, path = mapping(item), (*device.path, "consumesCounters", at)
                    name = text(used.get("counterSet"))
                    if name and name not in counters:
                        message, set_names = (
                            f"{pool} has no counter set {name}",
                            ", ".join(sorted(counters)) or "none",
                        )
                        yield Advice(
                            subject,
                            (*path, "counterSet"),
                            message,
                            help=f"its counter sets are {set_names}",
                        )
                    for counter in (
                        mapping(used.get("counters")) if name and name in counters else ()
                    ):
                        if counter not in counters[name]:
                            yield Advice(
                                subject,
                                (*path, "counters", counter),
                                f"counter set {name} has no counter {counter}",
                                help=f"it has {', '.join(sorted(counters[name])) or 'none'}",
                                key=True,
                            )
