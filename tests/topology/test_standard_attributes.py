"""Attributes as upstream's helper library publishes them (k8s.io/dynamic-resource-allocation/deviceattribute)."""

from __future__ import annotations

import pytest

from dractl.topology.machine import Cpus, Machine, NumaNode, Package, PciDevice
from dractl.topology.standard_attributes import (
    numa_nodes,
    pci_bus_id,
    pcie_root_fault,
    publish_pcie_root,
)


def device(path: str, numa: int | None = None) -> PciDevice:
    return PciDevice(bdf=path.rpartition("/")[2], path=path, numa_node=numa)


@pytest.mark.parametrize(
    ("path", "root", "address"),
    [
        ("pci0000:15/0000:15:01.0/0000:16:00.0", "pci0000:15", "0000:16:00.0"),
        ("pci0009:00/0009:00:00.0/0009:01:00.0", "pci0009:00", "0009:01:00.0"),
        # Hyper-V: devices/LNXSYSTM:00/... does not start with devices/pci
        (
            "LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/x/pci0001:00/0001:00:00.0",
            None,
            "0001:00:00.0",
        ),
        # VMD: the address has five digits of domain
        ("pci0000:d7/0000:d7:05.5/pci10000:e0/10000:e0:02.0/10000:e1:00.0", None, None),
        ("platform/soc/pcie/pci0000:00/0000:00:00.0", None, "0000:00:00.0"),
    ],
)
def test_pcie_root_and_bus_id(path: str, root: str | None, address: str | None) -> None:
    assert publish_pcie_root(device(path)) == root
    assert (pcie_root_fault(device(path)) is None) == (root is not None)
    assert pci_bus_id(device(path)) == address


def _distance(a: int, b: int) -> int:
    if a == b:
        return 10
    return 12 if a // 4 == b // 4 else 32


# KEP-6072's own examples: an EPYC host in NPS4.
_NPS4 = Machine(
    cpus=Cpus(packages=(Package(0, "0-3"), Package(1, "4-7"))),
    numa_nodes=tuple(
        NumaNode(i, str(i), distances=tuple(_distance(i, j) for j in range(8))) for i in range(8)
    ),
)


@pytest.mark.parametrize(("node", "expected"), [(0, (0, 1, 2, 3)), (6, (6, 4, 5, 7)), (None, ())])
def test_numa_nodes_of_a_function_nearest_first(
    node: int | None, expected: tuple[int, ...]
) -> None:
    assert numa_nodes(device("pci0000:00/0000:00:01.0", node), _NPS4) == expected


def test_sparse_node_ids_are_read_as_upstream_reads_them() -> None:
    """Upstream indexes the row by node id; node 8's own entry is then out of range, and only the node itself is
    published.
    """
    sparse = Machine(
        cpus=Cpus(packages=(Package(0, "0-1"),)),
        numa_nodes=(NumaNode(0, "0", distances=(10, 40)), NumaNode(8, "1", distances=(40, 10))),
    )
    assert numa_nodes(device("pci0000:00/0000:00:01.0", 8), sparse) == (8,)
