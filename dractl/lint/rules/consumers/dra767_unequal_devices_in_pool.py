"""Unequal devices in a pool.

## What it does

With `--for cluster-autoscaler`: compares the devices of a pool without shared counters: the names
of their attributes and capacities, the amounts of the capacities, and attributes called `type`,
`model`, `productName` or `profile`. In a pool with shared counters, compares the counter sets.

## Why is this bad

Cluster Autoscaler calculates how full a node is, pool by pool, as the share of the devices that are
allocated, or as the average over the counter sets. It assumes that all devices, or all counter
sets, of a pool are equal. If they are not, it removes nodes too early or too late.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-gpus}
 spec:
   driver: gpu.example.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 1}
   nodeName: node-1
   devices:
   - name: gpu-0
     attributes: {model: {string: A}}
   - name: gpu-1
-    attributes: {model: {string: B}}
+    attributes: {model: {string: A}}
```

## Source

kubernetes/autoscaler cluster-autoscaler/docs/dra_support.md (Limitations) (55c37cd)
"""

from collections.abc import Iterator, Mapping
from typing import Any

from dractl.lint.model import Advice, Found, Manifest, Run
from dractl.objects import items, mapping, text

SEVERITY = "warning"
KINDS = ("ResourceSlice",)
FOR = ("cluster-autoscaler",)
_MODELS = ("type", "model", "productName", "profile")


def check(run: Run) -> Found:
    first: dict[tuple[str, str, str], tuple[str, Any]] = {}
    reported: set[tuple[str, str, str]] = set()
    for subject in run.of("ResourceSlice"):
        driver, pool, _ = subject.slice.identity
        for field, at, name, shape in (*_counters(subject), *_devices(subject)):
            other, first_shape = first.setdefault((driver, pool, field), (name, shape))
            if shape == first_shape or (driver, pool, field) in reported:
                continue
            reported.add((driver, pool, field))
            differs, all_ = f"counter set {name} differs from {other}", "counter sets"
            if field == "devices":
                differs, all_ = f"{name} is a different kind of device than {other}", "devices"
            yield Advice(
                subject,
                ("spec", field, at, "name"),
                f"{differs}: Cluster Autoscaler assumes that all {all_} of pool {pool} are equal",
                help="publish each kind in a pool of its own",
                confidence="likely",
            )


def _counters(subject: Manifest) -> Iterator[tuple[str, int, str, Any]]:
    for at, item in enumerate(items(subject.spec.get("sharedCounters"))):
        counters = mapping(mapping(item).get("counters"))
        amounts = {
            counter: str(mapping(amount).get("value")) for counter, amount in counters.items()
        }
        yield "sharedCounters", at, text(mapping(item).get("name")), amounts


def _devices(subject: Manifest) -> Iterator[tuple[str, int, str, Any]]:
    for at, item in enumerate(items(subject.spec.get("devices"))):
        device = mapping(mapping(item).get("basic")) or mapping(item)
        if not device.get("consumesCounters"):
            yield "devices", at, text(mapping(item).get("name")), _shape(device)


def _shape(device: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the properties by which devices of a pool are compared."""
    attributes, capacity = mapping(device.get("attributes")), mapping(device.get("capacity"))
    models = [
        str(attributes[name]) for name in sorted(attributes) if name.rpartition("/")[2] in _MODELS
    ]
    amounts = [str(mapping(capacity[name]).get("value")) for name in sorted(capacity)]
    return sorted(attributes), sorted(capacity), models, amounts
