"""The estimated cost of linting files, before they are read."""

import os
from collections.abc import Sequence

from dractl.manifests import Skipped
from dractl.manifests.files import Entry
from dractl.manifests.templates import chart_of

_FILE_COST = 4096
"""Bytes that take as long to lint as a file to open."""
REPAYS_A_PROCESS = 512 * 1024
"""Bytes that repay another process."""


def is_large(entries: Sequence[Entry | Skipped]) -> bool:
    """Return True if several processes or a report of an earlier run may be quicker than to lint.
    Return False where a chart may have to be rendered: this is done once for all of its files, and
    depends on further ones.
    """
    if sum(map(size, entries)) < 2 * REPAYS_A_PROCESS:
        return False
    folders = {os.path.dirname(item.path): item.path for item in entries if isinstance(item, Entry)}
    return not any(map(chart_of, folders.values()))


def size(item: Entry | Skipped) -> int:
    """Return the estimated cost of a file, in bytes."""
    return _FILE_COST + (item.status.st_size if isinstance(item, Entry) and item.status else 0)
