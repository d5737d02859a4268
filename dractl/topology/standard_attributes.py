"""The standard attributes ``resource.kubernetes.io/``, computed as upstream's library does,
including its blind spots.

Source: k8s.io/dynamic-resource-allocation/deviceattribute (pci.go, numa.go). If upstream cannot
compute an attribute, drivers publish the device without it, and no matchAttribute of a claim can be
satisfied with that device.
"""

import re

from dractl.topology.cpulist import parse
from dractl.topology.machine import Machine, NumaNode, PciDevice

# The regular expression of the library: a domain of four digits, in lower case.
_STANDARD_BDF = re.compile(r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$")


def publish_pcie_root(device: PciDevice) -> str | None:
    """Return the value of ``resource.kubernetes.io/pcieRoot``; None if upstream fails (see
    :func:`pcie_root_fault`).
    """
    return None if pcie_root_fault(device) else device.path.split("/", 1)[0]


def pcie_root_fault(device: PciDevice) -> str | None:
    """Return the reason why upstream cannot compute ``pcieRoot`` for the function, or None if
    upstream can compute it.
    """
    if not _STANDARD_BDF.match(device.bdf):
        return "its PCI domain has more than four digits, which the drivers' helper library refuses"
    if not device.path:
        return "no document says where it is"
    if not device.path.startswith("pci"):
        return (
            f"its PCI root lies below {device.path.split('/', 1)[0]}, where the drivers' helper"
            " library does not look"
        )
    return None


def pci_bus_id(device: PciDevice) -> str | None:
    """Return the value of ``resource.kubernetes.io/pciBusID``; None if the address does not have
    the standard form.
    """
    return device.bdf if _STANDARD_BDF.match(device.bdf) else None


def numa_nodes(device: PciDevice, machine: Machine) -> tuple[int, ...]:
    """Return the list form of ``resource.kubernetes.io/numaNode``: the function's node, then the
    nearest ones on its socket.

    Empty if the function has no node. Distances are indexed *by node id*, as in upstream, although
    the kernel writes one column for each online node: if ids are sparse, both upstream and this
    function read a wrong column or none.
    """
    if device.numa_node is None:
        return ()
    node = next((n for n in machine.numa_nodes if n.id == device.numa_node), None)
    if node is None or not node.distances or node.id >= len(node.distances):
        return (device.numa_node,)
    others = {i: d for i, d in enumerate(node.distances) if i != node.id}
    if not others:
        return (node.id,)
    minimum = min(others.values())
    sockets = {n.id: _socket(n, machine) for n in machine.numa_nodes}
    home = sockets[node.id]
    near = sorted(
        i for i, d in others.items() if d == minimum and _may_be_same_socket(home, sockets.get(i))
    )
    return (node.id, *near)


def _may_be_same_socket(home: int | None, other: int | None) -> bool:
    return home is None or other is None or home == other


def _socket(node: NumaNode, machine: Machine) -> int | None:
    cpus = parse(node.cpus)
    return next((p.id for p in machine.cpus.packages if not cpus.isdisjoint(parse(p.cpus))), None)
