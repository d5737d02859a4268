"""Go types that the API server decodes JSON into, reduced to the parts that decide whether a value
decodes.

A shape traverses a value as ``sigs.k8s.io/json`` does with strict fields: names are case-sensitive,
``null`` means "not set", and a wrong type does not end the traversal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from dractl.validation.violation import Path

Steps = list[str | int]
Shape: TypeAlias = "Record | List | Map | Scalar"
"""A Go type. ``go`` is its name in the decoder's messages; ``plain`` is the Python type whose
values always fit, if there is one.
"""


class Mismatch(Struct, frozen=True):
    """A value that does not decode: ``value`` at ``path`` does not fit ``shape``."""

    path: Path
    shape: Shape
    value: Any
    text: str | None = None
    """The error of the shape's own decoder; None if Go's usual message applies."""
    unknown: bool = False
    """True if the struct ``shape`` has no field with the name at the end of ``path``."""


class Record:
    """A struct; its fields are resolved when a document uses them."""

    __slots__ = ("_compile", "_fields", "go", "names", "plain")

    def __init__(
        self, go: str, names: Mapping[str, Any], compile_field: Callable[[str], Shape]
    ) -> None:
        self.go = go
        self.plain: type | None = None
        self.names = names
        self._compile = compile_field
        self._fields: dict[str, Shape] = {}

    def field(self, name: str) -> Shape | None:
        shape = self._fields.get(name)
        if shape is None and name in self.names:
            shape = self._fields[name] = self._compile(name)
        return shape

    def go_embedding(self, name: str) -> list[str]:
        """Return a list with the embedded struct that declares a field; the list is empty if the
        decoder's messages do not name such a struct.
        """
        name_of_struct = self.names.get(name, {}).get("x-go-embedded")
        return [name_of_struct] if name_of_struct else []

    def walk(self, value: Any, path: Steps, misfits: list[Mismatch]) -> None:
        if type(value) is not dict:
            misfits.append(Mismatch(tuple(path), self, value))
            return
        fields = self._fields
        for name, item in value.items():
            shape = fields.get(name) or self.field(name)
            if shape is None:
                misfits.append(Mismatch((*path, name), self, item, unknown=True))
            elif item is not None and type(item) is not shape.plain:
                path.append(name)
                shape.walk(item, path, misfits)
                path.pop()


class List:
    """A slice."""

    __slots__ = ("go", "item", "plain")

    def __init__(self, item: Shape) -> None:
        self.go: str = f"[]{item.go}"
        self.plain: type | None = None
        self.item = item

    def walk(self, value: Any, path: Steps, misfits: list[Mismatch]) -> None:
        if type(value) is not list:
            misfits.append(Mismatch(tuple(path), self, value))
            return
        shape = self.item
        for index, item in enumerate(value):
            if item is not None and type(item) is not shape.plain:
                path.append(index)
                shape.walk(item, path, misfits)
                path.pop()


class Map:
    """A map. All keys of JSON are strings, so the type of the keys affects only ``go``."""

    __slots__ = ("go", "item", "plain")

    def __init__(self, item: Shape, go: str) -> None:
        self.go = go
        self.plain: type | None = None
        self.item = item

    def walk(self, value: Any, path: Steps, misfits: list[Mismatch]) -> None:
        if type(value) is not dict:
            misfits.append(Mismatch(tuple(path), self, value))
            return
        shape = self.item
        for key, item in value.items():
            if item is not None and type(item) is not shape.plain:
                path.append(key)
                shape.walk(item, path, misfits)
                path.pop()


class Scalar:
    """A string, number, boolean, or a type with its own decoder.

    ``error`` returns None for a value that fits, and the text of the type's own decoder for others.
    The text is "" if Go's usual message applies, which names both types.
    """

    __slots__ = ("_error", "go", "plain")

    def __init__(
        self, go: str, error: Callable[[Any], str | None], plain: type | None = None
    ) -> None:
        self.go = go
        self.plain = plain
        self._error = error

    def walk(self, value: Any, path: Steps, misfits: list[Mismatch]) -> None:
        text = self._error(value)
        if text is not None:
            misfits.append(Mismatch(tuple(path), self, value, text or None))
