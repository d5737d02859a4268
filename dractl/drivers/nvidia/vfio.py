"""``gpu.nvidia.com`` with feature gate PassthroughSupport: whole GPUs for virtual machines.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/nvlib.go
(enumerateGpuVfioDevices, getVfioDeviceInfo), deviceinfo.go; NVIDIA/go-nvlib, pkg/nvpci (GetGPUs,
GetTotalAddressableMemory).
"""

import uuid
from collections.abc import Iterator
from typing import Any

from dractl.drivers.nvidia.devices import fabric_manager, numa
from dractl.drivers.nvidia.names import NAME, VENDOR
from dractl.drivers.profile import Options
from dractl.drivers.standard import bus_id, pcie_root
from dractl.drivers.values import binary_quantity, to_attributes
from dractl.probes import ids
from dractl.topology.machine import Machine, PciDevice

_UNNAMED = "UNKNOWN_DEVICE"  # go-nvlib pkg/nvpci, for devices that its own pci.ids does not name
_CLASSES = ("0x030000", "0x030200")  # PCIVgaControllerClass, PCI3dControllerClass


def vfio_devices(machine: Machine, options: Options) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Yield every NVIDIA GPU that PCI lists, in the order of addresses, with remarks on possible
    differences on the node.

    GPUs in MIG mode are included. The driver looks for the parent of a device among the full GPUs
    that are allocatable, and finds none for these GPUs.
    """
    in_image = options.setting(NAME, "pciIDs") == "embedded"
    full = {gpu.bdf: gpu for gpu in machine.gpus if not gpu.mig_mode}
    for number, pci in enumerate(vfio_gpus(machine)):
        embedded = ids.default_names().device(pci.vendor, pci.device) or _UNNAMED
        # go-nvlib reads a pci.ids that is installed where the driver runs, and the driver's image
        # has none.
        name = embedded if in_image else pci.installed_name or embedded
        attributes: dict[str, Any] = {
            "type": "vfio",
            "uuid": str(uuid.uuid5(uuid.NAMESPACE_DNS, pci.bdf)),
            "deviceID": pci.device,
            "vendorID": pci.vendor,
            "productName": name,
            "iommuFDEnabled": machine.host.iommufd,
        }
        unknown = [f"unknown here: {name}" for name, value in attributes.items() if value is None]
        if name != embedded:
            unknown.append(
                "productName is that of the pci.ids installed here; in the driver's image it is"
                f" {embedded!r}"
            )
        place = {**numa(pci, options), "numa": -1 if pci.numa_node is None else pci.numa_node}
        place |= fabric_manager(full.get(pci.bdf), options)
        device: dict[str, Any] = {
            "name": f"gpu-vfio-{number}",
            "attributes": to_attributes({**attributes, **bus_id(pci), **pcie_root(pci), **place}),
        }
        size = _next_power_of_two(sum(pci.bars_64bit))
        device["capacity"] = {"addressableMemory": {"value": binary_quantity(size)}}
        if not size:
            unknown.append("no 64-bit BAR is known here, so addressableMemory is 0")
        yield device, unknown


def vfio_gpus(machine: Machine) -> Iterator[PciDevice]:
    """Yield the NVIDIA GPUs that PCI lists, in the order of addresses, without virtual
    functions.
    """
    for pci in machine.pci_devices:
        virtual = pci.sriov is not None and pci.sriov.physical_function is not None
        if pci.vendor == VENDOR and pci.class_code in _CLASSES and not virtual:
            yield pci


def _next_power_of_two(size: int) -> int:
    """Round a size up to a power of two (calcNextPowerOf2); 0 stays 0."""
    return 1 << (size - 1).bit_length() if size else 0
