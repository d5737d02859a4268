"""The Go types that the API server decodes JSON into, as far as they decide what decodes.

A shape walks over a value as ``sigs.k8s.io/json`` does with strict fields: names are case-sensitive, ``null`` means
"not set", a wrong type is noted and the walk goes on beside it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dractl.validation.violation import Path

Steps = list[str | int]
Shape: TypeAlias = "Struct | List | Map | Scalar"
"""A Go type. ``go`` is its name in the decoder's messages; ``plain`` the Python type that always fits, if any."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """One value that does not decode: at ``path``, ``shape`` met ``value``; ``text`` is what its own decoder says.

    ``unknown``: the struct ``shape`` has no field of the name that ends ``path``.
    """

    path: Path
    shape: Shape
    value: Any
    text: str | None = None
    unknown: bool = False


class Struct:
    """A struct; its fields are put together when a document has them."""

    __slots__ = ("_compile", "_fields", "go", "names", "plain")

    def __init__(self, go: str, names: Mapping[str, Any], compile_field: Callable[[str], Shape]) -> None:
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

    def walk(self, value: Any, path: Steps, found: list[Misfit]) -> None:
        if type(value) is not dict:
            found.append(Misfit(tuple(path), self, value))
            return
        for name, item in value.items():
            shape = self._fields.get(name) or self.field(name)
            if shape is None:
                found.append(Misfit((*path, name), self, item, unknown=True))
            elif item is not None and type(item) is not shape.plain:
                path.append(name)
                shape.walk(item, path, found)
                path.pop()


class List:
    """A slice."""

    __slots__ = ("go", "item", "plain")

    def __init__(self, item: Shape) -> None:
        self.go: str = f"[]{item.go}"
        self.plain: type | None = None
        self.item = item

    def walk(self, value: Any, path: Steps, found: list[Misfit]) -> None:
        if type(value) is not list:
            found.append(Misfit(tuple(path), self, value))
            return
        shape = self.item
        for index, item in enumerate(value):
            if item is not None and type(item) is not shape.plain:
                path.append(index)
                shape.walk(item, path, found)
                path.pop()


class Map:
    """A map; its keys are strings, whatever their type is called."""

    __slots__ = ("go", "item", "plain")

    def __init__(self, item: Shape, key: str) -> None:
        self.go: str = f"map[{key}]{item.go}"
        self.plain: type | None = None
        self.item = item

    def walk(self, value: Any, path: Steps, found: list[Misfit]) -> None:
        if type(value) is not dict:
            found.append(Misfit(tuple(path), self, value))
            return
        shape = self.item
        for key, item in value.items():
            if item is not None and type(item) is not shape.plain:
                path.append(key)
                shape.walk(item, path, found)
                path.pop()


class Scalar:
    """A string, number, boolean, or a type with a decoder of its own: ``error`` says what is wrong with a value.

    ``error`` returns None where the value fits, "" where Go names the types, else the decoder's own text.
    """

    __slots__ = ("_error", "go", "plain")

    def __init__(self, go: str, error: Callable[[Any], str | None], plain: type | None = None) -> None:
        self.go = go
        self.plain = plain
        self._error = error

    def walk(self, value: Any, path: Steps, found: list[Misfit]) -> None:
        text = self._error(value)
        if text is not None:
            found.append(Misfit(tuple(path), self, value, text or None))


def _never(_: Any) -> str:
    return ""


def string(go: str) -> Scalar:
    """A string type; ``go`` is its name."""
    return Scalar(go, _never, str)


def _integer(low: int, high: int) -> Callable[[Any], str | None]:
    def error(value: Any) -> str | None:
        # A whole float arrives without its fraction: YAML is turned into JSON first, and Go writes 5.0 as 5. From 1e21
        # on it writes an exponent, which no integer type takes.
        if type(value) is float and value.is_integer() and abs(value) < 1e21:
            value = int(value)
        return None if type(value) is int and low <= value <= high else ""

    return error


def _quantity(value: Any) -> str | None:
    from dractl.model.quantity import Quantity

    if type(value) is str:
        # The decoder cuts the quotes off the JSON text and does not undo its escapes (quantity.go UnmarshalJSON).
        text = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    elif type(value) in (int, float):
        text = number(value)
    else:
        text = ""  # true, [..] and {..} are no more a number than nothing is
    try:
        Quantity.parse(text)
    except ValueError as error:
        return str(error)
    return None


_RFC3339 = (  # the elements that Go's time.Parse reads for RFC 3339, each with what it takes
    ("2006", r"[0-9]{4}"),
    ("-", "-"),
    ("01", r"0[1-9]|1[0-2]"),
    ("-", "-"),
    ("02", r"0[1-9]|[12][0-9]|3[01]"),
    ("T", "T"),
    ("15", r"[01][0-9]|2[0-3]|[0-9](?![0-9])"),
    (":", ":"),
    ("04", r"[0-5][0-9]"),
    (":", ":"),
    ("05", r"[0-5][0-9]([.,][0-9]+)?"),
    ("Z07:00", r"Z|[+-]([01][0-9]|2[0-4]):([0-5][0-9]|60)"),
)


def _time(layout: str) -> Callable[[Any], str | None]:
    def error(value: Any) -> str | None:
        if type(value) is not str:
            return ""
        rest = value
        for element, pattern in _RFC3339:
            match = re.match(pattern, rest, re.ASCII)
            if not match:
                return f'parsing time "{value}" as "{layout}": cannot parse "{rest}" as "{element}"'
            rest = rest[match.end() :]
        if rest:
            return f'parsing time "{value}": extra text: "{rest}"'
        year, month, day = (int(part) for part in value[:10].split("-"))
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        days = 30 if month in (4, 6, 9, 11) else 31 if month != 2 else 29 if leap else 28
        return f'parsing time "{value}": day out of range' if day > days else None

    return error


def number(value: float) -> str:
    """A number as Go's JSON encoder writes it."""
    if type(value) is int and -(2**63) <= value < 2**64:
        return str(value)
    try:
        value = float(value)
    except OverflowError:
        return "+Inf" if value > 0 else "-Inf"
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    if value and not 1e-6 <= abs(value) < 1e21:
        digits, _, exponent = repr(value).partition("e")
        return f"{digits.removesuffix('.0')}e{exponent[0]}{exponent[1:].lstrip('0')}"
    from decimal import Decimal

    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def json_type(value: Any) -> str:
    """What Go calls the JSON type of a value."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


STRING = string("string")
BOOL = Scalar("bool", _never, bool)
INT32 = Scalar("int32", _integer(-(2**31), 2**31 - 1))
INT64 = Scalar("int64", _integer(-(2**63), 2**63 - 1))
QUANTITY = Scalar("resource.Quantity", _quantity)
TIME = Scalar("string", _time("2006-01-02T15:04:05Z07:00"), None)
MICRO_TIME = Scalar("string", _time("2006-01-02T15:04:05.000000Z07:00"), None)
INT32_OR_STRING = Scalar("int32", _integer(-(2**31), 2**31 - 1), str)
ANYTHING = Scalar("runtime.RawExtension", lambda _: None)
