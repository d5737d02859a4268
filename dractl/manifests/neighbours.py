"""Manifests of a linted file's repository that are not part of the run: a hook passes changed files only."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from dractl.manifests.documents import Broken
from dractl.manifests.files import MANIFEST_SUFFIXES
from dractl.manifests.kustomize import is_kustomization
from dractl.manifests.load import NAMESPACE, read_text
from dractl.manifests.text import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dractl.manifests.documents import Document

_MAX_SIZE = 1024 * 1024
_MAX_FILES = 50_000
_PASSED_OVER = frozenset({".git", ".hg", ".svn", "node_modules"})


def defined_beside(path: str, kind: str, name: str, namespace: str, read: Iterable[str]) -> bool:
    """True if a manifest in the folder of ``path`` that is not among the files ``read`` defines an object, or is a
    template that may: it does not parse. An object that names no namespace may be meant for any; so may the user
    of an object with ``namespace`` empty."""
    return _defined(_in_folder(os.path.dirname(os.path.abspath(path))), kind, name, namespace, read)


def defined_around(path: str, kind: str, name: str, namespace: str, read: Iterable[str]) -> bool:
    """As :func:`defined_beside`, of the manifests of the repository of ``path``; of a file in none, of those below the
    working directory, or else in its folder."""
    return _defined(_around(os.path.abspath(path)), kind, name, namespace, read)


def namespaces_around(path: str, read: Iterable[str], examined: int) -> Iterator[Document]:
    """The documents of the files with a Namespace and of the kustomizations in the repository of ``path``, but for the
    files ``read``; none if a run ``examined`` as many files as there are."""
    files = list(islice(_around(os.path.abspath(path)), _MAX_FILES))
    if len(files) <= examined:
        return
    for file in _others(files, read):
        data = _start(file)
        if is_kustomization(file) or re.search(NAMESPACE, data):
            yield from (item for item in _documents(file, data) if not isinstance(item, Broken))


def _defined(files: Iterable[str], kind: str, name: str, namespace: str, read: Iterable[str]) -> bool:
    for file in islice(_others(files, read), _MAX_FILES):
        data = _start(file)
        if kind.encode() in data and name.encode() in data:
            for item in _documents(file, data):
                if isinstance(item, Broken) or _holds(item.value, kind, name, namespace):
                    return True
    return False


def _others(files: Iterable[str], read: Iterable[str]) -> Iterator[str]:
    known = {os.path.abspath(file) for file in read}
    return (file for file in files if file not in known)


def _documents(file: str, data: bytes) -> list[Document | Broken]:
    found = read_text(file, decode(data))
    return [item for item in found if isinstance(item, Broken) or isinstance(item.value, dict)]


def _holds(value: Any, kind: str, name: str, namespace: str) -> bool:
    """True if a document is an object, or has it within: a List, the values of a chart."""
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            metadata = node.get("metadata")
            if node.get("kind") == kind and isinstance(metadata, dict) and metadata.get("name") == name:
                there = metadata.get("namespace") or ""
                if kind == "DeviceClass" or not there or not namespace or there == namespace:
                    return True
            stack.extend(node.values())
        elif isinstance(node, list):
            stack.extend(node)
    return False


def _around(path: str) -> Iterator[str]:
    """The manifests in a file's folder, then the others of its repository."""
    folder = os.path.dirname(path)
    yield from _in_folder(folder)
    for below, folders, _ in os.walk(repository(folder)):
        folders[:] = sorted(name for name in folders if name not in _PASSED_OVER)
        if below != folder:
            yield from _in_folder(below)


def repository(folder: str) -> str:
    """The top of the repository of a folder; of one in none, the working directory if that is above, else itself."""
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
