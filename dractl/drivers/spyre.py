"""``spyre.ibm.com``: IBM Spyre accelerators that are bound to vfio-pci.

Source: ibm-aiu/dra-driver-spyre@ea0e624 pkg/types/{allocatable_device,pci_device}.go,
internal/discovery/discovery.go.
"""

from typing import Any

from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.drivers.values import to_attributes
from dractl.topology.machine import Machine, PciDevice

NAME = "spyre.ibm.com"
_VENDOR, _PRODUCTS = "0x1014", ("0x06a7", "0x06a8")
_CLASSES = ("00", "12")


class _Spyre(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(_is_spyre(pci) for pci in machine.pci_devices)

    def publish(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        cards = [pci for pci in machine.pci_devices if _is_spyre(pci)]
        bound = [pci for pci in cards if pci.driver == "vfio-pci"]
        left_out = {
            pci.bdf: f"it is bound to {pci.driver or 'no driver'}, not to vfio-pci"
            for pci in cards
            if pci not in bound
        }
        return Inventory(
            single_slice(_device(number, pci) for number, pci in enumerate(bound)),
            left_out=left_out,
        )


PROFILE = _Spyre(NAME)


def _is_spyre(pci: PciDevice) -> bool:
    return (
        pci.vendor == _VENDOR
        and pci.device in _PRODUCTS
        and (pci.class_code or "")[2:4] in _CLASSES
    )


def _device(number: int, pci: PciDevice) -> dict[str, Any]:
    physical = pci.sriov.physical_function if pci.sriov else None
    index = pci.sriov.vf_index if pci.sriov else None
    attributes = {
        "index": number,
        "driverVersion": "0.0.1",
        "vendor": _VENDOR[2:],
        "driver": pci.driver,
        "productId": (pci.device or "")[2:],
        "pciAddress": pci.bdf,
        "pfPciAddress": physical or "",
        "isPf": False,
        "subClass": (pci.class_code or "")[4:6],
        "vfId": -1 if index is None else index,
        "numaInfo": "" if pci.numa_node is None else str(pci.numa_node),
    }
    return {
        "name": pci.bdf.replace(":", "-").replace(".", "-"),
        "attributes": to_attributes(attributes),
    }
