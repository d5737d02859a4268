"""Type conversions: ConvertToType of common/types."""

import math
from collections.abc import Callable
from typing import Any

from dractl.cel import values as v
from dractl.cel.functions.registry import overload
from dractl.cel.functions.time import duration_text, parse_duration, parse_timestamp, timestamp_text
from dractl.cel.numbers import format_double, parse_double, parse_int, parse_uint
from dractl.cel.values import CelError, Duration, Timestamp, TypeValue, Uint

_TRUE = {"1", "t", "T", "TRUE", "true", "True"}
_FALSE = {"0", "f", "F", "FALSE", "false", "False"}


def _conversion_error(source: str, target: str) -> CelError:
    return CelError(f"type conversion error from '{source}' to '{target}'")


def _parser(
    parse: Callable[[str], Any], target: str, wrap: Callable[[Any], Any] | None = None
) -> Callable[[str], Any]:
    """Return the conversion of a text: ``parse`` computes the value, and ``wrap`` wraps it.
    ``target`` is upstream's name of the type.
    """

    def convert(text: str) -> Any:
        value = parse(text)
        if value is None:
            raise _conversion_error("string", target)
        return value if wrap is None else wrap(value)

    return convert


for _name, _type in (
    ("bool", bool),
    ("bytes", bytes),
    ("double", float),
    ("duration", Duration),
    ("int64", int),
    ("string", str),
    ("timestamp", Timestamp),
    ("uint64", Uint),
):
    overload(f"{_name}_to_{_name}", _type)(lambda value: value)
overload("to_dyn", object)(lambda value: value)


@overload("string_to_bool", str)
def string_to_bool(text: str) -> bool:
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise _conversion_error("string", "bool")


overload("string_to_bytes", str)(lambda text: text.encode("utf-8", "surrogatepass"))
overload("int64_to_double", int)(float)
overload("uint64_to_double", Uint)(float)


overload("string_to_double", str)(_parser(parse_double, "double"))


@overload("double_to_int64", float)
def double_to_int(number: float) -> int:
    if math.isnan(number) or not -(2.0**63) < number < 2.0**63:
        raise CelError("integer overflow")
    return int(number)


@overload("uint64_to_int64", Uint)
def uint_to_int(number: Uint) -> int:
    if number > v.MAX_INT:
        raise CelError("integer overflow")
    return int(number)


overload("string_to_int64", str)(_parser(parse_int, "int"))
overload("duration_to_int64", Duration)(lambda duration: duration.nanoseconds)
overload("timestamp_to_int64", Timestamp)(lambda timestamp: timestamp.nanoseconds // v.GIGA)


@overload("double_to_uint64", float)
def double_to_uint(number: float) -> Uint:
    if math.isnan(number) or not 0 <= number < 2.0**64:
        raise CelError("unsigned integer overflow")
    return Uint(number)


@overload("int64_to_uint64", int)
def int_to_uint(number: int) -> Uint:
    if number < 0:
        raise CelError("unsigned integer overflow")
    return Uint(number)


overload("string_to_uint64", str)(_parser(parse_uint, "uint", Uint))


bool_to_string = overload("bool_to_string", bool)(lambda value: "true" if value else "false")


@overload("bytes_to_string", bytes)
def bytes_to_string(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


overload("double_to_string", float)(format_double)
overload("int64_to_string", int)(str)
overload("uint64_to_string", Uint)(str)
duration_to_string = overload("duration_to_string", Duration)(
    lambda duration: duration_text(duration.nanoseconds)
)
overload("timestamp_to_string", Timestamp)(timestamp_text)
overload("string_to_duration", str)(_parser(parse_duration, "google.protobuf.Duration", Duration))


@overload("int64_to_duration", int)
def int_to_duration(_: int) -> Duration:
    """Raise an error: the overload is declared up to 1.36, and always fails."""
    raise _conversion_error("int", "google.protobuf.Duration")


overload("string_to_timestamp", str)(
    _parser(parse_timestamp, "google.protobuf.Timestamp", lambda parsed: v.timestamp(*parsed))
)
overload("int64_to_timestamp", int)(lambda seconds: v.timestamp(seconds * v.GIGA))
overload("type", object)(lambda value: TypeValue(v.type_name(value)))
