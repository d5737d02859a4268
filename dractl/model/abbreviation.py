"""Lists of names in sentences: the first few names, and the number of the others."""

from collections.abc import Sequence


def join_names(names: Sequence[str], more: int = 0, noun: str = "") -> str:
    """Return ``a, b and 3 more``, or ``a, b and 3 more nodes`` with a noun in the plural."""
    number = f" and {more} more {noun}".rstrip() if more > 0 else ""
    return f"{', '.join(names)}{number}"


def abbreviate(names: Sequence[str], limit: int = 3, noun: str = "") -> str:
    """Return the first few of many names, and the number of the others."""
    return join_names(names[:limit], len(names) - limit, noun)
