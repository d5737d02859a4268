"""``neuron.aws.com``: AWS Trainium and Inferentia devices. The driver is closed; its attributes are documented.

Source: aws-neuron/aws-neuron-sdk@81ce03a deploy/eks/dra.rst ("Attributes Reference").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from dractl.drivers import neuron_groups
from dractl.drivers.profile import (
    Attribute,
    Catalogue,
    Inventory,
    Options,
    device_class,
    one_slice,
    version_index,
)
from dractl.drivers.values import typed

if TYPE_CHECKING:
    from dractl.topology.machine import Machine, PciDevice

NAME = "neuron.aws.com"
_VENDOR = "0x1d0f"
_DEVICES = ("0x7064", "0x7164", "0x7264", "0x7364")  # Inferentia, Trainium, Inferentia2, Trainium2
_GRID = "on instances whose devices form a grid, UltraServers excepted"
_EFA = "on instance types with EFA"
_MEASURED = "where EC2 reports the instance's topology"

CATALOGUE = Catalogue(
    title="AWS Trainium and Inferentia",
    source="aws-neuron/aws-neuron-sdk@81ce03a deploy/eks/dra.rst",
    versions=("1",),
    released="1",
    attributes=(
        Attribute("deviceId", "int", "number of the Neuron device", when="of devices, not of a whole node"),
        Attribute("instanceType", "string", "such as trn2.48xlarge"),
        Attribute(
            "neuronDriverVersion",
            "string",
            "version of the kernel driver, a string because it has four numbers; not rendered",
        ),
        Attribute("draDriverVersion", "version", "version of the DRA driver; not rendered"),
        Attribute("resourceType", "string", "a device, or all of a node", values=("neuron_device", "neuron_node")),
        Attribute("networkNodeLayer1", "string", "of EC2's topology; not rendered", when=_MEASURED),
        Attribute("networkNodeLayer2", "string", "of EC2's topology; not rendered", when=_MEASURED),
        Attribute("networkNodeLayer3", "string", "of EC2's topology; not rendered", when=_MEASURED),
        Attribute("topology_x", "int", "place in the grid; not rendered", when=_GRID),
        Attribute("topology_y", "int", "place in the grid; not rendered", when=_GRID),
        Attribute("topology4_id", "int", "group of 4 that are connected; not rendered", when=_GRID),
        Attribute("topology8_id", "int", "group of 8 that are connected; not rendered", when=_GRID),
        Attribute("capacityBlockId", "string", "of the UltraServer; not rendered", when="on UltraServers"),
        Attribute("resource.aws.com/devicegroup1_id", "string", "the PCI address of its adapter", when=_EFA),
        Attribute("resource.aws.com/devicegroup4_id", "string", "same for 4 devices and their adapters", when=_EFA),
        Attribute("resource.aws.com/devicegroup8_id", "string", "same for 8 devices and their adapters", when=_EFA),
        Attribute("resource.aws.com/devicegroup16_id", "string", "same for 16 devices and their adapters", when=_EFA),
    ),
    notes=(
        "devices are named neurondevice<deviceId>",
        "the driver is closed: this is what its documentation says",
        "with matchAttribute on a devicegroup attribute a claim gets neighboring devices and EFAs (driver dra.net)",
    ),
)


class _Neuron(Struct, frozen=True):
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:
        return any(_is_neuron(pci) for pci in machine.pci_devices)

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:  # noqa: ARG002
        return (device_class(NAME, f'device.driver == "{NAME}"'),)

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        version_index(CATALOGUE, NAME, options.versions.get(NAME))
        instance_type = machine.host.instance_type or machine.host.product
        if (instance_type or "").startswith("trn2u."):
            return Inventory(notices=(f"{NAME}: on UltraServers one device stands for the node; it is not rendered",))
        devices = [
            {"name": f"neurondevice{number}", "attributes": typed(_facts(number, instance_type))}
            for number in range(sum(_is_neuron(pci) for pci in machine.pci_devices))
        ]
        unknown = f"{NAME}: unknown here, so not rendered: versions of the drivers, networkNodeLayer*, topology*"
        return Inventory(one_slice(devices), notices=(unknown,))


PROFILE = _Neuron()


def _facts(number: int, instance_type: str | None) -> dict[str, Any]:
    return {
        "deviceId": number,
        "instanceType": instance_type,
        "resourceType": "neuron_device",
        **neuron_groups.of_neuron(instance_type, number),
    }


def _is_neuron(pci: PciDevice) -> bool:
    return pci.vendor == _VENDOR and pci.device in _DEVICES
