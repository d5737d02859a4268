"""``gpu.amd.com`` with the gate VFIOPassthrough: GPUs for virtual machines.

Source: ROCm/k8s-gpu-dra-driver, cmd/gpu-kubeletplugin (discovery.go, deviceinfo.go AmdGpuVFIOInfo),
pkg/amdgpu/vfio.go (GetPFMapping, GetVFMapping).
"""

from collections.abc import Iterator
from typing import Any

from dractl.drivers.amd.devices import place
from dractl.drivers.amd.names import VENDOR, VFIO
from dractl.drivers.values import to_attributes
from dractl.topology.machine import Machine, PciDevice


def devices(machine: Machine) -> Iterator[dict[str, Any]]:
    """Yield physical functions that are bound to vfio-pci, then virtual functions of GPUs that are
    bound to AMD's gim driver.

    Both are sorted by IOMMU group as a string, then by address. Functions without a group are not
    published. The devices have no productName, which comes from a file of amdgpu.
    """
    amd_functions = [
        pci for pci in machine.pci_devices if pci.vendor == VENDOR and pci.iommu_group is not None
    ]
    physical = [
        pci for pci in amd_functions if pci.driver == "vfio-pci" and pci.physical_function is None
    ]
    virtual = [
        pci
        for pci in machine.pci_devices
        if pci.iommu_group is not None and _is_of_gim(pci, machine)
    ]
    ordered = [*sorted(physical, key=_order), *sorted(virtual, key=_order)]
    for number, pci in enumerate(ordered):
        attributes = {
            "type": VFIO,
            "iommuGroup": str(pci.iommu_group),
            "pciAddr": pci.bdf,
            "isVF": pci.physical_function is not None,
            "deviceID": pci.device,
            "vendorID": pci.vendor,
            **place(pci),
        }
        yield {"name": f"gpu-vfio-{number}", "attributes": to_attributes(attributes)}


def _order(pci: PciDevice) -> tuple[str, str]:
    return str(pci.iommu_group), pci.bdf


def _is_of_gim(pci: PciDevice, machine: Machine) -> bool:
    parent = machine.pci.get(pci.physical_function or "")
    return (
        parent is not None
        and parent.vendor == VENDOR
        and parent.driver == "gim"
        and pci.driver in (None, "vfio-pci")
    )
