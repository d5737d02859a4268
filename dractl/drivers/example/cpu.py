"""``cpu.example.com``: the example driver of Kubernetes with its profile cpu, whose NUMA nodes
exist on no machine.

Source: kubernetes-sigs/dra-example-driver v0.4.0, internal/profiles/cpu/cpu.go,
cmd/dra-example-kubeletplugin/main.go; kubernetes-sigs/dra-example-driver#262 for v0.5.0.
"""

from typing import Any

from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.drivers.values import decimal_quantity, to_attributes
from dractl.topology.machine import Machine

NAME = "cpu.example.com"
_KEY = f"{NAME}/cpu"
_MAPPINGS = {"nodeAllocatableResourceMappings": {"cpu": {"capacityKey": _KEY}}}
_ALLOCATABLE = {
    "nodeAllocatableResources": {
        # Required with capacityKey; each CPU of the capacity counts as one CPU of the node (#203).
        "cpu": {"mapping": {"capacityKey": _KEY, "capacityMultiplier": "1"}}
    }
}


class _Cpu(Known, frozen=True):
    def present(self, machine: Machine) -> bool:  # noqa: ARG002
        return False

    def publish(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        cpus = options.number(NAME, "cpusPerNUMANode", 4, 10_000)
        nodes = range(options.number(NAME, "numaNodes", 8, 512))
        mapping = _ALLOCATABLE if options.has(NAME, "node-allocatable-resources") else _MAPPINGS
        return Inventory(single_slice({**_device(number, cpus), **mapping} for number in nodes))


PROFILE = _Cpu(NAME)


def _device(number: int, cpus: int) -> dict[str, Any]:
    return {
        "name": f"numa-{number}",
        "attributes": to_attributes({"numaNodeID": number}),
        "capacity": {_KEY: {"value": decimal_quantity(cpus)}},
        "allowMultipleAllocations": True,
    }
