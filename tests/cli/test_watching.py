"""``--watch``: a report is shown again when it differs, parted in a pipe, in place on a terminal."""

from __future__ import annotations

import io
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from dractl.cli import terminal, watching
from tests.cli.test_terminal import AtOnce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Enough(Exception):
    pass


def ending(after: int) -> Callable[[float], None]:
    """Waits that end the watch after so many reports."""
    left = [after]

    def wait(pause: float) -> None:
        left[0] -= 1
        if not left[0]:
            raise Enough

    return wait


def test_only_what_differs_is_shown_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    reports = iter(["one\n", "one\n", "two\n"])
    with pytest.raises(Enough):
        watching.repeat(lambda: next(reports), wait=ending(3))
    assert capsys.readouterr().out == "one\n---\ntwo\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def loud() -> Iterator[None]:
    yield
    terminal.be_quiet(False)


def test_progress_does_not_come_between_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, errors = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(threading, "Timer", AtOnce)
    reports = iter(["one\n", "two\n"])

    def report() -> str:
        terminal.progress("reading the cluster")
        terminal.progress("")
        assert sys.stdout is screen  # colours and the width are those of the terminal
        return next(reports)

    with pytest.raises(Enough):
        watching.repeat(report, wait=ending(2))
    assert "reading" not in screen.getvalue()
    assert errors.getvalue().count("reading") == 1


def test_a_terminal_shows_the_last_report_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "xterm")
    reports = iter(["one\n", "two\n"])
    with pytest.raises(Enough):
        watching.repeat(lambda: next(reports), wait=ending(2))
    text = screen.getvalue()
    between = text[text.index("one") : text.index("two")]
    assert "\x1b[1A" in between  # the cursor goes up over the report before
    assert "---" not in text
