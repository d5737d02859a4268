"""The order in which people expect names: node-2 before node-10."""

import re

_NUMBER = re.compile(r"(\d+)")


def natural(text: str) -> tuple[tuple[bool, int, str], ...]:
    """Return a key to sort by: runs of digits count as numbers."""
    parts = _NUMBER.split(text[:1000])
    return tuple(
        (part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts if part
    )
