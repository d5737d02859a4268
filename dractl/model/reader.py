"""Reads the values of a JSON-like mapping as the Go types into which the API decodes them.

The reader is as lenient as Go's encoding/json: unknown fields are ignored, null counts as absent, a
null list item as an empty one, and a float without a fraction as an integer. Any other mismatch is
a :class:`DecodeError` with its path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

from dractl.errors import InputError
from dractl.model.quantity import Quantity
from dractl.program import program_name

Path = tuple[str | int, ...]
T = TypeVar("T")


class Origin(str):
    """The object at which a path begins, and its file."""

    __slots__ = ()


class DecodeError(InputError):
    """A value that does not fit its place in the API."""

    def __init__(self, path: Path, message: str) -> None:
        origin = [step for step in path[:1] if isinstance(step, Origin)]
        steps = path[len(origin) :]
        field = "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps
        ).lstrip(".")
        place = ": ".join(filter(None, (*origin, field)))
        super().__init__(
            message, place=place or None, hint=f"{program_name()} lint says what is allowed there"
        )


def _word(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "a map"
        case _:
            return "a list"


class Reader:
    """A mapping in an object, and its path; for a mapping in a list, the path of the list and the
    ``index``.
    """

    __slots__ = ("above", "index", "mapping")

    def __init__(self, value: object, path: Path = (), index: int | None = None) -> None:
        self.above = path
        self.index = index
        if value is None:
            value = {}
        # dict first: a check against an abstract class takes five times as long
        if not isinstance(value, (dict, Mapping)):
            raise DecodeError(self.path, f"must be a map, not {_word(value)}")
        self.mapping: Mapping[str, Any] = value

    @property
    def path(self) -> Path:
        return self.above if self.index is None else (*self.above, self.index)

    def _wrong(self, name: str, expected: str, value: object) -> DecodeError:
        return DecodeError((*self.path, name), f"must be {expected}, not {_word(value)}")

    def optional_text(self, name: str) -> str | None:
        value = self.mapping.get(name)
        if value is None or isinstance(value, str):
            return value
        raise self._wrong(name, "a string", value)

    def text(self, name: str) -> str:
        """Return the string, or "" if absent."""
        return self.optional_text(name) or ""

    def boolean(self, name: str) -> bool | None:
        value = self.mapping.get(name)
        if value is None or isinstance(value, bool):
            return value
        raise self._wrong(name, "true or false", value)

    def integer(self, name: str) -> int | None:
        value = self.mapping.get(name)
        return None if value is None else _integer(value, (*self.path, name))

    def quantity(self, name: str) -> Quantity | None:
        value = self.mapping.get(name)
        return None if value is None else _quantity(value, (*self.path, name))

    def quantities(self, name: str) -> Mapping[str, Quantity]:
        path = (*self.path, name)
        return {key: _quantity(value, (*path, key)) for key, value in self._map(name).items()}

    def quantity_list(self, name: str) -> tuple[Quantity, ...]:
        path = (*self.path, name)
        return tuple(
            _quantity(value, (*path, index)) for index, value in enumerate(self.raw_list(name))
        )

    def integers(self, name: str) -> tuple[int, ...]:
        path = (*self.path, name)
        return tuple(
            _integer(value or 0, (*path, index)) for index, value in enumerate(self.raw_list(name))
        )

    def booleans(self, name: str) -> tuple[bool, ...]:
        return tuple(self._items(name, bool, "true or false", False))

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(self._items(name, str, "a string", ""))

    def text_map(self, name: str) -> Mapping[str, str]:
        texts = self._map(name)
        for key, value in texts.items():
            if value is not None and not isinstance(value, str):
                raise DecodeError((*self.path, name, key), f"must be a string, not {_word(value)}")
        return {key: value or "" for key, value in texts.items()}

    def raw(self, name: str) -> Any:
        """Return the value as it is; None if absent."""
        return self.mapping.get(name)

    def raw_map(self, name: str) -> Mapping[str, Any] | None:
        """Return the mapping as it is; None if absent."""
        return None if self.mapping.get(name) is None else self._map(name)

    def raw_list(self, name: str) -> Sequence[Any]:
        """Return the list as it is; empty if absent."""
        value = self.mapping.get(name)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            raise self._wrong(name, "a list", value)
        return value

    def has(self, name: str) -> bool:
        return self.mapping.get(name) is not None

    def child(self, name: str) -> Reader:
        """Return the mapping at ``name``, empty if absent."""
        return Reader(self.mapping.get(name), (*self.path, name))

    def optional(self, name: str, read: Callable[[Reader], T]) -> T | None:
        """Return the result of ``read`` for the mapping at ``name``; None if absent."""
        return read(self.child(name)) if self.has(name) else None

    def part(self, name: str, read: Callable[[Reader], T]) -> T:
        """Return the result of ``read`` for the mapping at ``name``, empty if absent."""
        return read(self.child(name))

    def items_of(self, name: str, read: Callable[[Reader], T]) -> tuple[T, ...]:
        """Return the results of ``read`` for every item of the list at ``name``."""
        listed, path = self.raw_list(name), (*self.path, name)
        return (
            tuple([read(Reader(value, path, index)) for index, value in enumerate(listed)])
            if listed
            else ()
        )

    def lazy(self, name: str, read: Callable[[Reader], T]) -> LazyMap[T]:
        """Return the map at ``name``, whose values ``read`` converts on first use."""
        return LazyMap(self._map(name), (*self.path, name), read)

    def _map(self, name: str) -> Mapping[str, Any]:
        value = self.mapping.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self._wrong(name, "a map", value)
        return value

    def _items(self, name: str, kind: type[T], expected: str, default: T) -> Iterator[T]:
        for index, value in enumerate(self.raw_list(name)):
            if value is None:
                yield default
            elif isinstance(value, kind):
                yield value
            else:
                raise DecodeError(
                    (*self.path, name, index), f"must be {expected}, not {_word(value)}"
                )


class LazyMap(Mapping[str, T], Generic[T]):
    """A map whose values are converted when they are first read."""

    __slots__ = ("_done", "_path", "_read", "mapping")

    def __init__(self, mapping: Mapping[str, Any], path: Path, read: Callable[[Reader], T]) -> None:
        self.mapping = mapping
        self._path = path
        self._read = read
        self._done: dict[str, T] = {}

    def __getitem__(self, key: str) -> T:
        value = self._done.get(key)
        if value is None:
            value = self._done[key] = self._read(Reader(self.mapping[key], (*self._path, key)))
        return value

    def __contains__(self, key: object) -> bool:
        return key in self.mapping

    def __iter__(self) -> Iterator[str]:
        return iter(self.mapping)

    def __len__(self) -> int:
        return len(self.mapping)

    def __repr__(self) -> str:
        return f"LazyMap({dict(self)!r})"


def _integer(value: object, path: Path) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise DecodeError(
            path,
            f"must be a whole number, not {value if isinstance(value, float) else _word(value)}",
        )
    if not -(1 << 63) <= value < 1 << 63:
        raise DecodeError(path, "must be a number of 64 bits")
    return value


def _quantity(value: object, path: Path) -> Quantity:
    if value is None:
        return Quantity()
    if not isinstance(value, str | int | float):
        raise DecodeError(path, f"must be a quantity, not {_word(value)}")
    try:
        return Quantity.parse(value)
    except ValueError as error:
        raise DecodeError(path, f"{value!r}: {error}") from None
