"""Literals of the well-known messages of google.protobuf, as the values that they represent."""

from typing import Any

from dractl.cel import values as v
from dractl.cel.values import CelError, Duration, Uint

_WRAPPERS: dict[str, Any] = {
    "BoolValue": False,
    "BytesValue": b"",
    "DoubleValue": 0.0,
    "FloatValue": 0.0,
    "Int32Value": 0,
    "Int64Value": 0,
    "StringValue": "",
    "UInt32Value": Uint(0),
    "UInt64Value": Uint(0),
}


def construct(name: str, fields: dict[str, Any]) -> Any:
    """Build the value of ``google.protobuf.NAME{field: value}``."""
    kind = name.removeprefix("google.protobuf.")
    if kind in _WRAPPERS:
        return fields.get("value", _WRAPPERS[kind])
    if kind in ("Timestamp", "Duration"):
        nanoseconds = fields.get("seconds", 0) * v.GIGA + fields.get("nanos", 0)
        return v.timestamp(nanoseconds) if kind == "Timestamp" else Duration(nanoseconds)
    if kind == "Struct":
        return fields.get("fields", {})
    if kind == "ListValue":
        return fields.get("values", [])
    if kind == "Value":
        return next(iter(fields.values()), None)
    raise CelError("unsupported conversion to ref.Val: (*dynamicpb.Message)")
