"""What two versions of a driver publish on a machine: against the driver's own code, on both sides of the step."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from dractl import probes
from dractl.cluster.described_nodes import DescribedNode
from dractl.model import Target
from dractl.upgrade import drivers
from tests.upgrade.test_drivers import STEPS

if TYPE_CHECKING:
    from pathlib import Path

DRACTL = [sys.executable, "-m", "dractl"]
CUT_SINCE = ("net-long-name",)
"""Recorded of a main branch of 2026-08-21; the names are cut since 2026-08-25 (dranet#300)."""
GATES = {"DRAPartitionableDevices": True, "DRAConsumableCapacity": True}


@pytest.mark.oracle
@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step[1]}-{step[3]}")
def test_both_sides_are_predicted_from_the_machine(
    step: tuple[str, str, str, str, str],
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(whole / "oracle" / "drivers"))
    ask, compare, trees = (importlib.import_module(name) for name in ("ask", "compare", "trees"))
    if (
        os.geteuid() != 0
        or not shutil.which("unshare")
        or not (ask.folder() / "libnvidia-ml.so.1").exists()
    ):
        pytest.skip("needs root, unshare and the NVML stand-in: oracle/drivers/build.sh library")
    name, *sides = step
    folder = whole / "conformance" / "drivers"
    compared, found = 0, {}
    for file in sorted((folder / sides[0]).glob("*.json")):
        if not (folder / sides[2] / file.name).exists() or file.stem in CUT_SINCE:
            continue
        work = tmp_path / file.stem
        work.mkdir()
        archive = whole / "machines" / f"{file.stem}.tar.bz2"
        tree = ask.Machine(
            str(archive if archive.exists() else trees.make(file.stem, work / "tree")), work
        )
        described = _described(tree, ask, work)
        target = Target.of(tree.case.get("kubernetes", "1.37"), GATES)
        for recorded, version in (sides[:2], sides[2:]):
            said = json.loads((folder / recorded / file.name).read_bytes())
            printed = [
                item["spec"] for item in drivers.render_slices(described, name, version, target)
            ]
            result = compare.compare(said, printed, tree, bool(tree.nvml))
            compared += 1
            if result.found:
                found[f"{recorded} {file.stem}"] = result.lines()[:2]
    assert not found
    assert compared >= 16


def _described(tree: Any, ask: Any, work: Path) -> DescribedNode:
    """The machine of a tree, as a snapshot has it."""
    snapshot = work / "machine.json"
    command = [*DRACTL, "discover", "--with-identity", "--save", str(snapshot)]
    if tree.nvml:
        environment = {"LD_LIBRARY_PATH": str(ask.folder()), **tree.nvml}
        done = tree.run(command, environment, hide_udev=True)
    else:
        done = subprocess.run(
            [*command, "--sysfs-root", str(tree.root)], capture_output=True, text=True, check=False
        )
    assert snapshot.exists(), done.stderr
    settings = dict(tree.case.get("options", {})) | dict.fromkeys(
        tree.case.get("gates", ()), "true"
    )
    return DescribedNode("node-1", probes.read(snapshot), {"gpu.nvidia.com": settings})
