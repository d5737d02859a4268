"""``spyre.ibm.com``: IBM Spyre accelerators that are bound to vfio-pci.

Source: ibm-aiu/dra-driver-spyre@ea0e624 pkg/types/{allocatable_device,pci_device}.go, internal/discovery/discovery.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

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

NAME = "spyre.ibm.com"
_VENDOR, _PRODUCTS = "0x1014", ("0x06a7", "0x06a8")
_CLASSES = ("00", "12")
_TOPOLOGY = "with a topology file"

CATALOGUE = Catalogue(
    title="IBM Spyre",
    source="ibm-aiu/dra-driver-spyre@ea0e624 pkg/types/allocatable_device.go",
    versions=("1.4",),
    released="1.4",
    attributes=(
        Attribute("index", "int", "position among the devices"),
        Attribute("driverVersion", "string", "always 0.0.1", values=("0.0.1",)),
        Attribute("vendor", "string", "PCI vendor id without 0x", values=("1014",)),
        Attribute("driver", "string", "kernel driver", values=("vfio-pci",)),
        Attribute("productId", "string", "PCI device id without 0x: of whole cards, of VFs", values=("06a7", "06a8")),
        Attribute("pciAddress", "string", "PCI address"),
        Attribute("pfPciAddress", "string", "PCI address of the physical function; empty for one"),
        Attribute("isPf", "bool", "false, unless a topology file says otherwise"),
        Attribute("subClass", "string", "PCI subclass, two hexadecimal digits"),
        Attribute("vfId", "int", "number among the VFs; -1 for a physical function"),
        Attribute("numaInfo", "string", "NUMA node as a string; empty if it has none"),
        Attribute("linkSpeed", "string", "speed of the link", when=_TOPOLOGY),
        Attribute("clockRPD", "string", "clock rate", when=_TOPOLOGY),
        Attribute("clockSOC", "string", "clock rate", when=_TOPOLOGY),
        Attribute("memoryBoostable", "bool", "true if memory can run faster", when=_TOPOLOGY),
        Attribute("memoryFrequency", "string", "of the memory", when=_TOPOLOGY),
        Attribute("memoryVendor", "string", "of the memory", when=_TOPOLOGY),
        Attribute("memorySpeed", "string", "of the memory", when=_TOPOLOGY),
    ),
    notes=(
        "devices are named by PCI address, such as 0000-1a-00-0",
        "no standard attribute is published: matchAttribute never holds across drivers",
        "numaInfo and driverVersion are strings",
    ),
)


class _Spyre(Struct, frozen=True):
    name: str = NAME
    catalogue: Catalogue = CATALOGUE

    def present(self, machine: Machine) -> bool:
        return any(_is_spyre(pci) for pci in machine.pci_devices)

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:  # noqa: ARG002
        return (device_class(NAME, f"device.driver == '{NAME}'"),)

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        version_index(CATALOGUE, NAME, options.versions.get(NAME))
        cards = [pci for pci in machine.pci_devices if _is_spyre(pci)]
        bound = [pci for pci in cards if pci.driver == "vfio-pci"]
        left_out = {
            pci.bdf: f"it is bound to {pci.driver or 'no driver'}, not to vfio-pci" for pci in cards if pci not in bound
        }
        return Inventory(one_slice(_device(number, pci) for number, pci in enumerate(bound)), left_out=left_out)


PROFILE = _Spyre()


def _is_spyre(pci: PciDevice) -> bool:
    return pci.vendor == _VENDOR and pci.device in _PRODUCTS and (pci.class_code or "")[2:4] in _CLASSES


def _device(number: int, pci: PciDevice) -> dict[str, Any]:
    physical = pci.sriov.physical_function if pci.sriov else None
    index = pci.sriov.vf_index if pci.sriov else None
    found = {
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
    return {"name": pci.bdf.replace(":", "-").replace(".", "-"), "attributes": typed(found)}
