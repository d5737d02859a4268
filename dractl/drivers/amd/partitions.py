"""``gpu.amd.com`` with the gate AutoPartition: a device for every mode that a GPU can be put into.

Source: ROCm/k8s-gpu-dra-driver, cmd/gpu-kubeletplugin (deviceinfo.go SyntheticPartitionDevice,
discovery.go enumerateAllPossibleDevices, driver.go buildSyntheticPartitionResources), pkg/consts
(ValidPartitionConfigs).
"""

from collections.abc import Iterator, Sequence
from typing import Any

from dractl.drivers.amd.devices import Unit, module_version, place_of_gpu, product_name
from dractl.drivers.amd.names import GPU, NAME, PARTITION
from dractl.drivers.profile import Slice
from dractl.drivers.values import binary_quantity, decimal_quantity, to_attributes
from dractl.facts.drivers import driver

_MAX_DEVICES, _MAX_COUNTER_SETS = 64, 8  # the API's limits for a slice


def devices(unit: Unit, number: int) -> Iterator[dict[str, Any]]:
    """Yield the devices of one GPU that can be partitioned; ``number`` is its index in the order of
    addresses.
    """
    totals = {
        "memory": (unit.memory_bytes or 0, binary_quantity),
        "computeUnits": (unit.compute_units, decimal_quantity),
        "simdUnits": (unit.simd_count or 0, decimal_quantity),
    }
    shared = {
        "gpuIndex": number,
        "productName": product_name(unit.gpu.name),
        "pciAddr": unit.gpu.bdf,
        **module_version(unit.gpu),
        "deviceID": unit.pci.device if unit.pci is not None else None,
        **place_of_gpu(unit.pci),
    }
    for mode, partitions in driver(NAME).table("modes").items():
        (compute, memory), count = mode.split(), int(partitions)
        attributes = {
            "type": GPU if compute == "spx" else PARTITION,
            "computePartition": compute,
            "memoryPartition": memory,
            **shared,
        }
        sizes = {
            "partitions": (1, decimal_quantity),
            **{k: (total // count, show) for k, (total, show) in totals.items()},
        }
        device: dict[str, Any] = {
            "name": f"gpu-{number}-{compute}-{memory}",
            "attributes": to_attributes(attributes),
            "capacity": {
                name: _capacity(each, count, show) for name, (each, show) in sizes.items()
            },
            "consumesCounters": [
                {
                    "counterSet": f"gpu-{number}-mutex",
                    "counters": {"partition-mode": {"value": "1"}},
                }
            ],
        }
        if count > 1:
            device["allowMultipleAllocations"] = True
        yield device


def _capacity(each: int, count: int, show: Any) -> dict[str, Any]:
    """Return the capacity of ``count`` partitions; a request can only take the share of one."""
    value: dict[str, Any] = {"value": show(each * count)}
    if count > 1:
        value["requestPolicy"] = {"default": show(each), "validValues": [show(each)]}
    return value


def counter_set(number: int) -> dict[str, Any]:
    """Return the counter that each mode uses up completely, so that a GPU can only be in one
    mode.
    """
    return {"name": f"gpu-{number}-mutex", "counters": {"partition-mode": {"value": "1"}}}


def slices(
    devices: Sequence[dict[str, Any]], counters: Sequence[dict[str, Any]]
) -> tuple[Slice, ...]:
    """Return the slices with devices, then those with counter sets, split at the API's limits."""
    devices_each, sets_each = (
        range(0, len(devices), _MAX_DEVICES),
        range(0, len(counters), _MAX_COUNTER_SETS),
    )
    return (
        *(Slice(devices=tuple(devices[at : at + _MAX_DEVICES])) for at in devices_each),
        *(Slice(counter_sets=tuple(counters[at : at + _MAX_COUNTER_SETS])) for at in sets_each),
    )
