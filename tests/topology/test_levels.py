"""Levels between functions, read off paths. Expectations: the legend of `nvidia-smi topo -m`."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from dractl.topology.levels import LEVELS, affinity, level, nearest, rank
from dractl.topology.machine import Cpus, Kind, Link, Machine, NumaNode, Package, PciDevice

_SWITCH = "pci0000:10/0000:10:01.0/0000:11:00.0"


def device(path: str, numa: int | None = 0, kind: Kind = "gpu") -> PciDevice:
    root, *bridges, bdf = path.split("/")
    return PciDevice(
        bdf=bdf, path=path, kind=kind, pcie_root=root, bridges=tuple(bridges), numa_node=numa
    )


def machine(*devices: PciDevice, nodes: int = 2, sockets: int = 2) -> Machine:
    packages = tuple(Package(i, str(i)) for i in range(sockets))
    return Machine(
        cpus=Cpus(packages=packages),
        numa_nodes=tuple(NumaNode(i) for i in range(nodes)),
        pci_devices=tuple(devices),
    )


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (f"{_SWITCH}/0000:12:00.0/0000:13:00.0", f"{_SWITCH}/0000:12:01.0/0000:14:00.0", "PIX"),
        # two ports of one card
        ("pci0000:10/0000:10:01.0/0000:11:00.0", "pci0000:10/0000:10:01.0/0000:11:00.1", "PIX"),
        # another switch below the first
        (
            f"{_SWITCH}/0000:12:00.0/0000:13:00.0/0000:14:00.0/0000:15:00.0",
            f"{_SWITCH}/0000:12:01.0/0000:16:00.0",
            "PXB",
        ),
        # a root port each
        ("pci0000:10/0000:10:01.0/0000:11:00.0", "pci0000:10/0000:10:02.0/0000:12:00.0", "PHB"),
        ("pci0000:10/0000:10:01.0/0000:11:00.0", "pci0000:10/0000:10:1f.0", "PHB"),
        ("pci0000:10/0000:10:01.0/0000:11:00.0", "pci0000:20/0000:20:01.0/0000:21:00.0", "NODE"),
    ],
)
def test_the_level_follows_from_the_two_paths_and_is_symmetric(
    a: str, b: str, expected: str
) -> None:
    one, other = device(a), device(b)
    both = machine(one, other)
    assert level(one, other, both) == level(other, one, both) == expected
    assert level(one, one, both) == "X"


@pytest.mark.parametrize(
    ("a", "b", "nodes", "sockets", "expected"),
    [
        (0, 1, 2, 2, "SYS"),
        (None, 1, 2, 2, "SYS?"),
        (None, None, 4, 2, "SYS?"),
        (None, None, 4, 1, "NODE?"),  # one socket with sub-NUMA clusters
        (None, None, 1, 1, "NODE"),  # a VM without NUMA
        (None, None, 0, 1, "NODE"),  # a kernel without NUMA
    ],
)
def test_unknown_numa_node_gives_an_unknown_level(
    a: int | None, b: int | None, nodes: int, sockets: int, expected: str
) -> None:
    one = device("pci0000:10/0000:10:01.0", a)
    other = device("pci0000:20/0000:20:01.0", b)
    assert level(one, other, machine(one, other, nodes=nodes, sockets=sockets)) == expected


def test_level_of_nvml_stands_beside_sysfs_and_wins_in_the_summary() -> None:
    a, b = (
        device("pci0000:10/0000:10:01.0/0000:11:00.0"),
        device("pci0000:20/0000:20:01.0/0000:21:00.0"),
    )
    told = Machine(
        numa_nodes=(NumaNode(0), NumaNode(1)),
        pci_devices=(a, b),
        links=(
            Link("0000:11:00.0", "0000:21:00.0", "pcie", level="SYS"),
            Link("0000:11:00.0", "0000:21:00.0", "nvlink", count=18),
        ),
    )
    assert [(p.level, p.source) for p in affinity(told)] == [
        ("NODE", "sysfs"),
        ("SYS", "nvml"),
        ("NV18", "nvml"),
    ]
    assert nearest(told)["0000:21:00.0", "0000:11:00.0"] == "NV18"


def test_bridges_and_virtual_functions_have_no_distances_of_their_own() -> None:
    from msgspec.structs import replace

    from dractl.topology.machine import SrIov

    physical = device("pci0000:10/0000:10:01.0/0000:11:00.0", kind="nic")
    virtual = replace(physical, bdf="0000:11:00.1", sriov=SrIov(physical_function="0000:11:00.0"))
    port = device("pci0000:10/0000:10:01.0", kind="bridge")
    assert list(affinity(machine(port, physical, virtual))) == []


_ADDRESSES = st.integers(0, 3).flatmap(
    lambda root: st.tuples(
        st.just(root),
        st.lists(st.integers(0, 1), max_size=5),
        st.integers(0, 1),
        st.sampled_from([None, 0, 1]),
    )
)


@settings(deadline=None)
@given(st.lists(_ADDRESSES, min_size=2, max_size=2, unique_by=str))
def test_any_two_functions_have_one_level_both_ways(
    places: list[tuple[int, list[int], int, int | None]],
) -> None:
    """Any tree: symmetric, known to the legend, and never nearer across roots than within one."""
    devices = []
    for i, (root, bridges, slot, numa) in enumerate(places):
        parts = [f"0000:{root}{len(bridges[:n])}:{port:02x}.{n}" for n, port in enumerate(bridges)]
        devices.append(
            device("/".join([f"pci0000:{root}0", *parts, f"0000:{root}f:{slot:02x}.{i}"]), numa)
        )
    one, other = devices
    both = machine(one, other)
    found = level(one, other, both)
    assert found == level(other, one, both)
    assert found in LEVELS
    assert (one.pcie_root == other.pcie_root) == (rank(found) <= rank("PHB"))
