"""``gpu.example.com``: the example driver of Kubernetes, whose GPUs exist on no machine.

Source: kubernetes-sigs/dra-example-driver, internal/profiles/gpu/gpu.go.
"""

from typing import Any

from dractl.drivers.profile import Inventory, Known, Options, Slice, single_slice
from dractl.drivers.values import binary_quantity, decimal_quantity, to_attributes
from dractl.topology.machine import Machine

NAME = "gpu.example.com"
_MEMORY, _COMPUTE = 80 << 30, 100
_GIB = 1 << 30


class _Example(Known, frozen=True):
    def present(self, machine: Machine) -> bool:  # noqa: ARG002
        return False

    def publish(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        count = options.number(NAME, "numDevices", 8, 512)
        parts = options.number(NAME, "partitionsPerGPU", 0, 80)
        shared = "true" if options.flag(NAME, "allowMultipleAllocations") else "false"
        devices: list[dict[str, Any]] = []
        counters: list[dict[str, Any]] = []
        for number in range(count):
            facts = {
                "index": number,
                "model": "LATEST-GPU-MODEL",
                "driverVersion": {"version": "1.0.0"},
            }
            if not parts:
                devices.append(_device(f"gpu-{number}", facts, 1, shared == "true"))
                continue
            name = f"gpu-{number}-counters"
            counters.append({"name": name, "counters": _amounts(1)})
            for part in range(parts):
                partition_facts = {**facts, "partition": part, "partitionable": True}
                devices.append(
                    _device(
                        f"gpu-{number}-partition-{part}",
                        partition_facts,
                        parts,
                        shared == "true",
                        name,
                    )
                )
            whole = {**facts, "partitionable": True, "full": True}
            devices.append(_device(f"gpu-{number}-full", whole, 1, shared == "true", name))
        if options.flag(NAME, "bindingConditions"):
            for device in devices:
                device |= {
                    "bindingConditions": ["BindingConditions"],
                    "bindingFailureConditions": ["BindingFailureConditions"],
                }
        # gpu.go EnumerateDevices
        parts_of_all = (Slice(counter_sets=tuple(counters)), Slice(tuple(devices)))
        return Inventory(parts_of_all if counters else single_slice(devices))


PROFILE = _Example(NAME)


def _amounts(parts: int) -> dict[str, Any]:
    return {
        "memory": {"value": binary_quantity(_MEMORY // parts)},
        "compute": {"value": decimal_quantity(_COMPUTE // parts)},
    }


def _device(
    name: str, facts: dict[str, Any], parts: int, shared: bool, counter_set: str | None = None
) -> dict[str, Any]:
    capacity = _amounts(parts)
    if shared:
        for resource, step in (("memory", binary_quantity(_GIB)), ("compute", "1")):
            value = capacity[resource]["value"]
            limits = {"min": step, "step": step, "max": value}
            capacity[resource]["requestPolicy"] = {"default": value, "validRange": limits}
    device: dict[str, Any] = {
        "name": name,
        "attributes": to_attributes(facts),
        "capacity": capacity,
        "allowMultipleAllocations": shared,
    }
    if counter_set is not None:
        device["consumesCounters"] = [{"counterSet": counter_set, "counters": _amounts(parts)}]
    return device
