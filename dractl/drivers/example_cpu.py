"""``cpu.example.com``: the example driver of Kubernetes with its profile cpu, whose NUMA nodes exist on no machine.

Source: kubernetes-sigs/dra-example-driver v0.4.0, internal/profiles/cpu/cpu.go, cmd/dra-example-kubeletplugin/main.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dractl.drivers.profile import (
    Attribute,
    Capacity,
    Catalogue,
    Inventory,
    Options,
    Setting,
    device_class,
    one_slice,
    version_index,
)
from dractl.drivers.values import decimal_quantity, typed

if TYPE_CHECKING:
    from dractl.topology.machine import Machine

NAME = "cpu.example.com"
_KEY = f"{NAME}/cpu"

CATALOGUE = Catalogue(
    title="the example driver's CPUs, which need no hardware",
    source="kubernetes-sigs/dra-example-driver internal/profiles/cpu/cpu.go",
    versions=("0.4",),
    released="0.4",
    tags={"0.4": ("v0.4.0",)},
    attributes=(Attribute("numaNodeID", "int", "number of the NUMA node"),),
    capacities=(Capacity(_KEY, "CPUs of the NUMA node; a request without an amount takes all"),),
    settings=(
        Setting("numaNodes", "8, or another number", "--cpu-numa-nodes: NUMA nodes per node"),
        Setting("cpusPerNUMANode", "4, or another number", "--cpus-per-numa-node: CPUs per NUMA node"),
    ),
    notes=(
        "rendered only when named: --driver cpu.example.com",
        "it maps its capacity to cpu by the field of Kubernetes 1.36, which 1.37 does not know",
    ),
)


class _Cpu(Struct, frozen=True):
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:  # noqa: ARG002
        return False

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:  # noqa: ARG002
        return (device_class(NAME, f"device.driver == '{NAME}'"),)

    def inventory(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        version_index(CATALOGUE, NAME, options.versions.get(NAME))
        cpus = options.number(NAME, "cpusPerNUMANode", 4, 10_000)
        nodes = range(options.number(NAME, "numaNodes", 8, 512))
        return Inventory(one_slice(_device(number, cpus) for number in nodes))


PROFILE = _Cpu()


def _device(number: int, cpus: int) -> dict[str, Any]:
    return {
        "name": f"numa-{number}",
        "attributes": typed({"numaNodeID": number}),
        "capacity": {_KEY: {"value": decimal_quantity(cpus)}},
        "allowMultipleAllocations": True,
        "nodeAllocatableResourceMappings": {"cpu": {"capacityKey": _KEY}},
    }
