"""The types of the API: the annotation of each field determines how the field is decoded."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Self, get_args, get_type_hints

from msgspec import Struct

from dractl.model.quantity import Quantity
from dractl.model.reader import Reader

_READ: dict[Any, Callable[[Reader, str], Any]] = {
    Any: Reader.raw,
    str: Reader.text,
    str | None: Reader.optional_text,
    bool: lambda r, key: bool(r.boolean(key)),
    bool | None: Reader.boolean,
    int: lambda r, key: r.integer(key) or 0,
    int | None: Reader.integer,
    Quantity: lambda r, key: r.quantity(key) or Quantity(),
    Quantity | None: Reader.quantity,
    tuple[str, ...]: Reader.texts,
    tuple[Quantity, ...]: Reader.quantity_list,
    Mapping[str, str]: Reader.text_map,
    Mapping[str, Quantity]: Reader.quantities,
    Mapping[str, Quantity] | None: lambda r, key: r.quantities(key) if r.has(key) else None,
    Mapping[str, Any] | None: Reader.raw_map,
}


class APIType(Struct, frozen=True):
    """A type of the API. Its fields have the names of Go's fields in snake_case: ``share_id`` is
    ``shareID``.

    If a field is absent, it is "" or 0 for a plain type of Go, and None for a pointer.
    """

    @classmethod
    def read(cls, r: Reader) -> Self:
        """Return the value at ``r``; DecodeError if a field has another type."""
        return cls(*[read(r, *place) for _, read, place in _fields(cls)])

    @classmethod
    def read_with(cls, r: Reader, **given: Any) -> Self:
        """Return the value like :meth:`read`, but take the given fields as they are instead of
        reading them by name.
        """
        return cls(
            *[
                given[name] if name in given else read(r, *place)
                for name, read, place in _fields(cls)
            ]
        )


@cache
def _fields(cls: type[APIType]) -> list[tuple[str, Callable[..., Any], tuple[Any, ...]]]:
    return [(name, *_reading(_key(name), kind)) for name, kind in get_type_hints(cls).items()]


def _key(name: str) -> str:
    head, *further = name.split("_")
    return head + "".join("ID" if part == "id" else part.capitalize() for part in further)


def _reading(key: str, kind: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    if kind in _READ:
        return _READ[kind], (key,)
    inner, *others = get_args(kind) or (kind,)
    if others == [...]:
        return Reader.items_of, (key, inner.read)
    return Reader.optional if others else Reader.part, (key, inner.read)
