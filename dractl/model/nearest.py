"""Finds the nearest known name for a wrong one."""

from collections.abc import Iterable
from difflib import get_close_matches

_MAX_COMPARED_LENGTH = (
    100  # compared characters: the time grows with their square, and a name may be a whole file
)


def nearest(name: str, known: Iterable[str], alike: float = 0.7) -> str | None:
    """Return the most similar known name, if it is similar enough: case, plural, a letter or two.

    ``alike`` is the least similarity, from 0 (none) to 1 (equal but for case).
    """
    names = nearest_names(name, known, alike, 1)
    return names[0] if names else None


def nearest_names(name: str, known: Iterable[str], alike: float = 0.7, most: int = 3) -> list[str]:
    """Return the similar known names, the nearest first; at most ``most`` of them."""
    by_lower = {
        candidate.lower()[:_MAX_COMPARED_LENGTH]: candidate
        for candidate in sorted(known, reverse=True)
    }
    if not by_lower:
        return []
    return [
        by_lower[match]
        for match in get_close_matches(name.lower()[:_MAX_COMPARED_LENGTH], by_lower, most, alike)
    ]
