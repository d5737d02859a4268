"""Converts the values of a machine to JSON and back, as the annotations of their fields say.

Fields are snake_case and keys camelCase; ``None`` and empty lists are left out.
"""

import re
import types
import typing
from functools import cache
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import fields

from dractl.errors import InputError
from dractl.model import camelcase
from dractl.model.camelcase import camel_case

T = TypeVar("T")

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_RENAMED = {"class_code": "class"}
# Readers may rely on these keys, even if they are empty.
_ALWAYS = {
    "numa_node",
    "driver",
    "bridges",
    "names",
    "numa_nodes",
    "pci_devices",
    "gpus",
    "links",
    "notes",
    "distances",
}


def key(name: str) -> str:
    """Return the JSON key of a field."""
    return _RENAMED.get(name) or camel_case(name)


def encode(value: Any) -> Any:
    """Return a value of a machine, a tuple of them, or a scalar, as JSON."""
    return camelcase.encode(value, renamed=_RENAMED, always=_ALWAYS)


def decode(cls: type[T], value: object, path: str = "") -> T:
    """Return ``value`` as an instance of ``cls``; raises InputError with the path of the first
    value of a wrong type.
    """
    if not isinstance(value, dict):
        raise _wrong(path, value, "an object")
    arguments: dict[str, Any] = {}
    for name, hint, required, bare in _fields(typing.cast("Any", cls)):
        given = value.get(key(name))
        if given is None:
            if required:
                raise InputError(
                    f"{path + '.' if path else ''}{key(name)} is missing from the snapshot"
                )
            if bare:
                arguments[name] = None
            continue
        arguments[name] = _convert(hint, given, f"{path}.{key(name)}" if path else key(name))
    return cls(**arguments)


@cache
def _fields(cls: Any) -> tuple[tuple[str, Any, bool, bool], ...]:
    """Return for each field its name, its type, whether a value is required, and whether it lacks a
    default.
    """
    hints = typing.get_type_hints(cls)
    return tuple(
        (f.name, _unwrap_optional(hints[f.name]), bare and not _optional(hints[f.name]), bare)
        for f in fields(cls)
        for bare in (f.required,)
    )


def _optional(hint: Any) -> bool:
    return isinstance(hint, types.UnionType) and type(None) in typing.get_args(hint)


def _unwrap_optional(hint: Any) -> Any:
    if not _optional(hint):
        return hint
    (inner,) = (a for a in typing.get_args(hint) if a is not type(None))
    return inner


def _convert(hint: Any, value: object, path: str) -> Any:
    origin = typing.get_origin(hint)
    if origin is tuple:
        if not isinstance(value, list):
            raise _wrong(path, value, "a list")
        item = typing.get_args(hint)[0]
        return tuple(_convert(item, v, f"{path}[{i}]") for i, v in enumerate(value))
    if origin is typing.Literal:
        if value not in typing.get_args(hint):
            raise _wrong(path, value, "one of " + ", ".join(map(repr, typing.get_args(hint))))
        return value
    if isinstance(hint, type) and issubclass(hint, Struct):
        return decode(typing.cast("Any", hint), value, path)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise _wrong(path, value, "a number of at most 1.8e308") from None
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise _wrong(
            path,
            value,
            {str: "a string", int: "an integer", bool: "true or false", float: "a number"}[hint],
        )
    # A snapshot can come from anywhere: nothing in it may send control sequences to the terminal
    # that shows it.
    return _CONTROL.sub("?", value) if isinstance(value, str) else value


def _wrong(path: str, value: object, wanted: str) -> InputError:
    shown = (
        repr(value) if isinstance(value, str | int | float | bool) else f"a {type(value).__name__}"
    )
    return InputError(f"{path or 'the snapshot'} must be {wanted}, not {shown:.80}")
