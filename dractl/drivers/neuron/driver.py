"""``neuron.aws.com``: AWS Trainium and Inferentia devices. The driver is closed; its attributes are
documented.

Source: aws-neuron/aws-neuron-sdk@81ce03a deploy/eks/dra.rst ("Attributes Reference").
"""

from typing import Any

from dractl.drivers.neuron import groups as neuron_groups
from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.drivers.values import to_attributes
from dractl.facts import driver
from dractl.topology.machine import Machine, PciDevice

NAME = "neuron.aws.com"
_VENDOR = "0x1d0f"


class _Neuron(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(_is_neuron(pci) for pci in machine.pci_devices)

    def publish(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        instance_type = machine.host.instance_type or machine.host.product
        if (instance_type or "").startswith("trn2u."):
            return Inventory(
                notices=(
                    f"{NAME}: on UltraServers one device stands for the node; it is not rendered",
                )
            )
        devices = [
            {
                "name": f"neurondevice{number}",
                "attributes": to_attributes(_facts(number, instance_type)),
            }
            for number in range(sum(_is_neuron(pci) for pci in machine.pci_devices))
        ]
        unknown = (
            f"{NAME}: unknown here, so not rendered: versions of the drivers, networkNodeLayer*,"
            " topology*"
        )
        return Inventory(single_slice(devices), notices=(unknown,))


PROFILE = _Neuron(NAME)


def _facts(number: int, instance_type: str | None) -> dict[str, Any]:
    return {
        "deviceId": number,
        "instanceType": instance_type,
        "resourceType": "neuron_device",
        **neuron_groups.groups_of_neuron(instance_type, number),
    }


def _is_neuron(pci: PciDevice) -> bool:
    return pci.vendor == _VENDOR and pci.device in driver(NAME).table("devices")
