"""Repetition with ``--watch``: waiting for files to change, or for another report about a
cluster.
"""

from __future__ import annotations

import os
import sys
import time
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from dractl.cli import terminal
from dractl.errors import InputError
from dractl.report.plain import harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import Console
    from rich.text import Text

    Signature = dict[str, tuple[int, int]]

PAUSE_SECONDS = 0.5
_NO_SCREEN = ("dumb", "unknown")  # values of TERM
_SKIPPED = (".git", ".venv", "node_modules", "__pycache__")


def take_signature(paths: Sequence[str]) -> Signature:
    """Return the modification time and size of each file, and of all files below folders.

    Missing files are left out.
    """
    signature: Signature = {}
    for path in paths:
        if os.path.isdir(path):
            for folder, folders, files in os.walk(path):
                folders[:] = [name for name in folders if name not in _SKIPPED]
                for name in files:
                    _add_file(os.path.join(folder, name), signature)
        else:
            _add_file(path, signature)
    return signature


def _add_file(path: str, signature: Signature) -> None:
    try:
        status = os.stat(path)
    except OSError:
        return
    signature[path] = (status.st_mtime_ns, status.st_size)


def changes(
    paths: Sequence[str], wait: Callable[[], None] = lambda: time.sleep(PAUSE_SECONDS)
) -> Iterator[None]:
    """Yield once at the start, and whenever something in ``paths`` has changed, which is checked
    every half second.
    """
    last: Signature | None = None
    while True:
        terminal.renew_patience()
        now = take_signature(paths)
        if now != last:
            last = now
            yield
        wait()


def tolerate_errors(report: Callable[[], str]) -> Callable[[], str]:
    """Return a function that makes a report, or the text of its error, since a watched cluster may
    be unreachable for a while.

    Only the first report raises its error.
    """
    pending = [report()]

    def repeat_report() -> str:
        if pending:
            return pending.pop()
        try:
            return report()
        except InputError as error:
            return f"{error}\n"

    return repeat_report


def wait_or_resize(seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
    """Wait, at most until the terminal has another size: reports are wrapped to its width."""
    size = get_terminal_size()
    for _ in range(round(seconds / PAUSE_SECONDS)):
        sleep(PAUSE_SECONDS)
        if get_terminal_size() != size:
            return


def repeat(
    report: Callable[[], str], pause: float = 5.0, wait: Callable[[float], None] = wait_or_resize
) -> None:
    """Show a report again whenever it differs from the last one, until interrupted.

    On a terminal it is a live view that replaces itself, and otherwise reports are separated by
    ``---``.
    """
    if sys.stdout.isatty() and os.environ.get("TERM") not in _NO_SCREEN:
        _show_live(lambda: harmless(report()), pause, wait)
        return
    last: str | None = None
    while True:
        terminal.renew_patience()
        text = harmless(report())
        if text != last:
            sys.stdout.write(text if last is None else f"---\n{text}")
            sys.stdout.flush()
            last = text
        wait(pause)


def _show_live(report: Callable[[], str], pause: float, wait: Callable[[float], None]) -> None:
    """Show the report on a screen of its own, as watch(1) does.

    After a resize a terminal wraps the printed lines, which could not be replaced any more. The
    last report stays on the terminal after the end.
    """
    from rich.console import Console
    from rich.live import Live

    console = Console()
    last = report()
    terminal.be_quiet(True)  # progress and notices would end up between the reports
    try:
        with Live(
            window(console, last),
            console=console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        ) as view:
            view.refresh()
            while True:
                wait(pause)
                last = report()
                view.update(window(console, last), refresh=True)
    finally:
        console.file.write(last)


def window(console: Console, report: str) -> Text:
    """Return as much of a report as the terminal has lines for, and the number of lines left
    out.
    """
    from rich.text import Text

    lines = list(Text.from_ansi(report.rstrip("\n")).wrap(console, console.width))
    left = len(lines) - console.height
    if left > 0:
        lines[console.height - 1 :] = [Text(f"... {left + 1} more lines", style="dim")]
    return Text("\n").join(lines)
