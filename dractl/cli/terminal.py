"""What the terminal is and what may be written to it: colour, width, messages on standard error."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Literal, TextIO

from dractl.report.plain import printable

if TYPE_CHECKING:
    import threading

ColorChoice = Literal["auto", "always", "never"]


class _Choices:
    """What ``--color`` and ``--quiet`` said on this run's command line."""

    color: ColorChoice = "auto"
    quiet: bool = False


def choose_color(choice: ColorChoice) -> None:
    """``--color`` of this run; ``auto`` asks the environment and the stream."""
    _Choices.color = choice


def use_color(stream: TextIO) -> bool:
    """Whether ``stream`` gets colour: ``--color``, then NO_COLOR, FORCE_COLOR or CLICOLOR_FORCE, then the terminal."""
    if _Choices.color != "auto":
        return _Choices.color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR") or os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def use_unicode(stream: TextIO, *, piped: bool = True) -> bool:
    """Whether box-drawing characters, arrows and marks can be written to ``stream``; with ``piped`` also where it is
    no terminal. PYTHONIOENCODING, which names the encoding outright, wins over the locale and the kind of stream."""
    if not (stream.encoding or "ascii").lower().replace("-", "").startswith("utf"):
        return False
    return bool(os.environ.get("PYTHONIOENCODING")) or (not _c_locale() and (piped or stream.isatty()))


def _c_locale() -> bool:
    """Whether LC_ALL, LC_CTYPE or LANG, in this order, asks for the C locale. Python writes UTF-8 there all the same
    (PEP 538 and 540), and sets LC_CTYPE to C.UTF-8 where only LANG says C."""
    kind = os.environ.get("LC_CTYPE", "")
    coerced = kind == "C.UTF-8" and os.environ.get("LANG") in ("C", "POSIX")
    return (os.environ.get("LC_ALL") or (not coerced and kind) or os.environ.get("LANG")) in ("C", "POSIX")


def width(stream: TextIO, default: int = 100) -> int:
    """Columns of the terminal, or ``default`` where ``stream`` is none (COLUMNS wins)."""
    if not stream.isatty() and "COLUMNS" not in os.environ:
        return default
    import shutil

    return max(40, shutil.get_terminal_size((default, 24)).columns)


def prepare_streams() -> None:
    """Lets characters that the locale cannot write degrade to escapes instead of ending in a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def write_utf8() -> None:
    """Makes standard output UTF-8 in every locale, for what programs read: JSON must be (RFC 8259), XML and HTML say
    that they are, and a patch has to match its file.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def paint(text: str, style: str, stream: TextIO) -> str:
    """``text`` in an ANSI style (``31``, ``1;31`` ...) where ``stream`` takes colour."""
    return f"\x1b[{style}m{text}\x1b[0m" if use_color(stream) else text


def complain(message: str, *, hint: str | None = None) -> None:
    """An error on standard error, with what to do about it."""
    _say("error:", "1;31", message)
    if hint:
        _say("hint:", "36", hint)


def _say(label: str, style: str, message: str) -> None:
    lines = "\n".join(map(printable, message.split("\n")))
    try:
        print(f"{paint(label, style, sys.stderr)} {lines}", file=sys.stderr, flush=True)
    except OSError:  # a full disk, a closed terminal: there is nobody to tell, and Python is not to try again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def notice(message: str) -> None:
    """Something worth knowing that is no error, on standard error; silent with ``--quiet``."""
    if not _Choices.quiet:
        _say("note:", "36", message)


class _Progress:
    """The line that says what is being done now. It appears when that has taken a second in all, by a timer: the step
    that takes long may be a single one."""

    def __init__(self) -> None:
        self.message = ""
        self.shown = False
        self.timer: threading.Timer | None = None

    def say(self, message: str) -> None:
        import threading

        self.message = message
        if not message:
            self._end()
        elif self.shown:
            self._print()
        elif self.timer is None:
            self.timer = threading.Timer(DELAY, self._print)
            self.timer.daemon = True
            self.timer.start()

    def _end(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer.join()
            self.timer = None
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self.shown = False

    def _print(self) -> None:
        line = printable(self.message)[: max(_columns(sys.stderr) - 1, 1)]
        if line:
            self.shown = True
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


DELAY = 1.0
"""Seconds after which progress appears."""
_PROGRESS = _Progress()


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def progress(message: str) -> None:
    """What is being done now, on a line of standard error that the next one replaces, from a second on; an empty
    message removes it. Only on a terminal, cut to its width, and not with ``--quiet``."""
    if not _Choices.quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        _PROGRESS.say(message)


def be_quiet(quiet: bool) -> None:
    """``--quiet``: no notices, no progress."""
    _Choices.quiet = quiet
