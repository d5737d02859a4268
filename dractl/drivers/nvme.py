"""``dra.nvme``: NVMe controllers with all their namespaces, as block devices or for passthrough.

Source: johnahull/dra-driver-nvme, pkg/nvme/nvme.go (Discover),
cmd/nvme-kubeletplugin/{discovery,deviceinfo}.go, deploy/helm.
"""

from collections.abc import Mapping
from typing import Any

from dractl.drivers.profile import Inventory, Known, Options, single_slice
from dractl.drivers.standard import bus_id, numa_node, pcie_root
from dractl.drivers.values import binary_quantity, to_attributes
from dractl.topology import cpulist
from dractl.topology.machine import Machine, NvmeController, NvmeNamespace, PciDevice
from dractl.topology.standard_attributes import pci_bus_id, pcie_root_fault

NAME = "dra.nvme"
_SOCKET = "resource.kubernetes.io/cpuSocketID"
_SANITIZED = str.maketrans({" ": "_", "(": None, ")": None, "\t": None})


class _Nvme(Known, frozen=True):
    def present(self, machine: Machine) -> bool:
        return any(controller.bdf is not None for controller in machine.nvme_controllers)

    def publish(self, machine: Machine, options: Options) -> Inventory:  # noqa: ARG002
        devices: list[dict[str, Any]] = []
        comments: dict[str, str] = {}
        left_out: dict[str, str] = {}
        notices: list[str] = []
        # The driver assigns a namespace to a controller if the namespace's name begins with the
        # controller's name.
        disks = {
            space.name: space
            for controller in machine.nvme_controllers
            for space in controller.namespaces
        }
        for controller in sorted(machine.nvme_controllers, key=lambda controller: controller.name):
            spaces = [
                space for name, space in disks.items() if name.startswith(f"{controller.name}n")
            ]
            pci = machine.pci.get(controller.bdf) if controller.bdf is not None else None
            why = _skip_reason(pci, spaces, disks)
            if pci is None or why is not None:
                if controller.bdf is None:
                    notices.append(f"{NAME}: {controller.name} is not published: {why}")
                else:
                    left_out[controller.bdf] = f"{controller.name}: {why}"
                continue
            device, unknown = _device(controller, pci, spaces, machine)
            devices.append(device)
            if unknown:
                comments[controller.name] = f"unknown here: {', '.join(unknown)}"
            if any(space.in_use is None for space in spaces):
                notices.append(
                    f"{NAME}: mounts are unknown here; controllers with a mounted disk are not"
                    " published"
                )
            elif any(space.held for space in spaces):
                notices.append(
                    f"{NAME}: {controller.name} is published, although LVM or RAID uses a whole"
                    " disk of it: the driver checks only partitions"
                )
        return Inventory(single_slice(devices), comments, left_out, tuple(notices))


PROFILE = _Nvme(NAME)


def _skip_reason(
    pci: PciDevice | None, spaces: list[NvmeNamespace], disks: Mapping[str, NvmeNamespace]
) -> str | None:
    """Return the reason why Discover or enumerateDevices leaves a controller out; None if neither
    does.
    """
    if pci is None:
        return "it has no PCI function"
    if pci.numa_node is None:
        return "its PCI function has no NUMA node (numa_node is -1)"
    if not spaces:
        return "it has no namespace whose name begins with its own"
    if pci_bus_id(pci) is None or pcie_root_fault(pci):
        return pcie_root_fault(pci)
    used = [space.name for space in spaces if _is_used(space, disks)]
    return f"{', '.join(used)} is mounted, or LVM or RAID uses a partition of it" if used else None


def _is_used(space: NvmeNamespace, disks: Mapping[str, NvmeNamespace]) -> bool:
    """Return True for a disk for which hasMountedNamespace is true: the disk or a partition is
    mounted, or a partition has holders. Holders of the disk itself do not count.

    The driver searches for the name anywhere in /proc/mounts, so nvme0n10 makes nvme0n1 a mounted
    disk as well.
    """
    if space.mounted is None:  # old snapshots did not distinguish mounts from holders
        return space.in_use is True
    mounted = any(other.mounted and space.name in name for name, other in disks.items())
    return mounted or any(name != space.name for name in space.held)


def _device(
    controller: NvmeController, pci: PciDevice, spaces: list[NvmeNamespace], machine: Machine
) -> tuple[dict[str, Any], list[str]]:
    """Return the device, and the names of attributes that it has on the node but that are unknown
    here.
    """
    attributes: dict[str, Any] = {
        "dra.nvme/model": _sanitize(controller.model),
        "dra.nvme/serial": _sanitize(controller.serial),
        "dra.nvme/firmwareRev": _sanitize(controller.firmware),
        "dra.nvme/transport": _sanitize(controller.transport),
        "dra.nvme/numaNode": pci.numa_node,
        **numa_node(pci),
        _SOCKET: _socket(pci.numa_node, machine),
        **bus_id(pci),
        **pcie_root(pci),
    }
    unknown = [name for name, value in attributes.items() if value is None]
    device: dict[str, Any] = {"name": controller.name, "attributes": to_attributes(attributes)}
    sizes = [space.size_bytes for space in spaces]
    if None in sizes:
        unknown.append("dra.nvme/size")
    else:
        device["capacity"] = {
            "dra.nvme/size": {"value": binary_quantity(sum(size or 0 for size in sizes))}
        }
    return device, unknown


def _sanitize(text: str | None) -> str | None:
    return text.translate(_SANITIZED) if text is not None else None


def _socket(node: int | None, machine: Machine) -> int | None:
    """Return the socket of getSocketIDForNUMA: the package of the node's first CPU, and 0 if the
    node has none.
    """
    cpus = next((cpulist.parse(item.cpus) for item in machine.numa_nodes if item.id == node), None)
    if cpus is None:
        return None
    if not cpus:
        return 0 if machine.cpus.packages else None
    return next(
        (item.id for item in machine.cpus.packages if min(cpus) in cpulist.parse(item.cpus)), None
    )
