"""Type conversions: ConvertToType of common/types."""

import math

from dractl.cel import values as v
from dractl.cel.functions.registry import overload
from dractl.cel.functions.time import duration_text, parse_duration, parse_timestamp, timestamp_text
from dractl.cel.numbers import format_double, parse_double, parse_int, parse_uint
from dractl.cel.values import CelError, Duration, Timestamp, TypeValue, Uint

_TRUE = {"1", "t", "T", "TRUE", "true", "True"}
_FALSE = {"0", "f", "F", "FALSE", "false", "False"}


def _failed(source: str, target: str) -> CelError:
    return CelError(f"type conversion error from '{source}' to '{target}'")


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
    raise _failed("string", "bool")


overload("string_to_bytes", str)(lambda text: text.encode("utf-8", "surrogatepass"))
overload("int64_to_double", int)(float)
overload("uint64_to_double", Uint)(float)


@overload("string_to_double", str)
def string_to_double(text: str) -> float:
    number = parse_double(text)
    if number is None:
        raise _failed("string", "double")
    return number


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


@overload("string_to_int64", str)
def string_to_int(text: str) -> int:
    number = parse_int(text)
    if number is None:
        raise _failed("string", "int")
    return number


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


@overload("string_to_uint64", str)
def string_to_uint(text: str) -> Uint:
    number = parse_uint(text)
    if number is None:
        raise _failed("string", "uint")
    return Uint(number)


@overload("bool_to_string", bool)
def bool_to_string(value: bool) -> str:
    return "true" if value else "false"


@overload("bytes_to_string", bytes)
def bytes_to_string(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None


@overload("double_to_string", float)
def double_to_string(number: float) -> str:
    return format_double(number)


overload("int64_to_string", int)(str)
overload("uint64_to_string", Uint)(str)


@overload("duration_to_string", Duration)
def duration_to_string(duration: Duration) -> str:
    return duration_text(duration.nanoseconds)


@overload("timestamp_to_string", Timestamp)
def timestamp_to_string(timestamp: Timestamp) -> str:
    return timestamp_text(timestamp)


@overload("string_to_duration", str)
def string_to_duration(text: str) -> Duration:
    nanoseconds = parse_duration(text)
    if nanoseconds is None:
        raise _failed("string", "google.protobuf.Duration")
    return Duration(nanoseconds)


@overload("int64_to_duration", int)
def int_to_duration(_: int) -> Duration:
    """Declared up to 1.36, but always fails."""
    raise _failed("int", "google.protobuf.Duration")


@overload("string_to_timestamp", str)
def string_to_timestamp(text: str) -> Timestamp:
    parsed = parse_timestamp(text)
    if parsed is None:
        raise _failed("string", "google.protobuf.Timestamp")
    return v.timestamp(*parsed)


overload("int64_to_timestamp", int)(lambda seconds: v.timestamp(seconds * v.GIGA))
overload("type", object)(lambda value: TypeValue(v.type_name(value)))
