"""What a terminal sees of a run, besides its report."""

from __future__ import annotations

import io
import re
import sys
import threading
from typing import TYPE_CHECKING, Any

from dractl.cli import terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


ERASED = "\x1b[1A\x1b[2K"  # up a line, and the whole line erased
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


class AtOnce:
    """A timer that does not wait."""

    daemon = False

    def __init__(self, _: float, act: Callable[[], Any]) -> None:
        self.act = act

    def start(self) -> None:
        self.act()

    def cancel(self) -> None: ...

    def join(self) -> None: ...


def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    found = Screen()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setenv("TERM", "xterm")
    return found


def test_progress_of_a_quick_run_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = screen(monkeypatch)
    with terminal.progress() as tell:
        tell("reading pods")
        tell("placing copies")
    assert errors.getvalue() == ""


def test_progress_of_a_long_run_is_one_line_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = screen(monkeypatch)
    monkeypatch.setattr(threading, "Timer", AtOnce)
    with terminal.progress() as tell:
        tell("reading pods")
        tell("placing copies")
    said = errors.getvalue()
    assert "reading pods" in said
    assert "placing copies" in said
    assert said.endswith(ERASED)


def test_progress_is_cut_to_the_width_and_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = screen(monkeypatch)
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setattr(threading, "Timer", AtOnce)
    with terminal.progress() as tell:
        tell("placing \x1b[31m[bold]" + "x" * 50)
    shown = {
        line.removesuffix("\n") for line in CONTROL.split(errors.getvalue()) if "placing" in line
    }
    assert shown
    assert all(len(line) <= 20 and "\n" not in line for line in shown)
    assert "\x1b[31m" not in errors.getvalue()
