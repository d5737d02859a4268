"""The one name that a file has in every output."""

import os
from collections.abc import Iterable


def display_path(path: str) -> str:
    """Return the path of a file from the working directory, without ``./``; the absolute path if
    the two have only the root of the file system in common.
    """
    if _is_plain(path):
        return path
    try:
        near = os.path.relpath(path)
    except ValueError:  # on another drive
        return os.path.abspath(path)
    if not near.startswith(os.pardir):
        return near
    here, absolute = os.getcwd(), os.path.abspath(path)
    common = os.path.commonpath([here, absolute])
    return absolute if common == os.path.dirname(common) else near


def parent_of(path: str) -> str:
    """Return the part of a path up to its last separator, which is equal for files of one folder.

    os.path.dirname takes three times as long, and there may be 50,000 files.
    """
    return path[: path.rfind(os.sep) + 1]


def name_paths(paths: Iterable[str]) -> list[str]:
    """Return the names of paths of the command line, where ``-`` is standard input."""
    return [path if path == "-" else display_path(path) for path in paths]


def _is_plain(path: str) -> bool:
    """Return True for a path that can be named without knowing the working directory."""
    return (
        bool(path)
        and not path.startswith((".", "/"))
        and os.path.normpath(path) == path
        and not os.path.isabs(path)
    )
