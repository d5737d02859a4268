"""``--watch``: a report is shown again when it differs, parted in a pipe, in place on a terminal."""

from __future__ import annotations

import io
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from dractl.cli import terminal, watching
from tests.cli.test_terminal import AtOnce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Enough(Exception):
    pass


def make_wait(after: int) -> Callable[[float], None]:
    """Waits that end the watch after so many reports."""
    left = [after]

    def wait(pause: float) -> None:
        left[0] -= 1
        if not left[0]:
            raise Enough

    return wait


def test_only_changed_reports_are_shown_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    reports = iter(["one\n", "one\n", "two\n"])
    with pytest.raises(Enough):
        watching.repeat(lambda: next(reports), wait=make_wait(3))
    assert capsys.readouterr().out == "one\n---\ntwo\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def loud() -> Iterator[None]:
    """Undo ``--quiet`` of tests that ran before in this process, and of the live view."""
    terminal.be_quiet(False)
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
        with terminal.progress() as tell:
            tell("reading the cluster")
        assert sys.stdout is screen  # colours and the width are those of the terminal
        return next(reports)

    with pytest.raises(Enough):
        watching.repeat(report, wait=make_wait(2))
    assert "reading" not in screen.getvalue()
    assert errors.getvalue().count("\x1b[?25l") == 1  # before the live view only


def test_a_terminal_shows_the_last_report_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "xterm")
    reports = iter(["one\n", "two\n"])
    with pytest.raises(Enough):
        watching.repeat(lambda: next(reports), wait=make_wait(2))
    text = screen.getvalue()
    opened, closed = text.index("\x1b[?1049h"), text.index("\x1b[?1049l")  # the alternate screen
    assert opened < text.index("one") < text.index("two") < closed
    assert (
        "\x1b[H" in text[text.index("one") : text.index("two")]
    )  # the cursor goes back to the corner
    assert text[closed:].endswith("two\n")  # stays behind
    assert "---" not in text


def test_a_terminal_without_a_cursor_gets_one_report_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setenv("TERM", "dumb")
    reports = iter(["one\n", "two\n"])
    with pytest.raises(Enough):
        watching.repeat(lambda: next(reports), wait=make_wait(2))
    assert screen.getvalue() == "one\n---\ntwo\n"


@pytest.mark.parametrize(
    ("report", "shown"),
    [
        ("a\nb\nc\n", ["a", "b", "c"]),
        ("a\nb\nc\nd\ne\n", ["a", "b", "... 3 more lines"]),
        (f"a\n{'b' * 25}\nc\n", ["a", "b" * 20, "... 2 more lines"]),
    ],
)
def test_a_report_is_cut_to_the_window(report: str, shown: list[str]) -> None:
    console = Console(width=20, height=3, file=io.StringIO())
    assert watching.window(console, report).plain.splitlines() == shown


def test_waiting_ends_when_the_terminal_is_resized(monkeypatch: pytest.MonkeyPatch) -> None:
    widths = iter(["80", "80", "80", "60"])
    monkeypatch.setenv("COLUMNS", next(widths))
    naps: list[float] = []

    def sleep(pause: float) -> None:
        naps.append(pause)
        monkeypatch.setenv("COLUMNS", next(widths))

    watching.wait_or_resize(100, sleep)
    assert len(naps) == 3
