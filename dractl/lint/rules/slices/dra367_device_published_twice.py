"""One PCI function is two devices that can be allocated at the same time.

## What it does

Compares `resource.kubernetes.io/pciBusID` of the devices that a driver publishes for a node.
Partitions of a device are left out, and so are devices that consume counters of one set, since then
only one of them can be allocated.

## Why is this bad

The scheduler gives both to different pods. The second one fails when the node prepares its claim,
after it was placed.

## How to fix

Let both consume the same counter of a counter set (KEP-4815), or publish one device with an opaque
configuration for its use.

## Seen in

gpu.nvidia.com with PassthroughSupport, from 25.12 on, publishes `gpu-0` and `gpu-vfio-0` for one
GPU without counters; it removes one of the two when a claim for the other is prepared.

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
       resource.kubernetes.io/pciBusID: {string: "0000:3b:00.0"}
   - name: vfio-0
     attributes:
-      resource.kubernetes.io/pciBusID: {string: "0000:3b:00.0"}
+      resource.kubernetes.io/pciBusID: {string: "0000:5e:00.0"}
```

## Source

KEP-4815; kubernetes-sigs/dra-driver-nvidia-gpu@9593204 cmd/gpu-kubelet-plugin/vfio-device.go
"""

from functools import lru_cache

from dractl.lint.model import Advice, Found, Manifest, Run
from dractl.lint.pools import node_of, pools
from dractl.lint.standard import STANDARD_DOMAIN
from dractl.objects import Device, items, mapping, text

SEVERITY = "warning"
KINDS = ("ResourceSlice",)

_BUS_ID = f"{STANDARD_DOMAIN}/pciBusID"
_PARTITION_WORDS = ("parent", "profile", "partition", "mig")


def check(run: Run) -> Found:
    first: dict[tuple[str, str, str], tuple[Device, Manifest]] = {}
    for pool in pools(run):
        for subject in pool.slices:
            for device in subject.devices:
                address = device.attribute_text(_BUS_ID)
                if not address or _is_partition(device):
                    continue
                other, other_subject = first.setdefault(
                    (pool.driver, node_of(subject), address), (device, subject)
                )
                if other is not device and not _exclude_each_other(device, other):
                    yield Advice(
                        subject,
                        (*device.path, "attributes", _BUS_ID, "string"),
                        f"{device.name} and {other.name} are the same PCI function {address}, and"
                        " both can be allocated",
                        help="let them consume one counter of a counter set, or publish one device",
                        confidence="likely",
                        related=(
                            (other.name, other_subject, (*other.path, "attributes", _BUS_ID)),
                        ),
                    )


def _is_partition(device: Device) -> bool:
    """Return True for a part of a PCI function, as a MIG device is."""
    texts = (*device.attributes, device.name, device.attribute_text("type"))
    return device.fields.get("allowMultipleAllocations") is True or any(map(_names_part, texts))


@lru_cache(maxsize=4096)
def _names_part(text: str) -> bool:
    return any(word in text.lower() for word in _PARTITION_WORDS)


def _exclude_each_other(first: Device, second: Device) -> bool:
    """Return True if two devices consume counters of one set."""
    return not _counter_sets(first).isdisjoint(_counter_sets(second))


def _counter_sets(device: Device) -> frozenset[str]:
    consumed = map(mapping, items(device.fields.get("consumesCounters")))
    return frozenset(text(consumption.get("counterSet")) for consumption in consumed)
