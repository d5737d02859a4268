"""Results of a predicate for a range of values of a loop variable, by interval arithmetic.

A loop such as ``lists.range(1000).all(x, x * 8 != device.attributes["d"].index)`` is decided for
many rounds at once. What is not certain is None, and is evaluated round by round.
"""

from __future__ import annotations

from collections.abc import Callable

from dractl.cel import values as v
from dractl.cel.ast import Call, Ident, Node
from dractl.cel.closures import Bounds, Frame, Interval, Run
from dractl.cel.values import CelError, Halted

Constant = Callable[[Node], Run | None]
"""Returns the closure of a sub-expression that keeps its value during the loop, and None for other
sub-expressions.
"""

_Reader = Callable[[Frame, Interval], Interval]


class _Uncertain(Exception):
    """A value that is neither an int nor a string, or an error."""


def predicate_bounds(node: Node, variable: str, constant: Constant) -> Bounds | None:
    """Return the function that decides a predicate for a range of values of the variable; None if
    the predicate has other parts than comparisons, logic, and sums, differences and products.
    """
    verdict = _verdict(node, variable, constant)
    if verdict is None:
        return None

    def decide(f: Frame, values: Interval) -> bool | None:
        try:
            return verdict(f, values)
        except _Uncertain:
            return None

    return decide


def _verdict(node: Node, variable: str, constant: Constant) -> Bounds | None:
    if not isinstance(node, Call):
        return None
    if node.function == "!_":
        operand = _verdict(node.args[0], variable, constant)
        return None if operand is None else _negate(operand)
    if node.function in ("_&&_", "_||_"):
        left, right = (_verdict(arg, variable, constant) for arg in node.args)
        return None if left is None or right is None else _join(left, right, node.function)
    compare = _COMPARISONS.get(node.function)
    if compare is None:
        return None
    first, second = (_interval(arg, variable, constant) for arg in node.args)
    if first is None or second is None:
        return None

    def verdict(f: Frame, values: Interval) -> bool | None:
        a, b = first(f, values), second(f, values)
        if type(a[0]) is not type(b[0]):
            raise _Uncertain
        return compare(a, b)

    return verdict


def _negate(operand: Bounds) -> Bounds:
    def verdict(f: Frame, values: Interval) -> bool | None:
        result = operand(f, values)
        return None if result is None else not result

    return verdict


def _join(left: Bounds, right: Bounds, function: str) -> Bounds:
    decisive = function == "_||_"

    def verdict(f: Frame, values: Interval) -> bool | None:
        a = left(f, values)
        if a is decisive:
            return decisive
        b = right(f, values)
        return b if b is decisive or a is not None else None

    return verdict


def _interval(node: Node, variable: str, constant: Constant) -> _Reader | None:
    if isinstance(node, Ident) and node.name == variable:
        return lambda _, values: values
    run = constant(node)
    if run is not None:
        return _read_constant(run)
    if not isinstance(node, Call) or node.function not in _ARITHMETIC:
        return None
    combine = _ARITHMETIC[node.function]
    left, right = (_interval(arg, variable, constant) for arg in node.args)
    if left is None or right is None:
        return None

    def read(f: Frame, values: Interval) -> Interval:
        a, b = left(f, values), right(f, values)
        if type(a[0]) is not int or type(b[0]) is not int:
            raise _Uncertain
        low, high = combine(a, b)
        if low < v.MIN_INT or high > v.MAX_INT:
            raise _Uncertain
        return low, high

    return read


def _read_constant(run: Run) -> _Reader:
    def read(f: Frame, _: Interval) -> Interval:
        try:
            value = run(f)
        except (CelError, Halted):
            # Round by round, it may be skipped
            raise _Uncertain from None
        if type(value) not in (int, str):
            raise _Uncertain
        return value, value

    return read


def _product(a: Interval, b: Interval) -> Interval:
    corners = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    return min(corners), max(corners)


_ARITHMETIC: dict[str, Callable[[Interval, Interval], Interval]] = {
    "_+_": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "_-_": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "_*_": _product,
}


def _compare_less(a: Interval, b: Interval) -> bool | None:
    if a[1] < b[0]:
        return True
    return False if a[0] >= b[1] else None


def _compare_less_or_equal(a: Interval, b: Interval) -> bool | None:
    if a[1] <= b[0]:
        return True
    return False if a[0] > b[1] else None


def _equal(a: Interval, b: Interval) -> bool | None:
    if a[1] < b[0] or b[1] < a[0]:
        return False
    return True if a[0] == a[1] == b[0] == b[1] else None


def _different(a: Interval, b: Interval) -> bool | None:
    equal = _equal(a, b)
    return None if equal is None else not equal


_COMPARISONS: dict[str, Callable[[Interval, Interval], bool | None]] = {
    "_==_": _equal,
    "_!=_": _different,
    "_<_": _compare_less,
    "_<=_": _compare_less_or_equal,
    "_>_": lambda a, b: _compare_less(b, a),
    "_>=_": lambda a, b: _compare_less_or_equal(b, a),
}
