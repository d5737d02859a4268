"""Text of a run on a terminal besides its report."""

from __future__ import annotations

import io
import re
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from dractl.cli import terminal
from dractl.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable


ROOT = Path(__file__).resolve().parents[2]
ERASED = "\x1b[1A\x1b[2K"  # up a line, and the whole line erased
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Screen(io.StringIO):
    encoding = "ascii"

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


def test_progress_of_a_long_run_is_one_transient_line(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_the_steps_of_a_long_run_share_one_second_of_patience(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a run of ten steps of 0.9 s each is silent for nine seconds."""
    screen(monkeypatch)
    waits: list[float] = []
    now = [100.0]

    class Recorder(AtOnce):
        def __init__(self, wait: float, act: Callable[[], Any]) -> None:
            waits.append(round(wait, 3))
            super().__init__(wait, act)

        def start(self) -> None: ...

    monkeypatch.setattr(threading, "Timer", Recorder)
    monkeypatch.setattr(terminal, "time", SimpleNamespace(monotonic=lambda: now[0]))
    terminal.renew_patience()
    for seconds in (0.7, 0.2, 5, 0):
        with terminal.progress() as tell:
            tell("a step")
            now[0] += seconds
    terminal.renew_patience()
    with terminal.progress() as tell:
        tell("the first step of another run")
    assert waits == [1.0, 0.3, 0.1, 0.1, 1.0]


def test_a_message_on_a_terminal_is_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = screen(monkeypatch)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "40")
    terminal.be_quiet(False)
    terminal.notice("the snapshot is full of devices that no driver of this release publishes")
    assert errors.getvalue().splitlines() == [
        "note: the snapshot is full of devices",
        "  that no driver of this release",
        "  publishes",
    ]


@pytest.mark.parametrize(
    "command",
    [
        "kubectl create clusterrole dractl --verb=get,list --resource=pods,nodes",
        "`kubectl dra rule CODE and some more words than fit`",
    ],
)
def test_a_command_in_a_message_stays_in_one_line_to_be_copied(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = screen(monkeypatch)
    monkeypatch.setenv("COLUMNS", "40")
    terminal.print_error(
        "you are not allowed to read pods", hint=f"an administrator can run: {command}"
    )
    assert command in errors.getvalue()


def test_a_message_in_a_pipe_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    terminal.print_error("word " * 40)
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["lint", f"{ROOT}/examples/lint"],
        ["discover", "--from", f"{ROOT}/examples/discover/node.json"],
        ["explain", "-f", f"{ROOT}/examples/explain"],
        ["fit", "gpu=2,nic=1", "-f", f"{ROOT}/examples/capacity"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_no_text_is_plain_blue(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Classic palettes show ANSI colour 4 as #0000ee or darker: hardly readable on black."""
    main([*arguments, "--color", "always"])
    styles = set(re.findall(r"\x1b\[([\d;]+)m", capsys.readouterr().out))
    assert styles
    assert not [style for style in styles if "34" in style.split(";")]


def test_a_sentence_that_begins_with_kubectl_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    errors = screen(monkeypatch)
    monkeypatch.setenv("COLUMNS", "60")
    terminal.print_error(
        "kubectl cannot reach the cluster: the connection to the server was refused",
        hint="kubectl get resourceslices,deviceclasses,resourceclaims -A -o yaml > cluster.yaml",
    )
    error, *middle, command = errors.getvalue().splitlines()
    assert CONTROL.sub("", error).startswith("error: kubectl cannot reach the cluster")
    assert len(CONTROL.sub("", error)) <= 60
    assert middle
    assert command.strip().startswith("kubectl get ")
    assert command.endswith(" > cluster.yaml")


@pytest.mark.parametrize(
    "arguments",
    [["rule", "DRA721"], ["rule", "DRA7"], ["rule", "dra.net"], ["render", "--list-hardware"]],
)
def test_lines_are_broken_on_a_terminal_alone(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(arguments) == 0
    whole = capsys.readouterr().out
    output = Screen()
    output.encoding = "utf-8"
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(arguments) == 0
    lines = output.getvalue().splitlines()
    assert max(map(len, whole.splitlines())) > 80
    assert " ".join(output.getvalue().split()) == " ".join(whole.split())
    assert all(
        len(line) <= 80 for line in lines if len(line.split()) > 1 and "expression" not in line
    )


def test_a_line_of_a_rule_may_be_as_wide_as_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the narrowest terminal that its longest line fits into, a rule's page has that line."""
    output = Screen()
    output.encoding = "utf-8"
    monkeypatch.setattr(sys, "stdout", output)
    monkeypatch.setenv("NO_COLOR", "1")

    def lines_at(columns: int) -> list[str]:
        output.truncate(0)
        output.seek(0)
        monkeypatch.setenv("COLUMNS", str(columns))
        assert main(["rule", "DRA721"]) == 0
        return output.getvalue().splitlines()

    longest = max((line for line in lines_at(80) if line.startswith("  ")), key=len)
    assert longest in lines_at(len(longest))
