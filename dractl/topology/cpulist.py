"""Sets of CPUs or NUMA nodes in the kernel's list form: ``0-15,32-47``."""

from collections.abc import Iterable

LIMIT = 1 << 16
"""CPU numbers from here on are refused, since a hostile file could otherwise use a lot of memory;
the kernel's NR_CPUS is at most 8192.
"""


def parse(text: str) -> frozenset[int]:
    """Return the numbers in ``text``; raises ValueError if it is not a list."""
    numbers: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        low, dash, high = part.strip().partition("-")
        first, last = int(low), int(high if dash else low)
        if not 0 <= first <= last < LIMIT:
            raise ValueError(f"not a list of CPUs: {part[:40]!r}")
        numbers.update(range(first, last + 1))
    return frozenset(numbers)


def parse_mask(text: str) -> frozenset[int]:
    """Return the numbers in a hexadecimal mask such as ``00000000,0000ffff``; raises ValueError if
    it is not a mask.
    """
    mask = int(text.strip().replace(",", "") or "0", 16)
    if mask >= 1 << LIMIT:
        raise ValueError("mask of CPUs is too wide")
    return frozenset(i for i in range(mask.bit_length()) if mask >> i & 1)


def show(numbers: Iterable[int]) -> str:
    """Return the list form of ``numbers``."""
    ordered = sorted(set(numbers))
    runs: list[list[int]] = []
    for n in ordered:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
