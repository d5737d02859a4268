"""A device consumes more of a counter than its counter set has, or less than nothing.

## What it does

Compares what each device consumes with the counters of the pool, if all slices of the pool are part
of the run.

## Why is this bad

The API server does not compare amounts. A device that needs more than the whole set is never
allocated; one that consumes a negative amount adds to the set, so that other devices are allocated
together although they do not fit.

## How to fix

Take the counters of the set and of its devices from one source, such as the profile that uses the
whole device.

## Seen in

No release is known. The amounts of MIG profiles differ by version of NVIDIA's driver (40192Mi and
40320Mi for the whole of an A100 with 40 GB), so a table that is part of a DRA driver can disagree
with NVML.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-counters}
 spec:
   driver: gpu.example.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 2}
   nodeName: node-1
   sharedCounters:
   - name: gpu-0
     counters: {memory: {value: 40192Mi}}
 ---
 apiVersion: resource.k8s.io/v1
 kind: ResourceSlice
 metadata: {name: node-1-gpu}
 spec:
   driver: gpu.example.com
   pool: {name: node-1, generation: 1, resourceSliceCount: 2}
   nodeName: node-1
   devices:
   - name: gpu-0
     consumesCounters:
     - counterSet: gpu-0
-      counters: {memory: {value: 40Gi}}
+      counters: {memory: {value: 40192Mi}}
```

## Source

KEP-4815; k8s.io/dynamic-resource-allocation structured/internal/incubating/allocator_incubating.go
checkAvailableCounters
"""

from collections.abc import Iterator

from dractl.lint.model import Advice, Found, Manifest, Run
from dractl.lint.pools import SlicePool, pools
from dractl.model import Quantity
from dractl.objects import Device, items, mapping, quantity, text
from dractl.validation.violation import Path

SEVERITY = "error"
KINDS = ("ResourceSlice",)

Amounts = dict[tuple[str, str], Quantity]
"""Amounts by counter set and counter."""


def check(run: Run) -> Found:
    if not run.target.enabled("DRAPartitionableDevices"):
        return  # the field is dropped, which DRA802 reports
    for pool in pools(run):
        amounts = _sum_up(pool) if pool.complete else {}
        for subject in pool.slices if amounts else ():
            for device in subject.devices:
                for path, name, counter, value in _consumptions(device):
                    yield from _judge(
                        subject, device, path, name, counter, value, amounts.get((name, counter))
                    )


def _sum_up(pool: SlicePool) -> Amounts:
    """Return the amounts of a pool's counter sets."""
    return {
        (text(counter_set.get("name")), name): amount
        for subject in pool.slices
        for counter_set in map(mapping, items(subject.spec.get("sharedCounters")))
        for name, counter in mapping(counter_set.get("counters")).items()
        if (amount := quantity(mapping(counter).get("value"))) is not None
    }


def _consumptions(device: Device) -> Iterator[tuple[Path, str, str, Quantity]]:
    """Yield the path, counter set, counter and amount of a device's consumption."""
    for at, consumption in enumerate(map(mapping, items(device.fields.get("consumesCounters")))):
        name = text(consumption.get("counterSet"))
        for counter, value in mapping(consumption.get("counters")).items():
            amount = quantity(mapping(value).get("value"))
            if amount is not None:
                path = (*device.path, "consumesCounters", at, "counters", counter, "value")
                yield path, name, counter, amount


def _judge(
    subject: Manifest,
    device: Device,
    path: Path,
    name: str,
    counter: str,
    value: Quantity,
    available: Quantity | None,
) -> Found:
    if value.sign() < 0:
        yield Advice(
            subject,
            path,
            f"{device.name} consumes {value} of {counter}: it adds to counter set {name}",
            help="publish what the device takes from the set, 0 or more",
        )
    elif available is not None and value > available:
        yield Advice(
            subject,
            path,
            f"{device.name} consumes {value} of {counter}, and counter set {name} has {available}:"
            " it is never allocated",
            help="a device can consume at most the whole counter",
        )
