"""Values inside of values, by their paths."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def reader(kind: type[T], empty: Callable[[], T]) -> Callable[..., T]:
    """What takes a value and the steps of a path, and returns the value there; ``empty()`` where there is none of the
    type. A dump of 5,000 nodes is asked half a million times, so that no reader calls another one."""

    def found(value: Any, *path: str | int) -> T:
        for step in path:
            if isinstance(value, dict):
                value = value.get(step)
            elif isinstance(value, list) and isinstance(step, int) and step < len(value):
                value = value[step]
            else:
                return empty()
        return value if isinstance(value, kind) else empty()

    return found


at: Callable[..., Any] = reader(object, lambda: None)
"""The value at a path, or None where there is none."""
