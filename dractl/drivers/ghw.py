"""PCI functions as github.com/jaypipes/ghw lists them, with which drivers find network cards."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dractl.topology.machine import Machine, PciDevice

# pkg/pci/address: domains of up to five digits, of which the first of five is 1.
_LISTED = re.compile(r"1?[0-9a-f]{0,4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\Z")

UNKNOWN = "unknown"
"""What it calls a vendor or product that its pci.ids does not name (internal/util)."""


def network_functions(machine: Machine) -> tuple[PciDevice, ...]:
    """The functions of class 02, network controller. A single address of another form ends the whole listing without
    result (pkg/pci/pci_linux.go getDevices).
    """
    if not all(_LISTED.match(pci.bdf) for pci in machine.pci_devices):
        return ()
    return tuple(pci for pci in machine.pci_devices if is_network(pci))


def is_network(pci: PciDevice) -> bool:
    """True if the function is listed, as one of class 02."""
    return (pci.class_code or "").startswith("0x02") and _LISTED.match(pci.bdf) is not None


def numa_node(pci: PciDevice, machine: Machine) -> int | None:
    """The function's NUMA node; None on machines of one node (pkg/topology: architecture SMP) or without file."""
    return None if len(machine.numa_nodes) == 1 else pci.numa_node
