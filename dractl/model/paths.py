"""Reads and removes parts of a value by their paths."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Parsed = Mapping[str, Any] | Sequence[Any] | str | float | None
"""A value of a parsed document."""


class Getter(Protocol[T_co]):
    """Returns the part of a value at a path; an empty one if the part has another type."""

    def __call__(self, value: Parsed, /, *path: str | int) -> T_co: ...


def make_getter(kind: type[T], empty: Callable[[], T]) -> Getter[T]:
    """Make a getter that returns ``empty()`` for any other type.

    Getters are called half a million times for a dump of 5,000 nodes, so no getter calls another
    one.
    """

    def get(value: Any, /, *path: str | int) -> T:
        for step in path:
            if isinstance(value, dict):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return empty()
        return value if isinstance(value, kind) else empty()

    return get


at: Getter[Any] = make_getter(object, lambda: None)
"""The value at a path, or None if there is none."""

text_at: Getter[str] = make_getter(str, str)
"""The string at a path, or an empty one."""

map_at: Getter[Mapping[str, Any]] = make_getter(dict, dict)
"""The map at a path, or an empty one."""

list_at: Getter[list[Any]] = make_getter(list, list)
"""The list at a path, or an empty one."""


def maps_at(value: Parsed, /, *path: str | int) -> list[Mapping[str, Any]]:
    """Return the maps in the list at a path."""
    return [item for item in list_at(value, *path) if isinstance(item, dict)]


def remove_at(value: Any, path: Sequence[str | int]) -> Any:
    """Return a value without the part at a path; the other parts are shared with the original.

    If there is nothing at the path, the value itself is returned.
    """
    step, *below = path
    if isinstance(value, list):
        if not isinstance(step, int) or step >= len(value):
            return value
        kept = [remove_at(value[step], below)] if below else []
        return [*value[:step], *kept, *value[step + 1 :]]
    if not isinstance(value, dict) or step not in value:
        return value
    if below:
        return {**value, step: remove_at(value[step], below)}
    return {name: part for name, part in value.items() if name != step}


def integer_at(value: Parsed, /, *path: str | int) -> int | None:
    """Return the integer at a path, or None if there is none."""
    number = at(value, *path)
    return number if isinstance(number, int) and not isinstance(number, bool) else None
