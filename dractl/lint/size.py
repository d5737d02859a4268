"""The estimated cost of linting files, before they are read."""

from collections.abc import Sequence

from dractl.manifests import Skipped
from dractl.manifests.files import Entry
from dractl.manifests.naming import parent_of
from dractl.manifests.templates import chart_of

_FILE_COST = 4096
"""The number of bytes whose linting takes as long as opening a file."""
REPAYS_A_PROCESS = 512 * 1024
"""The number of bytes from which another process saves time."""


def is_large(entries: Sequence[Entry | Skipped]) -> bool:
    """Return True if several processes, or the report of an earlier run, may save time. Return
    False if a chart may have to be rendered, since rendering is done once for all of its files and
    depends on further files.
    """
    if sum(map(size, entries)) < 2 * REPAYS_A_PROCESS:
        return False
    folders = {parent_of(item.path): item.path for item in entries if isinstance(item, Entry)}
    return not any(map(chart_of, folders.values()))


def size(item: Entry | Skipped) -> int:
    """Return the estimated cost of a file, in bytes."""
    return _FILE_COST + (item.status.st_size if isinstance(item, Entry) and item.status else 0)
