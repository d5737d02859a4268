"""The right name that a wrong one is nearest to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that differs least, if it differs little: case, plural, a letter or two."""
    from difflib import get_close_matches

    by_lower = {candidate.lower(): candidate for candidate in known}
    found = get_close_matches(name.lower()[:100], by_lower, n=1, cutoff=0.7)
    return by_lower[found[0]] if found else None
