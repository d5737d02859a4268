"""The DRA view of a node and the claims that it suggests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dractl import probes
from dractl.drivers import Options, Rendering, render
from dractl.drivers.suggest import parse, suggest
from dractl.drivers.view import PCIE_ROOT, view
from dractl.errors import InputError, UsageError
from dractl.manifests import load
from dractl.model.releases import Target
from tests import machines

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.topology.machine import Machine

TARGET = Target.of("1.36")


def rendering(machine: Machine, **versions: str) -> Rendering:
    named = {"gpu.nvidia.com": versions.get("nvidia"), "dra.net": versions.get("dranet")}
    options = Options("node-1", TARGET, versions={k: v for k, v in named.items() if v})
    return render(machine, options, device_classes=True)


@pytest.fixture(scope="module")
def plx(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return probes.read(machines.build(machines.describe("plx-8gpu"), tmp_path_factory.mktemp("plx")))


@pytest.fixture(scope="module")
def hyperv(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return probes.read(machines.build(machines.describe("hyper-v"), tmp_path_factory.mktemp("hyperv")))


def test_ways_are_counted(plx: Machine) -> None:
    """Four roots, on each two GPUs and two NICs; the onboard ports carry the default route and are not published."""
    ways = {(a.gpus, a.nics): (a.ways, a.places) for a in view(rendering(plx)).alignments if a.attribute == PCIE_ROOT}
    assert ways == {(1, 1): (16, 4), (2, 0): (4, 4), (2, 1): (8, 4), (2, 2): (4, 4)}


def test_numa_can_be_matched_where_both_drivers_publish_it(plx: Machine) -> None:
    old = view(rendering(plx))
    assert any("resource.kubernetes.io/numaNode cannot be matched" in text for text in old.warnings)
    new = view(rendering(plx, nvidia="0.5", dranet="main"))
    assert new.warnings == ()
    assert (4, 4, "resource.kubernetes.io/numaNode") in {(a.gpus, a.nics, a.attribute) for a in new.alignments}


def test_a_node_whose_roots_are_not_published_cannot_align(hyperv: Machine) -> None:
    found = view(rendering(hyperv))
    assert found.alignments == ()
    assert any(text.startswith("resource.kubernetes.io/pcieRoot cannot be matched") for text in found.warnings)


def test_roots_that_hold_only_gpus_are_named(plx: Machine) -> None:
    elsewhere = [
        replace(d, path="pci0000:aa/" + d.bdf, pcie_root="pci0000:aa") if d.kind == "nic" else d
        for d in plx.pci_devices
    ]
    found = view(rendering(replace(plx, pci_devices=tuple(elsewhere))))
    assert "no PCIe root holds both a GPU and a NIC" in found.warnings


@pytest.mark.parametrize(
    ("shape", "alignment", "constraints"),
    [
        ("gpu=2,nic=1", "all on one PCIe root", 1),
        ("gpu=2,rdma=2", "all on one PCIe root", 1),
        ("gpu=4,nic=4", "2 gpu + 2 nic on one PCIe root, 2 times", 2),
        ("gpu=4", "2 gpu on one PCIe root, 2 times", 2),
        ("gpu=3,nic=1", "not aligned: this node cannot keep them on one PCIe root or NUMA node", 0),
        ("gpu", "one device", 0),
    ],
)
def test_the_best_alignment_is_asked_for(
    shape: str, alignment: str, constraints: int, plx: Machine, tmp_path: Path
) -> None:
    found = suggest(parse(shape), rendering(plx), TARGET)
    assert found is not None
    assert found.alignment == alignment
    assert len(found.claim["spec"]["devices"].get("constraints", [])) == constraints
    assert len(found.devices) == sum(parse(shape).values())


def test_numa_aligns_what_roots_cannot(plx: Machine) -> None:
    found = suggest(parse("gpu=3,nic=1"), rendering(plx, nvidia="0.5", dranet="main"), TARGET)
    assert found is not None
    assert found.alignment == "all on one NUMA node"


def test_suggestions_lint_clean(plx: Machine, tmp_path: Path) -> None:
    import json

    from dractl.lint import lint

    found = suggest(parse("gpu=4,nic=4"), rendering(plx), TARGET)
    assert found is not None
    file = tmp_path / "claim.json"
    file.write_text(json.dumps(found.claim))
    assert lint(load([str(file)]), TARGET).findings == ()


def test_what_the_node_does_not_have(plx: Machine, hyperv: Machine, tmp_path: Path) -> None:
    assert suggest(parse("gpu=9"), rendering(plx), TARGET) is None
    bare = probes.read(machines.build(machines.describe("no-pci"), tmp_path / "bare"))
    with pytest.raises(InputError, match="no driver that dractl knows would publish a gpu"):
        suggest(parse("gpu=1"), rendering(bare), TARGET)


@pytest.mark.parametrize("text", ["", "gpu=0", "gpu=-1", "gpus=1", "gpu=1,gpu=2", "gpu=33", "gpu=x", "gpu=20,nic=20"])
def test_shapes_that_cannot_be_asked_for(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)
