"""Lists and maps with a bound: validateSlice, validateSet and validateMap of
pkg/apis/resource/validation.
"""

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from dractl.model.releases import Target
from dractl.validation.causes import as_declared, count_violation, duplicate
from dractl.validation.place import Place
from dractl.validation.violation import Violation


def check_list(
    rule: str,
    places: Place,
    limit: int | None,
    check: Callable[[Place], Iterator[Violation]],
    target: Target,
) -> Iterator[Violation]:
    """Yield the violations of a bounded list and its items. From 1.35 on, the items of a list that
    is too long are not checked. If ``limit`` is None, any number of items is allowed.
    """
    if limit is not None and places.size > limit:
        yield from as_declared(places, [count_violation(rule, places, limit)])
        if target.has("first-error-hides-the-rest"):
            return
    for item in places.items():
        yield from check(item)


def unique(
    rule: str,
    places: Place,
    key: Callable[[Place], Hashable],
    target: Target,
    *,
    name: str | None = None,
) -> Iterator[Violation]:
    """Yield a violation for each item with the same key as an earlier item. 1.34 reports it at the
    field ``name``, which contains the key; later releases report it at the item.
    """
    seen: set[Hashable] = set()
    for item in places.items():
        item_key = key(item)
        if item_key in seen:
            at = item if name is None or target.has("duplicates-at-the-item") else item.child(name)
            yield duplicate(rule, at, item_key)
        seen.add(item_key)


def check_set(
    rules: tuple[str, str],
    places: Place,
    limit: int | None,
    check: Callable[[Place], Iterator[Violation]],
    key: Callable[[Place], Hashable],
    target: Target,
    *,
    name: str | None = None,
) -> Iterator[Violation]:
    """Yield the violations of a bounded list without duplicates; ``rules`` has the ids for too many
    items and for duplicates.
    """
    yield from check_list(rules[0], places, limit, check, target)
    if limit is None or places.size <= limit or not target.has("first-error-hides-the-rest"):
        for violation in unique(rules[1], places, key, target, name=name):
            item = places.index(int(violation.path[len(places.path)]))
            yield from (
                as_declared(item, [violation])
                if target.has("declarative-validation")
                else [violation]
            )


def name_of(place: Place) -> str:
    """Return the item's ``name`` as the key."""
    return place.child("name").text


def text_of(place: Place) -> Any:
    """Return the item itself as the key."""
    return place.text
