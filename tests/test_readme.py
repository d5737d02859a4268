"""Runs every ``$ dractl ...`` of the README and of docs/, and compares its output with the lines
below it.

A line ``...`` stands for lines left out; ``$ ... | tail -3`` and the like are run by the shell.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tools.make_pictures import TERMINALS, alignment

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def examples() -> list[tuple[str, str, str]]:
    """Return (file, command, expected output) for every console block."""
    found = []
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for block in BLOCK.findall(path.read_text(encoding="utf-8")):
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                found.append((path.name, command, output))
    return found


@pytest.mark.parametrize(
    ("file", "command", "expected"), examples(), ids=lambda value: value[:60].replace(" ", "_")
)
def test_documentation_shows_the_output_of_dractl(file: str, command: str, expected: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {
        **os.environ,
        "PATH": path,
        "COLUMNS": "100",
        "PYTHONIOENCODING": "utf-8",
        "NODE_NAME": "",
    }
    done = subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    pattern = "".join(
        ".*?" if line.strip() == "..." else re.escape(line)
        for line in expected.splitlines(keepends=True)
    )
    assert re.fullmatch(pattern, done.stdout, re.DOTALL), (
        f"{file}: $ {command}\n{done.stdout}{done.stderr}"
    )


def printed(*words: str) -> str:
    environment = {**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "dractl", *words]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8", check=False
    ).stdout


def test_pictures_show_the_output_of_dractl() -> None:
    """If this fails, run ``python tools/make_pictures.py``."""
    pictures = ROOT / "docs" / "pictures"
    node = printed("discover", "--from", "examples/discover/node.json", "-o", "svg")
    assert (pictures / "node.svg").read_text(encoding="utf-8") == node
    assert (pictures / "alignment.svg").read_text(encoding="utf-8") == alignment()
    for name, (*words, _, _) in TERMINALS.items():
        texts = (
            ElementTree.parse(pictures / f"{name}.svg")
            .getroot()
            .iter("{http://www.w3.org/2000/svg}text")
        )
        shown = " ".join(text.text or "" for text in texts).split()  # non-breaking spaces, too
        assert shown == ["$", "dractl", *words, *printed(*words).split()]
