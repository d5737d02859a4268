"""Our own dataclasses as JSON: snake_case fields become camelCase keys."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_NONE: Mapping[str, str] = {}


def camel_case(name: str) -> str:
    """``numa_node`` as ``numaNode``."""
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def encode(
    value: Any,
    *,
    renamed: Mapping[str, str] = _NONE,
    always: Collection[str] = (),
    absent: Collection[object] = (None, ()),
) -> Any:
    """A dataclass, a tuple or list of them, or a scalar as JSON has it.

    Fields whose value is in ``absent`` are left out, except those named in ``always``. ``renamed`` maps fields to keys
    that are not their camelCase (``class`` is no name for a field).
    """
    if is_dataclass(value):
        found = ((f.name, getattr(value, f.name)) for f in fields(value))
        return {
            renamed.get(name) or camel_case(name): encode(item, renamed=renamed, always=always, absent=absent)
            for name, item in found
            if name in always or item not in absent
        }
    if isinstance(value, tuple | list):
        return [encode(item, renamed=renamed, always=always, absent=absent) for item in value]
    return value
