"""The right name that a wrong one is nearest to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST = 100  # characters that are compared: the time grows with their square, and a name may be a whole file


def nearest(name: str, known: Iterable[str], alike: float = 0.7) -> str | None:
    """The known name that differs least, if it differs little: case, plural, a letter or two.

    ``alike`` is how much they must share at least, from 0 (nothing) to 1 (all but case).
    """
    found = nearest_names(name, known, alike, 1)
    return found[0] if found else None


def nearest_names(name: str, known: Iterable[str], alike: float = 0.7, most: int = 3) -> list[str]:
    """The known names that differ little, the nearest first; ``most`` of them."""
    by_lower = {candidate.lower()[:_LONGEST]: candidate for candidate in sorted(known, reverse=True)}
    if not by_lower:
        return []
    from difflib import get_close_matches

    return [by_lower[found] for found in get_close_matches(name.lower()[:_LONGEST], by_lower, most, alike)]
