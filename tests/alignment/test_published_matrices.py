"""Levels equal those of ``nvidia-smi topo -m`` on machines whose owners have published them.

The matrices are in tests/data/topo.yaml, each with its source.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from dractl.alignment.distance import Levels, distance, level_of_rank, level_rank, locate
from dractl.model.slices import Device
from dractl.topology.machine import Cpus, Link, Machine, NumaNode, Package, PciDevice

PATH = Path(__file__).parent.parent / "data" / "topo.yaml"
MATRICES: list[dict[str, Any]] = yaml.safe_load(PATH.read_text(encoding="utf-8"))


def pci_function(number: int, name: str, position: str) -> PciDevice:
    """Return a device at ``NUMA ROOT/SWITCH.../=CARD``.

    Each switch has an upstream port and a downstream port; a card of its own is not written.
    """
    numa_node, path = position.split()
    root, *switches = path.split("/")
    card = switches.pop()[1:] if switches and switches[-1].startswith("=") else f"slot{number}"
    ports: list[str] = []
    parent = "port"
    for switch in switches:
        child = switch if parent == "port" else f"{parent}.{switch}"
        ports += [f"{parent}>{switch}", f"{child}^"]
        parent = child
    bridges = tuple(f"{root}:{port}" for port in [*ports, f"{parent}>{card}"])
    bdf = f"0000:{number:02x}:00.0"
    return PciDevice(
        bdf=bdf,
        path="/".join((root, *bridges, bdf)),
        kind="gpu" if name.startswith("GPU") else "nic",
        pcie_root=root,
        bridges=bridges,
        numa_node=int(numa_node),
    )


def nvlinks(matrix: dict[str, Any]) -> dict[int, list[str]]:
    """Return the pairs of GPUs by their number of links; one number stands for all pairs."""
    links = matrix.get("nvlinks", {})
    if isinstance(links, dict):
        return links
    gpus = [name for name in matrix["devices"] if name.startswith("GPU")]
    return {links: [" ".join(pair) for pair in combinations(gpus, 2)]}


def machine_of(matrix: dict[str, Any], functions: dict[str, PciDevice]) -> Machine:
    links = tuple(
        Link(*(functions[name].bdf for name in pair.split()), "nvlink", count=count)
        for count, pairs in nvlinks(matrix).items()
        for pair in pairs
    )
    numa_nodes = range(matrix["numa"])
    return Machine(
        cpus=Cpus(packages=tuple(Package(number, str(number)) for number in numa_nodes)),
        numa_nodes=tuple(map(NumaNode, numa_nodes)),
        pci_devices=tuple(functions.values()),
        links=links,
    )


def make_device(name: str, bdf: str) -> Device:
    attributes = {"resource.kubernetes.io/pciBusID": {"string": bdf}}
    return Device({"name": name.lower(), "attributes": attributes})


@pytest.mark.parametrize(
    "matrix", MATRICES, ids=[matrix["source"].split("github.com/")[1] for matrix in MATRICES]
)
def test_levels_equal_a_published_matrix(matrix: dict[str, Any]) -> None:
    functions = {
        name: pci_function(number, name, position)
        for number, (name, position) in enumerate(matrix["devices"].items(), 1)
    }
    levels = Levels.from_machine(machine_of(matrix, functions), "snapshot")
    locations = {
        name: locate(
            "gpu.nvidia.com" if function.kind == "gpu" else "dra.net",
            make_device(name, function.bdf),
            levels,
        )
        for name, function in functions.items()
    }
    columns = matrix["columns"].split()
    for name, row in matrix["rows"].items():
        ours = [distance(locations[name], locations[c], levels).level for c in columns]
        assert ours == row.split(), name


def test_the_matrices_have_every_level() -> None:
    rows = [row for matrix in MATRICES for row in matrix["rows"].values()]
    levels = {level for row in rows for level in row.split()}
    nvlink_levels = {"NV1", "NV2", "NV6", "NV8", "NV12", "NV18"}
    assert {"PIX", "PXB", "PHB", "NODE", "SYS", *nvlink_levels} <= levels
    assert len({matrix["source"] for matrix in MATRICES}) >= 6


def test_levels_are_ranked_from_near_to_far() -> None:
    order = ["X", "NV18", "NV2", "NV1", "XGMI", "PIX", "PXB", "PHB", "root", "NODE", "numa", "SYS"]
    assert sorted(order, key=level_rank) == order
    assert [level_of_rank(level_rank(level)) for level in order] == order
