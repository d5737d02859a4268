"""The attributes of ``resource.kubernetes.io/``, as the drivers' helper library computes them."""

from typing import Any

from dractl.topology.machine import Machine, PciDevice
from dractl.topology.standard_attributes import (
    numa_nodes as list_form,
    pci_bus_id,
    publish_pcie_root,
)

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
PCI_BUS_ID = "resource.kubernetes.io/pciBusID"
NUMA_NODE = "resource.kubernetes.io/numaNode"


def pcie_root(device: PciDevice | None) -> dict[str, Any]:
    return {PCIE_ROOT: publish_pcie_root(device) if device is not None else None}


def bus_id(device: PciDevice | None) -> dict[str, Any]:
    return {PCI_BUS_ID: pci_bus_id(device) if device is not None else None}


def numa_nodes(device: PciDevice, machine: Machine) -> dict[str, Any]:
    """Return the list form: the function's node, then the nodes nearest to it on its socket."""
    nodes = list_form(device, machine) if pci_bus_id(device) is not None else ()
    return {NUMA_NODE: nodes or None}


def numa_number(device: PciDevice | None) -> int | None:
    """Return the number in ``numa_node`` of sysfs, which some drivers publish unchanged: -1 for a
    function without a node. None if no source shows where the function is.
    """
    if device is None:
        return -1
    if device.numa_node is None and not device.path:
        return None
    return -1 if device.numa_node is None else device.numa_node


def numa_node(device: PciDevice | None) -> dict[str, Any]:
    """Return the scalar form. A function without a node gets no attribute, since -1 would match
    every other -1. A function whose address is not in the standard form gets none either
    (numa_linux.go GetNUMANodeAttributeByPCIBusID).
    """
    return {
        NUMA_NODE: device.numa_node
        if device is not None and pci_bus_id(device) is not None
        else None
    }
