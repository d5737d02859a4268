"""Dataclasses to JSON and back, by their annotations: snake_case fields are camelCase keys, ``None`` and empty lists
are absent.
"""

from __future__ import annotations

import re
import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from dractl.errors import InputError

T = TypeVar("T")

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_RENAMED = {"class_code": "class"}
# A reader of JSON may rely on these being there, even when there is nothing to say.
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
    """The JSON key of a field."""
    if name in _RENAMED:
        return _RENAMED[name]
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def encode(value: Any) -> Any:
    """A dataclass, tuple or scalar as JSON has it."""
    if is_dataclass(value):
        found = ((f.name, getattr(value, f.name)) for f in fields(value))
        return {key(name): encode(v) for name, v in found if name in _ALWAYS or (v is not None and v != ())}
    if isinstance(value, tuple):
        return [encode(v) for v in value]
    return value


def decode(cls: type[T], value: object, path: str = "") -> T:
    """``value`` as ``cls``; raises :class:`~dractl.errors.InputError` with the path of the first thing that does not
    fit.
    """
    if not isinstance(value, dict):
        raise _wrong(path, value, "an object")
    arguments: dict[str, Any] = {}
    for name, hint, required in _fields(typing.cast("Any", cls)):
        given = value.get(key(name))
        if given is None:
            if required:
                raise InputError(f"{path + '.' if path else ''}{key(name)} is missing from the snapshot")
            continue
        arguments[name] = _convert(hint, given, f"{path}.{key(name)}" if path else key(name))
    return cls(**arguments)


@cache
def _fields(cls: Any) -> tuple[tuple[str, Any, bool], ...]:
    hints = typing.get_type_hints(cls)
    return tuple(
        (f.name, _required_type(hints[f.name]), f.default is MISSING and not _optional(hints[f.name]))
        for f in fields(cls)
    )


def _optional(hint: Any) -> bool:
    return isinstance(hint, types.UnionType) and type(None) in typing.get_args(hint)


def _required_type(hint: Any) -> Any:
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
    if is_dataclass(hint):
        return decode(typing.cast("type[Any]", hint), value, path)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise _wrong(path, value, {str: "a string", int: "an integer", bool: "true or false", float: "a number"}[hint])
    # A snapshot may come from anybody: nothing in it may speak to the terminal that shows it.
    return _CONTROL.sub("?", value) if isinstance(value, str) else value


def _wrong(path: str, value: object, wanted: str) -> InputError:
    shown = repr(value) if isinstance(value, str | int | float | bool) else f"a {type(value).__name__}"
    return InputError(f"{path or 'the snapshot'} must be {wanted}, not {shown:.80}")
