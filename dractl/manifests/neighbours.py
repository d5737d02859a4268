"""Manifests of a linted file's repository that are not part of the run: a hook passes changed files only."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import TYPE_CHECKING

from dractl.manifests.files import MANIFEST_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MAX_SIZE = 1024 * 1024
_MAX_FILES = 5000
_PASSED_OVER = frozenset({".git", ".hg", ".svn", "node_modules"})


def defined_beside(path: str, kind: str, name: str, read: Iterable[str]) -> bool:
    """True if a manifest in the folder of ``path`` that is not among the files ``read`` seems to define an object.

    It is searched, not parsed: the question is only whether the object may exist.
    """
    return _defines(_in_folder(os.path.dirname(os.path.abspath(path))), kind, name, read)


def defined_around(path: str, kind: str, name: str, read: Iterable[str]) -> bool:
    """As :func:`defined_beside`, of the manifests of the repository of ``path``; of a file in none, of those below the
    working directory, or else in its folder."""
    return _defines(_around(os.path.abspath(path)), kind, name, read)


def _defines(files: Iterable[str], kind: str, name: str, read: Iterable[str]) -> bool:
    known = {os.path.abspath(file) for file in read}
    defined = re.compile(rb"""\bname["']?\s*:\s*["']?%s["'\s,}]""" % re.escape(name.encode()))
    others = islice((file for file in files if file not in known), _MAX_FILES)
    return any(kind.encode() in data and defined.search(data + b"\n") for data in map(_start, others))


def _around(path: str) -> Iterator[str]:
    """The manifests in a file's folder, then the others of its repository."""
    folder = os.path.dirname(path)
    yield from _in_folder(folder)
    for below, folders, _ in os.walk(_top(folder)):
        folders[:] = sorted(name for name in folders if name not in _PASSED_OVER)
        if below != folder:
            yield from _in_folder(below)


def _top(folder: str) -> str:
    top = folder
    while not os.path.exists(os.path.join(top, ".git")):
        parent = os.path.dirname(top)
        if parent == top:
            here = os.getcwd()
            return here if folder.startswith(os.path.join(here, "")) else folder
        top = parent
    return top


def _in_folder(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as listing:
            return sorted(entry.path for entry in listing if entry.name.endswith(MANIFEST_SUFFIXES) and entry.is_file())
    except OSError:
        return []  # standard input, or part of an archive


def manifests_in(folder: str) -> list[tuple[str, int, int]]:
    """The state of the manifests in a folder: names, times in nanoseconds, and sizes in bytes."""
    try:
        with os.scandir(folder) as listing:
            found = [(entry.name, entry.stat()) for entry in listing if entry.name.endswith(MANIFEST_SUFFIXES)]
    except OSError:
        return []
    return sorted((name, status.st_mtime_ns, status.st_size) for name, status in found)


def _start(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_SIZE)
    except OSError:
        return b""
