"""The man pages: one for each subcommand, with the text of its help."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from dractl.cli.subcommands import SUBCOMMANDS
from tools import make_man

ROOT = Path(__file__).resolve().parent.parent


def test_every_subcommand_has_a_page_listed_in_the_overview() -> None:
    assert set(make_man.pages()) == {"dractl.1", *(f"dractl-{name}.1" for name in SUBCOMMANDS)}
    overview = make_man.overview()
    for command, line in SUBCOMMANDS.items():
        name = command.replace("-", r"\-")
        assert rf"\fBdractl\-{name}(1)\fR" in overview
        assert make_man.roff(line) in overview


def test_a_page_has_the_groups_and_defaults_of_the_help() -> None:
    page = make_man.page("lint")
    groups = [line for line in page.splitlines() if line.startswith(".SS ")]
    assert groups == [
        f'.SS "{title}"'
        for title in ("Arguments", "Input", "Against", "What to do", "Output", "For tools")
    ]
    color = page.partition(r"\fB\-\-color WHEN\fR")[2].partition(".TP")[0]
    assert "[default: auto]" in color


def test_examples_are_lines_to_be_copied() -> None:
    section = make_man.page("lint").partition(".SH EXAMPLES\n")[2].partition(".SH ")[0]
    assert r"\fBhelm template chart | dractl lint \-\fR" in section.splitlines()


def test_the_pages_are_those_of_this_command_line() -> None:
    """If this fails, run ``python tools/make_man.py``."""
    assert {path.name: path.read_text() for path in make_man.FOLDER.iterdir()} == make_man.pages()


def test_the_wheel_has_the_pages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    shared = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert shared == {"docs/man": "share/man/man1"}


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
@pytest.mark.parametrize("page", sorted(make_man.FOLDER.glob("*.1")), ids=lambda page: page.stem)
def test_a_page_is_roff_without_a_warning(page: Path) -> None:
    command = ["groff", "-man", "-Tutf8", "-ww", str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
