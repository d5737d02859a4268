"""The terminal's properties, such as colour and width, and messages on standard error."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TextIO

from dractl.report.canvas import Canvas
from dractl.report.plain import keep_together, printable, wrap

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from rich.progress import Progress

    from dractl.manifests import Skipped

ColorChoice = Literal["auto", "always", "never"]
_MAX_MESSAGE_CHARACTERS = 4_000  # characters of a message, which may quote the user's input
_MAX_ERRORS = 20  # errors of one kind that are printed one by one


class _Choices:
    """The values of ``--color`` and ``--quiet`` on this run's command line."""

    color: ColorChoice = "auto"
    quiet: bool = False


def choose_color(choice: ColorChoice) -> None:
    """Set ``--color`` for this run; ``auto`` depends on the environment and the stream."""
    _Choices.color = choice


def use_color(stream: TextIO) -> bool:
    """Return True if ``stream`` gets colour.

    ``--color`` counts first, then NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE or CLICOLOR, then the
    terminal. FORCE_COLOR=0 and CLICOLOR=0 switch it off.
    """
    variable = os.environ.get
    if _Choices.color != "auto":
        return _Choices.color == "always"
    if variable("NO_COLOR") or variable("FORCE_COLOR") == "0":
        return False
    if variable("FORCE_COLOR") or variable("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    if variable("CLICOLOR") == "0":
        return False
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def canvas(*, to_file: object = None, most: int | None = None, unlimited: int = 0) -> Canvas:
    """Describe standard output for a report: at most ``most`` columns and, outside a terminal, at
    least ``unlimited`` columns.

    With ``to_file`` the report goes to the file of ``--output-file``, which is UTF-8 and has no
    colour.
    """
    if to_file:
        return Canvas(max(100, unlimited))
    out = sys.stdout
    columns = width(out) if out.isatty() else max(unlimited, width(out))
    return Canvas(min(columns, most or columns), use_unicode(out), use_color(out))


def use_unicode(stream: TextIO) -> bool:
    """Return True if box-drawing characters, arrows and marks can be written to ``stream``, by its
    encoding alone.

    PYTHONIOENCODING, which names the encoding explicitly, overrides the locale.
    """
    if not (stream.encoding or "ascii").lower().replace("-", "").startswith("utf"):
        return False
    return bool(os.environ.get("PYTHONIOENCODING")) or not _c_locale()


def _c_locale() -> bool:
    """Return True if LC_ALL, LC_CTYPE or LANG, in this order, selects the C locale.

    In this locale, Python still writes UTF-8 (PEP 538 and 540), and sets LC_CTYPE to C.UTF-8 if
    only LANG is C.
    """
    kind = os.environ.get("LC_CTYPE", "")
    coerced = kind == "C.UTF-8" and os.environ.get("LANG") in ("C", "POSIX")
    return (os.environ.get("LC_ALL") or (not coerced and kind) or os.environ.get("LANG")) in (
        "C",
        "POSIX",
    )


def width(stream: TextIO, default: int = 100) -> int:
    """Count the columns of the terminal; ``default`` if ``stream`` is not one (COLUMNS wins)."""
    if not stream.isatty() and "COLUMNS" not in os.environ:
        return default

    return max(40, shutil.get_terminal_size((default, 24)).columns)


def height(stream: TextIO) -> int:
    """Count the lines of the terminal; 0 if ``stream`` is not one."""
    if not stream.isatty():
        return 0

    return shutil.get_terminal_size().lines


def prepare_streams() -> None:
    """Let characters that the locale cannot write degrade to escapes instead of ending in a
    traceback.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_utf8() -> None:
    """Make standard output UTF-8 in every locale, for formats that programs read.

    JSON must be UTF-8 (RFC 8259), XML and HTML declare it, and a patch has to match its file.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def paint(text: str, style: str, stream: TextIO) -> str:
    """Paint ``text`` in an ANSI style (``31``, ``1;31`` ...) if ``stream`` gets colour."""
    return f"\x1b[{style}m{text}\x1b[0m" if use_color(stream) else text


def print_error(message: str, *, hint: str | None = None) -> None:
    """Print an error with a hint on standard error."""
    _print_message("error:", "1;31", message)
    if hint:
        _print_message("hint:", "36", hint)


def print_unread(unread: Sequence[Skipped]) -> None:
    """Print an error for each file that cannot be read, up to the number that a screen has room
    for.
    """
    for item in unread[:_MAX_ERRORS]:
        print_error(f"{item.file}: {item.why}", hint=item.hint)
    if len(unread) > _MAX_ERRORS:
        print_error(f"{len(unread) - _MAX_ERRORS:,} more cannot be read")


def _print_message(label: str, style: str, message: str) -> None:
    if len(message) > _MAX_MESSAGE_CHARACTERS:
        message = f"{message[:_MAX_MESSAGE_CHARACTERS]}... ({len(message):,} characters)"
    first, *others = map(printable, message.split("\n"))
    lines = [f"{label} {first}", *others]
    if sys.stderr.isatty():  # elsewhere a message is one line, for grep
        lines = [part for line in lines for part in _fold(line, width(sys.stderr))]
    text = "\n".join(lines).removeprefix(label)
    try:
        print(f"{paint(label, style, sys.stderr)}{text}", file=sys.stderr, flush=True)
    except OSError:  # nobody reads standard error, and Python must not write to it again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


_HANGING = " " * 6
_COMMAND = (
    r"`[^`]*`|\b(?:dractl \S|ytt -|pip install|kustomize build|helm (?:dependency|pull|template)"
    r"|kubectl (?:annotate|api|apply|auth|config|cordon|create|delete|describe|dra|drain|edit|exec"
    r"|explain|get|label|logs|patch|replace|rollout|scale|taint|uncordon|version|wait))\b[^;]*"
)
"""Commands in a message: a line break in a command would be copied with it. `kubectl cannot reach
the cluster` is no command.
"""


def _fold(line: str, columns: int) -> list[str]:
    """Return lines of at most ``columns``, broken between words and not within commands."""
    return wrap(re.sub(_COMMAND, keep_together, line), columns, "  ")


def fold_report(text: str) -> str:
    """Fold the lines of a report to the width of the terminal. If the output is no terminal, each
    row of the report stays one line, for grep.
    """
    if not sys.stdout.isatty():
        return text
    columns = width(sys.stdout)
    return "\n".join(part for line in text.split("\n") for part in wrap(line, columns, _HANGING))


def warn(message: str) -> None:
    """Print a warning about the request on standard error, also with ``--quiet``."""
    _print_message("warning:", "33", message)


def notice(message: str) -> None:
    """Print a notice on standard error, unless with ``--quiet``."""
    if not _Choices.quiet:
        _print_message("note:", "36", message)


def add_aside(message: str) -> None:
    """Keep a notice about an answer, and print it once below the answer; after an error it is not
    printed.
    """
    _ASIDES[message] = None


def forget_asides() -> None:
    """Forget the notices of :func:`add_aside` when a run begins."""
    _ASIDES.clear()


def print_asides() -> None:
    """Print the notices of :func:`add_aside`."""
    for message in _ASIDES:
        notice(message)


_ASIDES: dict[str, None] = {}


class _Progress:
    """The line that shows the current step.

    A timer makes it appear once the run has taken a second in total, since a single step may take
    long. Later steps of such a run appear at once, unless they end within a tenth of a second.
    """

    def __init__(self) -> None:
        self.message = ""
        self.began: float | None = None
        self.timer: threading.Timer | None = None
        self.view: Progress | None = None

    def say(self, message: str) -> None:
        self.message = printable(message)
        if self.view is not None:
            self._update(self.view)
        elif self.timer is None:
            self.timer = threading.Timer(self._patience(), self._show)
            self.timer.daemon = True
            self.timer.start()

    def _patience(self) -> float:
        """Return the seconds until the line appears, less the time of earlier steps."""
        now = time.monotonic()
        if self.began is None:
            self.began = now
        return max(DELAY - (now - self.began), BLINK)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn
        from rich.table import Column

        console = Console(file=sys.stderr, no_color=not use_color(sys.stderr))
        console.width = max(console.width - 4, 1)  # the terminal echoes ^C behind the line
        cut = Column(no_wrap=True, overflow="crop", ratio=1)
        step = TextColumn("{task.description}", markup=False, table_column=cut)
        view = Progress(
            SpinnerColumn("line"),
            step,
            console=console,
            expand=True,
            transient=True,
            refresh_per_second=4,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        view.add_task(self.message)
        view.start()
        self.view = view
        self._update(view)  # the step may have changed by now

    def _update(self, view: Progress) -> None:
        view.update(view.task_ids[0], description=self.message)

    def end(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer.join()
            self.timer = None
        if self.view is not None:
            self.view.stop()
            self.view = None


DELAY = 1.0
"""The seconds of a run after which progress appears."""
BLINK = 0.1
"""Steps shorter than this many seconds are not shown, even in a long run."""
_PROGRESS = _Progress()


def renew_patience() -> None:
    """Restart the second until progress appears, since another run or another round of ``--watch``
    begins.
    """
    _PROGRESS.began = None


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows the current step, once the work has taken a second.

    The next step replaces it on its line of standard error, and the line disappears at the end of
    the block. The step is shown only on a terminal, cut to the terminal's width, and not with
    ``--quiet``.
    """
    try:
        yield _show_step
    finally:
        _PROGRESS.end()


def _show_step(message: str) -> None:
    if not _Choices.quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        _PROGRESS.say(message)


def be_quiet(quiet: bool) -> None:
    """Set ``--quiet`` for this run: no notices, no progress."""
    _Choices.quiet = quiet
