"""PCI functions in the form in which github.com/jaypipes/ghw lists them; drivers find network cards
with it.
"""

import re
from itertools import takewhile

from dractl.topology.machine import Machine, PciDevice

# pkg/pci/address: a domain has up to four digits, or five of which the first is 1.
_LISTED = re.compile(r"1?[0-9a-f]{0,4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\Z")

UNKNOWN = "unknown"
"""ghw's name for a vendor or product that its pci.ids does not have (internal/util)."""


def network_functions(machine: Machine) -> tuple[PciDevice, ...]:
    """Return the functions of class 02, network controller. A single address that ghw cannot parse
    makes the whole listing fail (pkg/pci/pci_linux.go getDevices).
    """
    if not all(_LISTED.match(pci.bdf) for pci in machine.pci_devices):
        return ()
    return tuple(pci for pci in machine.pci_devices if is_network(pci))


def is_network(pci: PciDevice) -> bool:
    """Return True if ghw lists the function as one of class 02."""
    return (pci.class_code or "").startswith("0x02") and _LISTED.match(pci.bdf) is not None


def numa_node(pci: PciDevice, machine: Machine) -> int | None:
    """Return the function's NUMA node; None if it has none, or if ghw treats the machine as SMP
    because it has one node.

    ghw stops at a node that it cannot read; without huge pages in the kernel, it cannot even read
    the first node (pkg/topology topologyNodes, pkg/memory AreaForNode). If ghw can read no
    node at all, it treats the machine as NUMA, and the function keeps its node.
    """
    nodes = sorted(machine.numa_nodes, key=lambda node: str(node.id))
    read = list(takewhile(lambda node: node.hugetlb is not False, nodes))
    return None if len(read) == 1 else pci.numa_node
