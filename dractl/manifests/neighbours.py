"""Manifests in the folder of a linted file that are not part of the run: a hook passes changed files only."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from dractl.manifests.files import MANIFEST_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_SIZE = 1024 * 1024


def defined_beside(path: str, kind: str, name: str, read: Iterable[str]) -> bool:
    """True if a manifest in the folder of ``path`` that is not among the files ``read`` seems to define an object.

    It is searched, not parsed: the question is only whether the object may exist.
    """
    known = {os.path.abspath(file) for file in read}
    folder = os.path.dirname(os.path.abspath(path))
    defined = re.compile(rb"""\bname["']?\s*:\s*["']?%s["'\s,}]""" % re.escape(name.encode()))
    try:
        with os.scandir(folder) as listing:
            others = [
                entry.path
                for entry in listing
                if entry.name.endswith(MANIFEST_SUFFIXES) and entry.path not in known and entry.is_file()
            ]
    except OSError:
        return False  # standard input, or part of an archive
    return any(kind.encode() in data and defined.search(data + b"\n") for data in map(_start, others))


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
