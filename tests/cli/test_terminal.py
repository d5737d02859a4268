"""What a terminal sees of a run, besides its report."""

from __future__ import annotations

import io
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from dractl.cli import terminal

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


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
    terminal.progress("reading pods")
    terminal.progress("placing copies")
    terminal.progress("")
    assert errors.getvalue() == ""


def test_progress_of_a_long_run_is_one_line_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = screen(monkeypatch)
    monkeypatch.setattr(threading, "Timer", AtOnce)
    terminal.progress("reading pods")
    terminal.progress("placing copies")
    terminal.progress("")
    assert errors.getvalue() == "\r\x1b[Kreading pods\r\x1b[Kplacing copies\r\x1b[K"


def test_progress_is_cut_to_the_width_and_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = screen(monkeypatch)
    monkeypatch.setattr(threading, "Timer", AtOnce)
    monkeypatch.setattr(errors, "fileno", lambda: 2, raising=False)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((20, 24)))
    terminal.progress("placing \x1b[31m" + "x" * 50)
    line = errors.getvalue().removeprefix("\r\x1b[K")
    terminal.progress("")
    assert len(line) == 19
    assert "\x1b" not in line
