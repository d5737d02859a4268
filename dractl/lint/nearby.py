"""A budget for reading the files near the files that the user names, the nearest first."""

import os
import time
from collections.abc import Callable, Iterable

MAX_SCANNED_BYTES = 64 * 2**20
"""The number of bytes that are searched for the words of DRA; a MiB takes a fraction of a
millisecond.
"""
MAX_PARSED_BYTES = 1 * 2**20
"""The number of bytes of files with such words that are parsed; a MiB takes a quarter of a second.

Such a file is parsed twice: to learn its definitions, and to judge the named file. So a MiB takes
half a second in total.
"""
MAX_SECONDS = 0.25
"""Processor time of one step. Learning the definitions of files is a step, and loading some of
these files is another one.
"""


class Budget:
    """The bytes and the processor time that remain for one step."""

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self._end = clock() + MAX_SECONDS
        self._scanned = MAX_SCANNED_BYTES
        self._parsed = MAX_PARSED_BYTES

    def scan(self, size: int) -> bool:
        """Charge the bytes of a file that is searched; return False if the bytes or the time are
        used up.
        """
        if size > self._scanned or self._clock() > self._end:
            return False
        self._scanned -= size
        return True

    def parse(self, size: int) -> bool:
        """Charge the bytes of a file that is parsed; return False if the bytes or the time are used
        up.
        """
        if size > self._parsed or self._clock() > self._end:
            return False
        self._parsed -= size
        return True


def sort_by_distance(paths: Iterable[str], files: Iterable[str]) -> list[str]:
    """Sort absolute paths by the number of folders between each and the nearest of some files;
    equally near paths keep their order.
    """
    steps: dict[str, int] = {}
    for folder in {os.path.dirname(file) for file in files}:
        here, count = folder, 0
        while steps.get(here, count + 1) > count:
            steps[here] = count
            here, count = os.path.dirname(here), count + 1
    folders: dict[str, int] = {}

    def distance(path: str) -> int:
        folder = os.path.dirname(path)
        if folder not in folders:
            here, down = folder, 0
            while here not in steps and os.path.dirname(here) != here:
                here, down = os.path.dirname(here), down + 1
            folders[folder] = down + steps.get(here, 0)
        return folders[folder]

    return sorted(paths, key=distance)
