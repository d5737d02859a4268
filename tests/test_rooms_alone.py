"""The rooms that others may use alone import only what they need."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import importlib.abc, pkgutil, sys

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        parts = name.split(".")
        if parts[0] in {"typer", "rich", "click", "yaml", "pyudev", "pynvml"}:
            raise ImportError(f"refused: {name}")
        if parts[0] == "dractl" and len(parts) > 1 and parts[1] not in ALLOWED:
            raise ImportError(f"refused: {name}")
        return None

sys.meta_path.insert(0, Refuse())
import dractl.ROOM
for module in pkgutil.walk_packages(dractl.ROOM.__path__, "dractl.ROOM."):
    importlib.import_module(module.name)
"""

GROUND = {"facts", "model", "errors", "program", "properties", "resources"}
NEEDED = {
    "cel": GROUND | {"cel", "cel_library"},
    "allocation": GROUND | {"cel", "cel_library", "objects", "allocation"},
    "validation": GROUND | {"objects", "manifests", "cel", "cel_library", "validation"},
}
"""The rooms and top modules that each room may import, as its README says."""


@pytest.mark.parametrize("room", sorted(NEEDED))
def test_a_room_imports_with_only_the_rooms_of_its_readme(room: str) -> None:
    program = PROGRAM.replace("ALLOWED", repr(NEEDED[room])).replace("ROOM", room)
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-500:]
