"""Compiles the NVML library of the tests (tests/data/nvml/nvml.c) once, and probes a Machine with
it.

pynvml loads ``libnvidia-ml.so.1`` by name, so each probe is a separate process with the library on
its path. In this way, pynvml's own ctypes code is tested too.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dractl.topology import snapshot

if TYPE_CHECKING:
    from dractl.topology.machine import Machine

SOURCE = Path(__file__).parent / "data" / "nvml" / "nvml.c"
ROOT = Path(__file__).parent.parent

_PROBE = """
import json, sys
from dractl.topology import snapshot
from dractl.probes import probe
from dractl.probes.enumerate import SysfsWalker
from dractl.probes.root import DirectoryTree, SysRoot
# A tree that stands for this very machine: NVML is asked as on a live one.
root = SysRoot(DirectoryTree(sys.argv[1]), name="test", live=True)
json.dump(snapshot.to_json(probe(root, enumerator=SysfsWalker(root))), sys.stdout)
"""


def compiler() -> str:
    """Return the C compiler. Without one, the test is skipped."""
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if found is None:
        pytest.skip(
            "no C compiler (Debian: apt-get install gcc libc6-dev) to build the tests' NVML"
        )
    return found


def build(folder: Path, *flags: str) -> Path:
    """Compile ``libnvidia-ml.so.1`` into ``folder``, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        compiler(),
        "-shared",
        "-fPIC",
        "-O1",
        "-Wall",
        "-Werror",
        "-Wl,-soname,libnvidia-ml.so.1",
        *flags,
    ]
    subprocess.run([*command, "-o", str(folder / "libnvidia-ml.so.1"), str(SOURCE)], check=True)
    return folder


def probe(tree: Path, library: Path | None, **answers: object) -> Machine:
    """Return the Machine of ``tree``, probed with the library in ``library`` (None: without a
    library), which returns ``answers``.
    """
    environment = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    environment["LD_LIBRARY_PATH"] = str(library or "/nonexistent")
    environment |= {f"FAKE_NVML_{name.upper()}": str(value) for name, value in answers.items()}
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, str(tree)],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return snapshot.from_json(json.loads(done.stdout))
