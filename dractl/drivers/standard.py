"""The attributes of ``resource.kubernetes.io/``, as the drivers' helper library computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.topology.pcie_root import pci_bus_id, published

if TYPE_CHECKING:
    from dractl.topology.machine import PciDevice

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
PCI_BUS_ID = "resource.kubernetes.io/pciBusID"
NUMA_NODE = "resource.kubernetes.io/numaNode"


def pcie_root(device: PciDevice | None) -> dict[str, Any]:
    return {PCIE_ROOT: published(device) if device is not None else None}


def bus_id(device: PciDevice | None) -> dict[str, Any]:
    return {PCI_BUS_ID: pci_bus_id(device) if device is not None else None}


def numa_node(device: PciDevice | None) -> dict[str, Any]:
    """The scalar form. A function without a node has no attribute: -1 would match every other -1."""
    return {NUMA_NODE: device.numa_node if device is not None else None}
