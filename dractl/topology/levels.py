"""The distance between two PCI functions, as a level of ``nvidia-smi topo -m``.

nvidia-smi's legend defines the levels (nvidia-smi(1), "topo"). dractl derives them from the two
sysfs paths, so they apply to any vendor.
"""

from collections.abc import Iterator
from itertools import combinations

from msgspec import Struct

from dractl.topology.complexes import complexes
from dractl.topology.machine import Machine, PciDevice

LEVELS: dict[str, str] = {
    "X": "the device itself",
    "NV#": "# NVLinks",
    "XGMI": "AMD's links between GPUs (Infinity Fabric)",
    "PIX": "at most one PCIe switch between them",
    "PXB": "several PCIe switches, no host bridge",
    "PHB": "a PCIe host bridge (one PCIe root)",
    "root": "one PCIe root; what lies between is not described",
    "NODE": "different PCIe roots of one NUMA node",
    "SYS": "different NUMA nodes",
    "NODE?": "different PCIe roots, NUMA node unknown, one socket",
    "SYS?": "different PCIe roots, NUMA node unknown",
}
"""Levels, nearest first, with their meaning."""

ORDER = {
    "X": 0,
    "NV": 1,
    "XGMI": 1,
    "PIX": 2,
    "PXB": 3,
    "PHB": 4,
    "root": 4,
    "NODE": 5,
    "NODE?": 6,
    "SYS?": 7,
    "SYS": 8,
}

ENDPOINTS = ("gpu", "nic", "rdma", "nvme", "accelerator")
"""Kinds whose distances matter to a workload."""


class Affinity(Struct, frozen=True):
    """The distance between the functions ``a`` and ``b``."""

    a: str
    b: str
    level: str
    source: str
    """The source of the level: ``sysfs`` or ``nvml``."""


def level(a: PciDevice, b: PciDevice, machine: Machine) -> str:
    """Return the level between two functions from sysfs alone; symmetric."""
    if a.bdf == b.bdf:
        return "X"
    if a.pcie_root is None or b.pcie_root is None or a.pcie_root != b.pcie_root:
        return _level_of_roots(a.numa_node, b.numa_node, machine)
    if machine.described and (a.bridges or b.bridges):
        return "root"
    common = 0
    for x, y in zip(a.bridges, b.bridges, strict=False):
        if x != y:
            break
        common += 1
    if common == 0:
        return "PHB"
    # A switch has one upstream port and several downstream ports, and each port is a bridge.
    # Below a single switch, the paths of two functions differ at most in the downstream port, so
    # each function has at most one bridge that the other one lacks.
    return "PIX" if max(len(a.bridges), len(b.bridges)) - common <= 1 else "PXB"


def _level_of_roots(a: int | None, b: int | None, machine: Machine) -> str:
    if len(machine.numa_nodes) <= 1:
        return "NODE"
    if a is not None and b is not None:
        return "NODE" if a == b else "SYS"
    # The firmware reports no node. But if there is a single socket, both roots are on it.
    return "NODE?" if len(machine.cpus.packages) == 1 else "SYS?"


def rank(name: str) -> int:
    """Return the position of a level from near to far, as a number to sort and compare by."""
    return ORDER["NV"] if name.startswith("NV") else ORDER[name]


def endpoints(machine: Machine) -> tuple[PciDevice, ...]:
    """Return the functions of the kinds in :data:`ENDPOINTS`, except virtual functions, whose place
    is their physical function's.
    """
    return tuple(
        d
        for d in machine.pci_devices
        if d.kind in ENDPOINTS
        and not (d.sriov is not None and d.sriov.physical_function is not None)
    )


def affinity(machine: Machine) -> Iterator[Affinity]:
    """Yield the levels of every pair of :func:`endpoints`: first the level from sysfs, then the
    level from NVML, which takes precedence.
    """
    nvml = {
        frozenset((link.a, link.b)): link
        for link in machine.links
        if link.kind == "pcie" and link.level
    }
    nvlinks = {
        frozenset((link.a, link.b)): link
        for link in machine.links
        if link.kind == "nvlink" and link.count
    }
    for a, b in combinations(endpoints(machine), 2):
        yield Affinity(a.bdf, b.bdf, level(a, b, machine), "sysfs")
        pair = frozenset((a.bdf, b.bdf))
        if pair in nvml:
            yield Affinity(a.bdf, b.bdf, str(nvml[pair].level), nvml[pair].source)
        if pair in nvlinks:
            yield Affinity(a.bdf, b.bdf, f"NV{nvlinks[pair].count}", nvlinks[pair].source)


def data_direct(machine: Machine) -> dict[tuple[str, str], str]:
    """Return the level between a GPU and a NIC (in this order) through the NIC's Data Direct
    function.
    """
    levels = {}
    for item in complexes(machine):
        if item.data_direct is not None:
            through = level(machine.pci[item.gpu], machine.pci[item.data_direct], machine)
            levels.update({(item.gpu, nic): through for nic in item.nics})
    return levels


def nearest(machine: Machine) -> dict[tuple[str, str], str]:
    """Return the level of every ordered pair of :func:`endpoints`, from the source with the highest
    authority.

    Direct links and Data Direct paths come first, then NVML's PCIe levels, then sysfs.
    """
    best: dict[tuple[str, str], str] = {}
    for pair in affinity(machine):
        best[pair.a, pair.b] = best[pair.b, pair.a] = pair.level
    for link in machine.links:
        if link.kind == "xgmi" and (link.a, link.b) in best:
            best[link.a, link.b] = best[link.b, link.a] = "XGMI"
    for (gpu, nic), through in data_direct(machine).items():
        if (gpu, nic) in best:
            best[gpu, nic] = best[nic, gpu] = through
    return best
