"""``cpu.example.com``: the example driver of Kubernetes with its profile cpu, whose NUMA nodes
exist on no machine.

Source: kubernetes-sigs/dra-example-driver v0.4.0, internal/profiles/cpu/cpu.go,
cmd/dra-example-kubeletplugin/main.go.
"""

from typing import Any

from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.drivers.values import decimal_quantity, to_attributes
from dractl.topology.machine import Machine

NAME = "cpu.example.com"
_KEY = f"{NAME}/cpu"


class _Cpu(Known, frozen=True):
    def present(self, machine: Machine) -> bool:  # noqa: ARG002
        return False

    def publish(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        cpus = options.number(NAME, "cpusPerNUMANode", 4, 10_000)
        nodes = range(options.number(NAME, "numaNodes", 8, 512))
        return Inventory(single_slice(_device(number, cpus) for number in nodes))


PROFILE = _Cpu(NAME)


def _device(number: int, cpus: int) -> dict[str, Any]:
    return {
        "name": f"numa-{number}",
        "attributes": to_attributes({"numaNodeID": number}),
        "capacity": {_KEY: {"value": decimal_quantity(cpus)}},
        "allowMultipleAllocations": True,
        "nodeAllocatableResourceMappings": {"cpu": {"capacityKey": _KEY}},
    }
