"""Operators: common/stdlib/standard.go. ``&&``, ``||``, ``?:`` and ``[]`` are evaluated by
:mod:`dractl.cel.evaluation`.
"""

import operator
from collections.abc import Callable
from typing import Any

from dractl.cel import values as v
from dractl.cel.functions.registry import OVERLOADS, Overload

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "_+_": v.add,
    "_-_": v.subtract,
    "_*_": v.multiply,
    "_/_": v.divide,
    "_%_": v.modulo,
}


def not_equal(a: Any, b: Any) -> bool:
    """Return True unless the values are equal. Unlike ``==``, it is never an error: values that
    cannot be compared are different.
    """
    try:
        return not v.equal(a, b)
    except v.CelError:
        return True


def logical_not(a: Any) -> bool:
    if type(a) is bool:
        return not a
    raise v.no_overload()


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    **_ARITHMETIC,
    "_==_": v.equal,
    "_!=_": not_equal,
    "_<_": lambda a, b: v.compare(a, b, "_<_") < 0,
    "_<=_": lambda a, b: v.compare(a, b, "_<=_") <= 0,
    "_>_": lambda a, b: v.compare(a, b, "_>_") > 0,
    "_>=_": lambda a, b: v.compare(a, b, "_>=_") >= 0,
    "@in": v.contains,
    "_in_": v.contains,
    "in": v.contains,
}
PLAIN_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "_==_": operator.eq,
    "_!=_": operator.ne,
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}
"""The comparisons of two ints or of two strings."""

PLAIN_ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "_+_": operator.add,
    "_-_": operator.sub,
    "_*_": operator.mul,
}
"""The arithmetic of two ints whose result is an int64."""

_PLAIN = (int, str)

Binary = Callable[[Any, Any], Any]


def compare_plain(plain: Binary, binary: Binary) -> Binary:
    """Return a comparison that needs few steps for two ints or two strings."""

    def compare(a: Any, b: Any) -> Any:
        kind = type(a)
        return plain(a, b) if kind is type(b) and kind in _PLAIN else binary(a, b)

    return compare


def compute_plain(plain: Binary, binary: Binary) -> Binary:
    """Return an operation that needs few steps for two ints whose result is an int64."""

    def compute(a: Any, b: Any) -> Any:
        if type(a) is int and type(b) is int:
            result = plain(a, b)
            if v.MIN_INT <= result <= v.MAX_INT:
                return result
        return binary(a, b)

    return compute


UNARY: dict[str, Callable[[Any], Any]] = {"!_": logical_not, "-_": v.negate}

for _name in (
    "size_bytes",
    "bytes_size",
    "size_list",
    "list_size",
    "size_map",
    "map_size",
    "size_string",
    "string_size",
):
    OVERLOADS[_name] = Overload((object,), v.size)
