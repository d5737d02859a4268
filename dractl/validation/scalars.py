"""The types without fields: strings, numbers, and types with their own decoder. They are decoded as
Go decodes them.
"""

import math
import re
from collections.abc import Callable
from typing import Any, Final

from dractl.model.go import json_number
from dractl.model.quantity import Quantity
from dractl.validation.shapes import Scalar


def _accept_all(_: Any) -> str:
    return ""


def string(go: str) -> Scalar:
    """Return a string type with the name ``go``."""
    return Scalar(go, _accept_all, str)


def _integer(low: int, high: int) -> Callable[[Any], str | None]:
    def error(value: Any) -> str | None:
        # A whole float arrives without its fraction, since YAML is converted to JSON first, where
        # Go writes 5.0 as 5. From 1e21 on, Go writes an exponent, which no integer type accepts.
        if type(value) is float and value.is_integer() and abs(value) < 1e21:
            value = int(value)
        return None if type(value) is int and low <= value <= high else ""

    return error


def _quantity(value: Any) -> str | None:
    if type(value) is str:
        # The decoder removes the quotes from the JSON text, but does not decode its escapes
        # (quantity.go UnmarshalJSON).
        text = (
            value.replace("\\", "\\\\")
            .replace("\n", "\\n")
            .replace("\t", "\\t")
            .replace("\r", "\\r")
        )
    elif type(value) in (int, float):
        text = number(value)
    else:
        text = ""  # true, [..] and {..} cause the same error as an empty string
    try:
        Quantity.parse(text)
    except ValueError as error:
        return str(error)
    return None


_TIME: Final = (
    # The elements of RFC 3339 that Go's time.Parse reads: the layout, the syntax, and for each
    # number its name and range.
    ("2006", r"([0-9]{4})", (("year", 0, 9999),)),
    ("-", "-", ()),
    ("01", r"([0-9]{2})", (("month", 1, 12),)),
    ("-", "-", ()),
    ("02", r"([0-9]{2})", (("day", 0, 99),)),
    ("T", "T", ()),
    ("15", r"([0-9]{1,2})", (("hour", 0, 23),)),
    (":", ":", ()),
    ("04", r"([0-9]{2})", (("minute", 0, 59),)),
    (":", ":", ()),
    ("05", r"([0-9]{2})(?:[.,][0-9]+)?", (("second", 0, 59),)),
    # time.Parse accepts offsets of 24 hours and of 60 minutes, since some people write them.
    (
        "Z07:00",
        r"(?:Z|[+-]([0-9]{2}):([0-9]{2}))",
        (("time zone offset hour", 0, 24), ("time zone offset minute", 0, 60)),
    ),
)


def _time(layout: str) -> Callable[[Any], str | None]:
    def error(value: Any) -> str | None:
        if type(value) is not str:
            return ""
        complaint = f"parsing time {_quote(value)}"
        remainder = value
        read: dict[str, int] = {}
        for element, syntax, numbers in _TIME:
            match = re.match(syntax, remainder, re.ASCII)
            if not match:
                return (
                    f"{complaint} as {_quote(layout)}: cannot parse {_quote(remainder)} as"
                    f" {_quote(element)}"
                )
            for (name, low, high), digits in zip(numbers, match.groups(), strict=True):
                read[name] = int(digits or 0)
                if not low <= read[name] <= high:
                    return f"{complaint}: {name} out of range"
            remainder = remainder[match.end() :]
        if remainder:
            return f"{complaint}: extra text: {_quote(remainder)}"
        return (
            None
            if 1 <= read["day"] <= _days(read["year"], read["month"])
            else f"{complaint}: day out of range"
        )

    return error


def _days(year: int, month: int) -> int:
    if month == 2:
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if leap else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _quote(text: str) -> str:
    """Quote as Go's time package does: anything but printable ASCII becomes bytes in
    hexadecimal.
    """
    return '"' + "".join(_escape(char) for char in text) + '"'


def _escape(char: str) -> str:
    if char in '\\"':
        return "\\" + char
    return (
        char
        if " " <= char <= "~"
        else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "replace"))
    )


def number(value: float) -> str:
    """Return a number as Go's JSON encoder writes it."""
    if type(value) is int and -(2**63) <= value < 2**64:
        return str(value)
    try:
        value = float(value)
    except OverflowError:
        return "+Inf" if value > 0 else "-Inf"
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return json_number(value)


def json_type(value: Any) -> str:
    """Return Go's name for the JSON type of a value."""
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
BOOL = Scalar("bool", _accept_all, bool)
INT32 = Scalar("int32", _integer(-(2**31), 2**31 - 1))
INT64 = Scalar("int64", _integer(-(2**63), 2**63 - 1))
QUANTITY = Scalar("resource.Quantity", _quantity)
TIME = Scalar("string", _time("2006-01-02T15:04:05Z07:00"), None)
MICRO_TIME = Scalar("string", _time("2006-01-02T15:04:05.000000Z07:00"), None)
INT32_OR_STRING = Scalar("int32", _integer(-(2**31), 2**31 - 1), str)
ANYTHING = Scalar("runtime.RawExtension", lambda _: None)
