"""The same tree through libudev and through the sysfs walker gives the same Machine.

libudev reads ``/sys`` and nothing else; umockdev's preload library shows it a tree there.
"""

from __future__ import annotations

import ctypes.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from dractl import probes
from dractl.topology import snapshot
from tests import sysfs_trees
from tests.probes.conftest import GATHERED

if TYPE_CHECKING:
    from collections.abc import Callable

    from dractl.topology.machine import Machine

ROOT = Path(__file__).resolve().parents[2]
PRELOAD = "libumockdev-preload.so.0"

_ENUMERATE = """
import json, sys
from pathlib import Path
from dractl.probes import SysRoot, probe
from dractl.probes.udev import open_udev
from dractl.topology import snapshot
def note(about, message): raise SystemExit(message)
json.dump(snapshot.to_json(probe(SysRoot.for_directory(Path(sys.argv[1])), enumerator=open_udev(note))), sys.stdout)
"""


def through_udev(tree: Path, script: str = _ENUMERATE) -> Machine:
    environment = {**os.environ, "UMOCKDEV_DIR": str(tree), "LD_PRELOAD": PRELOAD}
    command = [sys.executable, "-c", script, str(tree)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    return snapshot.from_json(json.loads(done.stdout))


@pytest.fixture(autouse=True)
def _umockdev() -> None:
    if ctypes.util.find_library("umockdev-preload") is None and not _loads(PRELOAD):
        pytest.skip("no umockdev (Debian: apt-get install umockdev): pyudev cannot be shown a tree")


def _loads(library: str) -> bool:
    probe = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False)
    return library in probe.stdout


@pytest.mark.parametrize("name", sysfs_trees.NAMES)
def test_generated_trees(name: str, tmp_path: Path) -> None:
    tree = sysfs_trees.build(sysfs_trees.describe(name), tmp_path)
    assert through_udev(tree) == probes.read(tree)


@pytest.mark.parametrize("name", GATHERED)
def test_gathered_trees(name: str, gathered: Callable[[str], tuple[Path, Path]]) -> None:
    _, tree = gathered(name)
    assert through_udev(tree) == probes.read(tree)


_LIVE = """
import json, sys
from dractl import probes
from dractl.topology import snapshot
json.dump(snapshot.to_json(probes.read()), sys.stdout)
"""


def test_a_live_probe_asks_libudev(tmp_path: Path) -> None:
    """The whole way that `dractl discover` goes on a node, with this machine's /sys replaced."""
    tree = sysfs_trees.build(sysfs_trees.describe("plx-8gpu"), tmp_path)
    live = through_udev(tree, _LIVE)
    # A live machine has its own pci.ids as well, whose spelling of a GPU's name may differ.
    named = [replace(device, installed_name=None) for device in live.pci_devices]
    assert named == list(probes.read(tree).pci_devices)
    assert "udev" not in {note.about for note in live.notes}
