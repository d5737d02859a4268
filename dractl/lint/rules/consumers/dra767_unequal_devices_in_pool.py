"""Unequal devices in a pool.

## What it does

With `--for cluster-autoscaler`: compares the devices of a pool that shares no counters: the names of their attributes
and capacities, their capacities, and attributes called `type`, `model`, `productName` or `profile`. In a pool that
shares counters, compares the counter sets.

## Why is this bad

Cluster Autoscaler calculates how full a node is from the share of its devices that is allocated, or the average of its
counter sets, pool by pool, and assumes that these are equal. With unequal ones it removes nodes too early or too late.

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

from collections.abc import Mapping
from typing import Any

from dractl.lint.model import Advice, Found, Manifest, Run
from dractl.objects import items, mapping, text

SEVERITY = "warning"
KINDS = ("ResourceSlice",)
FOR = ("cluster-autoscaler",)
_MODELS = ("type", "model", "productName", "profile")


def check(run: Run) -> Found:
    yield from _counters(run)
    first: dict[tuple[str, str], tuple[Manifest, str, tuple[Any, ...]]] = {}
    reported: set[tuple[str, str]] = set()
    for subject in run.of("ResourceSlice"):
        pool = _pool(subject)
        for at, item in enumerate(items(subject.spec.get("devices"))):
            device = mapping(mapping(item).get("basic")) or mapping(item)
            name = text(mapping(item).get("name"))
            if pool in reported or device.get("consumesCounters"):
                continue
            _, other, shape = first.setdefault(pool, (subject, name, _shape(device)))
            if shape != _shape(device):
                reported.add(pool)
                yield Advice(
                    subject,
                    ("spec", "devices", at, "name"),
                    f"{name} is a different kind of device than {other}: Cluster Autoscaler assumes that all devices "
                    f"of pool {pool[1]} are equal",
                    help="publish each kind in a pool of its own",
                    confidence="likely",
                )


def _counters(run: Run) -> Found:
    """The first counter set of each pool that differs from the pool's first."""
    first: dict[tuple[str, str], tuple[str, dict[str, str]]] = {}
    reported: set[tuple[str, str]] = set()
    for subject in run.of("ResourceSlice"):
        pool = _pool(subject)
        for at, item in enumerate(items(subject.spec.get("sharedCounters"))):
            counters = mapping(mapping(item).get("counters"))
            name = text(mapping(item).get("name"))
            amounts = {counter: str(mapping(amount).get("value")) for counter, amount in counters.items()}
            other, known = first.setdefault(pool, (name, amounts))
            if amounts != known and pool not in reported:
                reported.add(pool)
                yield Advice(
                    subject,
                    ("spec", "sharedCounters", at, "name"),
                    f"counter set {name} differs from {other}: Cluster Autoscaler assumes that all counter sets of "
                    f"pool {pool[1]} are equal",
                    help="publish each kind in a pool of its own",
                    confidence="likely",
                )


def _pool(subject: Manifest) -> tuple[str, str]:
    return text(subject.spec.get("driver")), text(mapping(subject.spec.get("pool")).get("name"))


def _shape(device: Mapping[str, Any]) -> tuple[Any, ...]:
    """The properties by which devices of a pool are compared."""
    attributes, capacity = mapping(device.get("attributes")), mapping(device.get("capacity"))
    models = [str(attributes[name]) for name in sorted(attributes) if name.rpartition("/")[2] in _MODELS]
    amounts = [str(mapping(capacity[name]).get("value")) for name in sorted(capacity)]
    return sorted(attributes), sorted(capacity), models, amounts
