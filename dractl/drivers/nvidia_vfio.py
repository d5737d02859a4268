"""``gpu.nvidia.com`` with feature gate PassthroughSupport: GPUs that virtual machines are given as they are.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/nvlib.go (enumerateGpuVfioDevices,
getVfioDeviceInfo), deviceinfo.go; NVIDIA/go-nvlib, pkg/nvpci (GetGPUs, GetTotalAddressableMemory).
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from dractl.drivers.nvidia_catalogue import VENDOR, since
from dractl.drivers.standard import bus_id, numa_node, pcie_root
from dractl.drivers.values import binary_quantity, typed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.drivers.profile import Options
    from dractl.topology.machine import Machine, PciDevice

_CLASSES = ("0x030000", "0x030200")  # PCIVgaControllerClass, PCI3dControllerClass


def vfio_devices(machine: Machine, options: Options) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Every NVIDIA GPU as PCI lists it, in the order of addresses, with the names of what it has on the node and not
    here.

    GPUs in MIG mode are among them: the driver looks for a full GPU that is allocatable to find the parent, and there
    is none.
    """
    functions = [pci for pci in machine.pci_devices if _is_gpu(pci)]
    for number, pci in enumerate(functions):
        known: dict[str, Any] = {
            "type": "vfio",
            "uuid": str(uuid.uuid5(uuid.NAMESPACE_DNS, pci.bdf)),
            "deviceID": pci.device,
            "vendorID": pci.vendor,
            "productName": pci.device_name,
            "iommuFDEnabled": machine.host.iommufd,
        }
        unknown = [name for name, value in known.items() if value is None]
        place = numa_node(pci) if since(options, "0.5") else {"numa": -1 if pci.numa_node is None else pci.numa_node}
        device: dict[str, Any] = {
            "name": f"gpu-vfio-{number}",
            "attributes": typed({**known, **bus_id(pci), **pcie_root(pci), **place}),
        }
        if pci.bars_64bit:
            device["capacity"] = {"addressableMemory": {"value": binary_quantity(_rounded(sum(pci.bars_64bit)))}}
        else:
            unknown.append("addressableMemory")
        yield device, unknown


def _is_gpu(pci: PciDevice) -> bool:
    virtual = pci.sriov is not None and pci.sriov.physical_function is not None
    return pci.vendor == VENDOR and pci.class_code in _CLASSES and not virtual


def _rounded(size: int) -> int:
    """calcNextPowerOf2: up to a power of two."""
    return 1 << (size - 1).bit_length()
