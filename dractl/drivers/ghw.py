"""PCI functions as listed by github.com/jaypipes/ghw, with which drivers find network cards."""

import re
from itertools import takewhile

from dractl.topology.machine import Machine, PciDevice

# pkg/pci/address: domains of up to five digits, the first digit of five is 1.
_LISTED = re.compile(r"1?[0-9a-f]{0,4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\Z")

UNKNOWN = "unknown"
"""ghw's word for a vendor or product that its pci.ids does not name (internal/util)."""


def network_functions(machine: Machine) -> tuple[PciDevice, ...]:
    """Return the functions of class 02, network controller. A single address of another form makes
    the whole listing fail (pkg/pci/pci_linux.go getDevices).
    """
    if not all(_LISTED.match(pci.bdf) for pci in machine.pci_devices):
        return ()
    return tuple(pci for pci in machine.pci_devices if is_network(pci))


def is_network(pci: PciDevice) -> bool:
    """Return True if the function is listed, as one of class 02."""
    return (pci.class_code or "").startswith("0x02") and _LISTED.match(pci.bdf) is not None


def numa_node(pci: PciDevice, machine: Machine) -> int | None:
    """Return the function's NUMA node; None without one, and on machines that ghw treats as SMP,
    because they have one node.

    ghw stops at the first node that it cannot read, which is the first one if the kernel has no
    huge pages (pkg/topology topologyNodes, pkg/memory AreaForNode). Without any node left, it
    treats the machine as NUMA.
    """
    nodes = sorted(machine.numa_nodes, key=lambda node: str(node.id))
    read = list(takewhile(lambda node: node.hugetlb is not False, nodes))
    return None if len(read) == 1 else pci.numa_node
