"""Values inside of values, by their paths."""

from typing import Any


def at(value: Any, *path: str | int) -> Any:
    """The value at ``path``, or None where there is none."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value
