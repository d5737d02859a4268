"""The claims that ``--suggest`` prints."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dractl import probes
from dractl.discovery.suggestion import parse, suggest
from dractl.errors import InputError, UsageError
from dractl.lint import lint
from dractl.manifests import load
from tests import machines
from tests.discovery.conftest import TARGET

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.topology.machine import Machine
    from tests.discovery.conftest import Renderer


@pytest.mark.parametrize(
    ("shape", "alignment", "constraints"),
    [
        ("gpu=2,nic=1", "all on one PCIe root", 1),
        ("gpu=2,rdma=2", "all on one PCIe root", 1),
        ("gpu=4,nic=4", "2 gpu + 2 nic on one PCIe root, 2 times", 2),
        ("gpu=4", "2 gpu on one PCIe root, 2 times, all on one NUMA node", 3),  # gpu.nvidia.com 0.5 has numaNode
        ("gpu=3,nic=1", "not aligned: no PCIe root or NUMA node of this node has them all", 0),
        ("gpu", "one device", 0),
    ],
)
def test_the_best_alignment_is_asked_for(
    shape: str, alignment: str, constraints: int, plx: Machine, rendered: Renderer
) -> None:
    found = suggest(parse(shape), rendered(plx), TARGET)
    assert found is not None
    assert found.alignment == alignment
    assert len(found.claim["spec"]["devices"].get("constraints", [])) == constraints
    assert len(found.devices) == sum(parse(shape).values())


def test_numa_aligns_what_roots_cannot(plx: Machine, rendered: Renderer) -> None:
    found = suggest(parse("gpu=3,nic=1"), rendered(plx, nvidia="0.5", dranet="main"), TARGET)
    assert found is not None
    assert found.alignment == "all on one NUMA node"


def test_suggestions_lint_clean(plx: Machine, rendered: Renderer, tmp_path: Path) -> None:
    found = suggest(parse("gpu=4,nic=4"), rendered(plx), TARGET)
    assert found is not None
    file = tmp_path / "claim.json"
    file.write_text(json.dumps(found.claim))
    assert lint(load([str(file)]), TARGET).findings == ()


def test_what_the_node_does_not_have(plx: Machine, rendered: Renderer, tmp_path: Path) -> None:
    assert suggest(parse("gpu=9"), rendered(plx), TARGET) is None
    bare = probes.read(machines.build(machines.describe("no-pci"), tmp_path / "bare"))
    with pytest.raises(InputError, match="no driver known to dractl would publish a gpu"):
        suggest(parse("gpu=1"), rendered(bare), TARGET)


@pytest.mark.parametrize("text", ["", "gpu=0", "gpu=-1", "gpus=1", "gpu=1,gpu=2", "gpu=33", "gpu=x", "gpu=20,nic=20"])
def test_shapes_that_cannot_be_asked_for(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)
