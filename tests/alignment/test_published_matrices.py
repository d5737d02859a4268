"""Levels equal those of `nvidia-smi topo -m` on machines whose owners have published them (tests/data/topo.yaml)."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml

from dractl.alignment.distance import Levels, distance, level_of, place, position
from dractl.model.slices import Device
from dractl.topology.machine import Cpus, Link, Machine, NumaNode, Package, PciDevice

DATA: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent.parent / "data" / "topo.yaml").read_text(encoding="utf-8")
)


def _function(number: int, name: str, where: str) -> PciDevice:
    """A function below a root port, the up- and downstream ports of each switch, and a slot of its own."""
    numa, path = where.split()
    root, *switches = path.split("/")
    card = switches.pop()[1:] if switches and switches[-1].startswith("=") else f"slot{number}"
    steps, above = [], "port"
    for switch in switches:
        steps += (
            [f"{above}>{switch}", f"{switch}^"]
            if above == "port"
            else [f"{above}>{switch}", f"{above}.{switch}^"]
        )
        above = switch if above == "port" else f"{above}.{switch}"
    bridges = tuple(f"{root}:{step}" for step in [*steps, f"{above}>{card}"])
    kind: Any = "gpu" if name.startswith("GPU") else "nic"
    bdf = f"0000:{number:02x}:00.0"
    return PciDevice(
        bdf=bdf,
        path="/".join((root, *bridges, bdf)),
        kind=kind,
        pcie_root=root,
        bridges=bridges,
        numa_node=int(numa),
    )


def _machine(entry: dict[str, Any]) -> tuple[Machine, dict[str, str]]:
    functions = {
        name: _function(n, name, where)
        for n, (name, where) in enumerate(entry["devices"].items(), 1)
    }
    names = {name: function.bdf for name, function in functions.items()}
    gpus = [name for name in names if name.startswith("GPU")]
    told = entry.get("nvlinks", {})
    linked = (
        told
        if isinstance(told, dict)
        else {told: [" ".join(pair) for pair in combinations(gpus, 2)]}
    )
    links = tuple(
        Link(*(names[name] for name in pair.split()), "nvlink", count=count)
        for count, pairs in linked.items()
        for pair in pairs
    )
    nodes = entry["numa"]
    return Machine(
        cpus=Cpus(packages=tuple(Package(i, str(i)) for i in range(nodes))),
        numa_nodes=tuple(NumaNode(i) for i in range(nodes)),
        pci_devices=tuple(functions.values()),
        links=links,
    ), names


@pytest.mark.parametrize(
    "entry", DATA, ids=[entry["source"].split("github.com/")[1] for entry in DATA]
)
def test_levels_equal_a_published_matrix(entry: dict[str, Any]) -> None:
    machine, names = _machine(entry)
    levels = Levels.of(machine, "snapshot")
    drivers = {name: "gpu.nvidia.com" if name.startswith("GPU") else "dra.net" for name in names}
    places = {
        name: place(
            drivers[name], Device({"name": name.lower(), "attributes": _address(bdf)}), levels
        )
        for name, bdf in names.items()
    }
    columns = entry["columns"].split()
    for row, told in entry["rows"].items():
        found = [distance(places[row], places[column], levels).level for column in columns]
        assert found == told.split(), row


def _address(bdf: str) -> dict[str, Any]:
    return {"resource.kubernetes.io/pciBusID": {"string": bdf}}


def test_the_matrices_have_every_level() -> None:
    seen = {level for entry in DATA for row in entry["rows"].values() for level in row.split()}
    assert {"PIX", "PXB", "PHB", "NODE", "SYS", "NV1", "NV2", "NV6", "NV8", "NV12", "NV18"} <= seen
    assert len({entry["source"] for entry in DATA}) >= 6


def test_levels_are_ordered_from_near_to_far() -> None:
    order = ["X", "NV18", "NV2", "NV1", "XGMI", "PIX", "PXB", "PHB", "root", "NODE", "numa", "SYS"]
    assert sorted(order, key=position) == order
    assert [level_of(position(level)) for level in order] == order
