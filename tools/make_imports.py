"""Writes tests/data/imports.json: the modules that short runs import.

    python tools/make_imports.py

Run it when a path really needs a new module; what is only sometimes needed is imported where it is used.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "data" / "imports.json"
RUNS = {  # TREE: a directory with an empty sys/
    "--version": ["--version"],
    "lint, no selector": ["lint", "--isolated", "benchmarks/one.yaml"],
    "lint, a selector": ["lint", "--isolated", "benchmarks/selector.yaml"],
    "explain, a small dump": ["explain", "--isolated", "-f", "examples/explain"],
    "discover": ["discover", "--sysfs-root", "TREE"],
}
# Of the standard library: what takes more than a millisecond, and is easily imported without need.
COSTLY = frozenset(
    ("asyncio", "dataclasses", "difflib", "inspect", "logging", "multiprocessing", "shutil", "subprocess", "textwrap")
)
_PROGRAM = """
import json, sys
before = set(sys.modules)
from dractl.cli.main import main
main(sys.argv[1:])
files = {name for name, module in sys.modules.items() if hasattr(module, "__path__") or hasattr(module, "__file__")}
sys.stderr.write("\\n" + json.dumps(sorted(files - before)))
"""


def imported(arguments: list[str]) -> list[str]:
    """Modules of dractl, packages of others, and the costly ones of the standard library that a run imports."""
    with tempfile.TemporaryDirectory() as tree:
        Path(tree, "sys").mkdir()
        words = [tree if word == "TREE" else word for word in arguments]
        command = [sys.executable, "-c", _PROGRAM, *words]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=ROOT, timeout=120, check=True, env=_environment()
        )
    names = json.loads(done.stderr.splitlines()[-1])
    ours = {name for name in names if name.partition(".")[0] == "dractl"}
    tops = {name.partition(".")[0] for name in names} - {"dractl"}
    return sorted(ours | {name for name in tops if name in COSTLY or _foreign(name)})


def _environment() -> dict[str, str]:
    """Ours, without what makes a run look at the terminal or at a configuration."""
    return {name: value for name, value in os.environ.items() if name != "COLUMNS" and not name.startswith("DRACTL_")}


def _foreign(name: str) -> bool:
    return name not in sys.stdlib_module_names and not name.startswith("_")


def main() -> None:
    table = {name: imported(arguments) for name, arguments in RUNS.items()}
    FILE.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
