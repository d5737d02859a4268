"""Finds the nearest known name for a wrong one."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

_MIN_EXCHANGED_LENGTH = 4
_MAX_COMPARED_LENGTH = (
    # Compared characters: the time is quadratic in their number, and a name may be a whole file
    100
)


def nearest(name: str, known: Iterable[str], alike: float = 0.7) -> str | None:
    """Return the most similar known name if it is similar enough: it may differ in case, in
    singular or plural, or in a letter or two.

    ``alike`` is the least similarity, from 0 (none) to 1 (equal except for case).
    """
    names = nearest_names(name, known, alike, 1)
    return names[0] if names else None


def nearest_names(name: str, known: Iterable[str], alike: float = 0.7, most: int = 3) -> list[str]:
    """Return the similar known names, the nearest first; at most ``most`` of them."""
    candidates = tuple(sorted(known, reverse=True))
    return list(_find_nearest(name.lower()[:_MAX_COMPARED_LENGTH], candidates, alike, most))


@lru_cache(256)  # a repository has the same mistake in many files
def _find_nearest(lower: str, candidates: tuple[str, ...], alike: float, most: int) -> list[str]:
    by_lower = {candidate.lower()[:_MAX_COMPARED_LENGTH]: candidate for candidate in candidates}
    exchanged = [other for other in by_lower if _is_exchanged(lower, other)]
    matches = [*exchanged, *get_close_matches(lower, by_lower, most, alike)]
    return [by_lower[match] for match in dict.fromkeys(matches)][:most]


def _is_exchanged(name: str, other: str) -> bool:
    """Return True for names that differ only in the order of two neighbouring letters: a single
    typing error, which lowers the similarity of short names a lot.
    """
    if len(name) != len(other) or len(name) < _MIN_EXCHANGED_LENGTH:
        return False
    places = [place for place, letter in enumerate(name) if letter != other[place]]
    if len(places) != 2 or places[1] != places[0] + 1:
        return False
    pair = name[places[0] : places[1] + 1]
    return pair.isalpha() and pair == other[places[0] : places[1] + 1][::-1]
