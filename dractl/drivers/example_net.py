"""``net.example.com``: the example driver of Kubernetes with its profile net, whose NICs exist on no machine.

Source: kubernetes-sigs/dra-example-driver v0.4.0, internal/profiles/net/net.go, cmd/dra-example-kubeletplugin/main.go.
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
from dractl.drivers.values import typed

if TYPE_CHECKING:
    from dractl.topology.machine import Machine

NAME = "net.example.com"

CATALOGUE = Catalogue(
    title="the example driver's NICs, which need no hardware",
    source="kubernetes-sigs/dra-example-driver internal/profiles/net/net.go",
    versions=("0.4",),
    released="0.4",
    tags={"0.4": ("v0.4.0",)},
    attributes=(
        Attribute("index", "int", "number of the NIC"),
        Attribute("uuid", "string", "from Go's random generator, seeded with the node name (not rendered)"),
        Attribute("model", "string", "the model", values=("LATEST-NET-MODEL",)),
        Attribute("driverVersion", "version", "the driver version", values=("1.0.0",)),
    ),
    capacities=(
        Capacity("vfs", "100 per NIC; a request takes 1"),
        Capacity("ingressBandwidth", "100G per NIC; a request takes 1G unless it names an amount"),
        Capacity("egressBandwidth", "100G per NIC; a request takes 1G unless it names an amount"),
    ),
    settings=(Setting("numDevices", "8, or another number", "NICs per node"),),
    notes=("rendered only when named: --driver net.example.com",),
)

_BANDWIDTH = {
    "value": "100G",
    "requestPolicy": {"default": "1G", "validRange": {"min": "100M", "max": "100G", "step": "1M"}},
}
_CAPACITY = {
    "vfs": {"value": "100", "requestPolicy": {"default": "1", "validValues": ["1"]}},
    "ingressBandwidth": _BANDWIDTH,
    "egressBandwidth": _BANDWIDTH,
}


class _Net(Struct, frozen=True):
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:  # noqa: ARG002
        return False

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:  # noqa: ARG002
        return (device_class(NAME, f"device.driver == '{NAME}'"),)

    def inventory(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        version_index(CATALOGUE, NAME, options.versions.get(NAME))
        return Inventory(one_slice(map(_device, range(options.number(NAME, "numDevices", 8, 512)))))


PROFILE = _Net()


def _device(number: int) -> dict[str, Any]:
    facts = {"index": number, "model": "LATEST-NET-MODEL", "driverVersion": {"version": "1.0.0"}}
    return {
        "name": f"nic-{number}",
        "attributes": typed(facts),
        "capacity": _CAPACITY,
        "allowMultipleAllocations": True,
    }
