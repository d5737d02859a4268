"""Our own values as JSON: snake_case fields become camelCase keys."""

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct

_NONE: Mapping[str, str] = {}


def camel_case(name: str) -> str:
    """Return a name in camelCase: ``numaNode`` for ``numa_node``."""
    head, *further = name.split("_")
    return head + "".join(part.capitalize() for part in further)


def encode(
    value: Any,
    *,
    renamed: Mapping[str, str] = _NONE,
    always: Collection[str] = (),
    absent: Collection[object] = (None, ()),
) -> Any:
    """Return a Struct, a tuple or list of them, or a scalar, as JSON.

    Fields whose value is in ``absent`` are left out, except the fields named in ``always``.
    ``renamed`` maps fields to keys that are not their camelCase (``class`` is not a valid field
    name).
    """
    if isinstance(value, Struct):
        fields = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return {
            renamed.get(name) or camel_case(name): encode(
                item, renamed=renamed, always=always, absent=absent
            )
            for name, item in fields
            if name in always or item not in absent
        }
    if isinstance(value, tuple | list):
        return [encode(item, renamed=renamed, always=always, absent=absent) for item in value]
    return value
