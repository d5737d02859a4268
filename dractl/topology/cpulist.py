"""The kernel's list form of sets of CPUs and nodes: ``0-15,32-47``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LIMIT = 1 << 16
"""The highest CPU number that is believed (the kernel's own NR_CPUS limit is 8192): a hostile file cannot ask for more
memory.
"""


def parse(text: str) -> frozenset[int]:
    """The numbers of ``text``; raises ValueError for what is no such list."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        low, dash, high = part.strip().partition("-")
        first, last = int(low), int(high if dash else low)
        if not 0 <= first <= last < LIMIT:
            raise ValueError(f"no list of CPUs: {part[:40]!r}")
        found.update(range(first, last + 1))
    return frozenset(found)


def parse_mask(text: str) -> frozenset[int]:
    """The numbers of a hexadecimal mask such as ``00000000,0000ffff``; raises ValueError for what is none."""
    mask = int(text.strip().replace(",", "") or "0", 16)
    if mask >= 1 << LIMIT:
        raise ValueError("the mask of CPUs is too wide")
    return frozenset(i for i in range(mask.bit_length()) if mask >> i & 1)


def show(numbers: Iterable[int]) -> str:
    """The list form of ``numbers``."""
    ordered = sorted(set(numbers))
    runs: list[list[int]] = []
    for n in ordered:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
