"""Unequal devices in a pool.

## What it does

With `--for cluster-autoscaler`: compares the devices of a pool that shares no counters: the names of their attributes
and capacities, their capacities, and attributes called `type`, `model`, `productName` or `profile`.

## Why is this bad

Cluster Autoscaler calculates how full a node is from the share of its devices that is allocated, pool by pool, and
assumes that the devices of a pool are equal. With unequal ones it removes nodes too early or too late.

## Example

```yaml
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
    attributes: {model: {string: B}}
```

## Use instead

```yaml
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
    attributes: {model: {string: A}}
```

## Source

kubernetes/autoscaler cluster-autoscaler/docs/dra_support.md (Limitations) (55c37cd)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.lint.advice import Advice
from dractl.objects import items, mapping, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dractl.lint.model import Run, Subject


SEVERITY = "warning"
KINDS = ("ResourceSlice",)
FOR = ("cluster-autoscaler",)
_MODELS = ("type", "model", "productName", "profile")


def check(run: Run) -> Iterator[Advice]:
    first: dict[tuple[str, str], tuple[Subject, str, tuple[Any, ...]]] = {}
    reported: set[tuple[str, str]] = set()
    for subject in run.of("ResourceSlice"):
        pool = (text(subject.spec.get("driver")), text(mapping(subject.spec.get("pool")).get("name")))
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


def _shape(device: Mapping[str, Any]) -> tuple[Any, ...]:
    """The properties by which devices of a pool are compared."""
    attributes, capacity = mapping(device.get("attributes")), mapping(device.get("capacity"))
    models = [str(attributes[name]) for name in sorted(attributes) if name.rpartition("/")[2] in _MODELS]
    amounts = [str(mapping(capacity[name]).get("value")) for name in sorted(capacity)]
    return sorted(attributes), sorted(capacity), models, amounts
