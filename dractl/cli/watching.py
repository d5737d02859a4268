"""``dractl lint --watch``: waits for files to change."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Signature = dict[str, tuple[int, int]]

PAUSE = 0.5
_SKIPPED = (".git", ".venv", "node_modules", "__pycache__")


def signature(paths: Sequence[str]) -> Signature:
    """When each file was changed and how long it is; that of folders all below them. What is not there is left out."""
    found: Signature = {}
    for path in paths:
        if os.path.isdir(path):
            for folder, folders, files in os.walk(path):
                folders[:] = [name for name in folders if name not in _SKIPPED]
                for name in files:
                    _note(os.path.join(folder, name), found)
        else:
            _note(path, found)
    return found


def _note(path: str, found: Signature) -> None:
    try:
        status = os.stat(path)
    except OSError:
        return
    found[path] = (status.st_mtime_ns, status.st_size)


def changes(paths: Sequence[str], wait: Callable[[], None] = lambda: time.sleep(PAUSE)) -> Iterator[None]:
    """Once at the start, and whenever something of ``paths`` has changed; asked every half second."""
    last: Signature | None = None
    while True:
        now = signature(paths)
        if now != last:
            last = now
            yield
        wait()


def repeat(report: Callable[[], str], pause: float = 5.0) -> None:
    """Shows a report again whenever it differs from the last one, until interrupted: on a terminal in place, else one
    after the other."""
    import sys

    last: str | None = None
    live = sys.stdout.isatty()
    while True:
        text = report()
        if text != last:
            if live:
                sys.stdout.write("\x1b[H\x1b[2J")
            elif last is not None:
                sys.stdout.write("---\n")
            sys.stdout.write(text)
            sys.stdout.flush()
            last = text
        time.sleep(pause)
