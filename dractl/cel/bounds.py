"""Results of a predicate for many rounds of a loop at once, by interval arithmetic.

A loop such as ``lists.range(1000).all(x, x * 8 != device.attributes["d"].index)`` is decided for
many rounds at once. If the result is not certain to be the same for all of them, it is None, and
the rounds are evaluated one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from dractl.cel import values as v
from dractl.cel.ast import Call, Ident, Node
from dractl.cel.closures import (
    Bounds,
    Frame,
    Parts,
    Rounds,
    Run,
    Uncertain,
    order_checker,
    read_constant,
)
from dractl.cel.functions import kubernetes
from dractl.cel.values import CelError, Halted, Sum, Timestamp
from dractl.model import Quantity

Interval = tuple[Any, Any]
"""A lower bound and an upper bound of several values of one type."""

_Reader = Callable[[Frame, Rounds], Interval]


def predicate_bounds(node: Node, parts: Parts) -> Bounds | None:
    """Return the function that decides a predicate for a range of rounds; None if the predicate
    contains anything but comparisons, logic, and operands with bounds.
    """
    verdict = _verdict(node, parts)
    if verdict is None:
        return None

    def decide(f: Frame, rounds: Rounds) -> bool | None:
        try:
            return verdict(f, rounds)
        except Uncertain:
            return None

    return decide


def _verdict(node: Node, parts: Parts) -> Bounds | None:
    if not isinstance(node, Call):
        return None
    if node.function == "!_":
        operand = _verdict(node.args[0], parts)
        return None if operand is None else _negate(operand)
    if node.function in ("_&&_", "_||_"):
        left, right = (_verdict(arg, parts) for arg in node.args)
        return None if left is None or right is None else _join(left, right, node.function)
    name = _overload(node)
    compare, kinds = _COMPARISONS.get(name), _PLAIN
    if compare is None:
        compare, kinds = _QUANTITY_COMPARISONS.get(name), _QUANTITIES
    if compare is None:
        return None
    first, second = (interval(arg, parts) for arg in node.children())
    if first is None or second is None:
        return None
    return _compare(first, second, compare, kinds)


def _compare(
    first: _Reader,
    second: _Reader,
    compare: Callable[[Interval, Interval], bool | None],
    kinds: frozenset[type],
) -> Bounds:
    def verdict(f: Frame, rounds: Rounds) -> bool | None:
        a, b = first(f, rounds), second(f, rounds)
        kind, other = type(a[0]), type(b[0])
        if kind not in kinds or other not in kinds or (kinds is _PLAIN and kind is not other):
            raise Uncertain
        return compare(a, b)

    return verdict


def _negate(operand: Bounds) -> Bounds:
    def verdict(f: Frame, rounds: Rounds) -> bool | None:
        result = operand(f, rounds)
        return None if result is None else not result

    return verdict


def _join(left: Bounds, right: Bounds, function: str) -> Bounds:
    decisive = function == "_||_"

    def verdict(f: Frame, rounds: Rounds) -> bool | None:
        a = left(f, rounds)
        if a is decisive:
            return decisive
        b = right(f, rounds)
        return b if b is decisive or a is not None else None

    return verdict


def _overload(node: Call) -> str:
    """Return the overload's id if it has bounds of its own, else the name of the function."""
    (*_, only) = node.overloads or ("",)
    return only if len(node.overloads) == 1 and only in _BY_OVERLOAD else node.function


def interval(node: Node, parts: Parts) -> _Reader | None:
    """Return the function that reads the bounds of a sub-expression; None if it has no bounds."""
    if isinstance(node, Ident) and node.name == parts.variable:
        return lambda _, rounds: (rounds[0][rounds[1]], rounds[0][rounds[2] - 1])
    if isinstance(node, Ident) and node.name in parts.inner:
        return _read_items(parts.inner[node.name])
    run = parts.constant(node)
    if run is not None:
        return _read_constant(run)
    operation = _OPERATIONS.get(_overload(node)) if isinstance(node, Call) else None
    if operation is not None:
        operands = [interval(operand, parts) for operand in node.children()]
        if None not in operands:
            return _combine(operation, [operand for operand in operands if operand is not None])
    run = parts.tabular(node)
    return None if run is None else _tabulate(run, parts.slot)


class _Operation(Struct, frozen=True):
    """A function with bounds. It fails nowhere in an interval if it fails at neither end."""

    kinds: tuple[frozenset[type], ...]
    """The types of the operands."""
    combine: Callable[..., Interval]


def _combine(operation: _Operation, operands: list[_Reader]) -> _Reader:
    combine = operation.combine
    if len(operands) == 1:
        (only,), (kinds,) = operands, operation.kinds

        def read_one(f: Frame, rounds: Rounds) -> Interval:
            a = only(f, rounds)
            if type(a[0]) not in kinds:
                raise Uncertain
            try:
                return combine(a)
            except CelError:
                raise Uncertain from None

        return read_one
    (left, right), (kinds, others) = operands, operation.kinds

    def read(f: Frame, rounds: Rounds) -> Interval:
        a, b = left(f, rounds), right(f, rounds)
        if type(a[0]) not in kinds or type(b[0]) not in others:
            raise Uncertain
        try:
            return combine(a, b)
        except CelError:
            raise Uncertain from None

    return read


def _read_constant(run: Run) -> _Reader:
    def read(f: Frame, _: Rounds) -> Interval:
        value = read_constant(run, f)
        if type(value) not in _KINDS:
            raise Uncertain
        return value, value

    return read


def _read_items(run: Run) -> _Reader:
    is_sorted = order_checker()

    def read(f: Frame, _: Rounds) -> Interval:
        items = read_constant(run, f)
        if not is_sorted(items):
            raise Uncertain
        return items[0], items[-1]

    return read


_MOST_TABULATED = 4096  # intervals that are remembered for one sub-expression


def _tabulate(run: Run, slot: int) -> _Reader:
    """Return the function that reads the bounds of a sub-expression by evaluating every round; the
    results serve all devices.
    """
    table: dict[tuple[int, int], Interval | None] = {}

    def read(f: Frame, rounds: Rounds) -> Interval:
        items, start, stop = rounds
        if (start, stop) not in table:
            if len(table) >= _MOST_TABULATED:
                table.clear()
            table[start, stop] = _hull(run, slot, f, items[start:stop])
        hull = table[start, stop]
        if hull is None:
            raise Uncertain
        return hull

    return read


def _hull(run: Run, slot: int, f: Frame, items: list[Any]) -> Interval | None:
    values = []
    try:
        for item in items:
            f[slot] = item
            values.append(run(f))
    except (CelError, Halted):
        return None
    return (min(values), max(values)) if set(map(type, values)) in ({int}, {str}) else None


# -- functions -------------------------------------------------------------------------------------


def _check_ints(low: int, high: int) -> Interval:
    if low < v.MIN_INT or high > v.MAX_INT:
        raise Uncertain
    return low, high


def _product(a: Interval, b: Interval) -> Interval:
    corners = (a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1])
    return _check_ints(min(corners), max(corners))


def _texts(a: Interval) -> Interval:
    low, high = map(str, a)
    # Decimal strings are in the order of their numbers only if they have the same length. "-" is
    # before all digits, and ":" is after them.
    return (low, high) if a[0] >= 0 and len(low) == len(high) else ("-", ":")


def _sum(a: Interval, b: Interval) -> Interval:
    return kubernetes.add(a[0], b[0]), kubernetes.add(a[1], b[1])


def _difference(a: Interval, b: Interval) -> Interval:
    return kubernetes.add(a[0], -b[1]), kubernetes.add(a[1], -b[0])


def _quantities(a: Interval) -> Interval:
    return Quantity(a[0]), Quantity(a[1])


_INTS = frozenset({int})
_QUANTITIES: frozenset[type] = frozenset({Quantity, Sum})
_PLAIN: frozenset[type] = frozenset({int, str, Timestamp})
_KINDS = _PLAIN | _QUANTITIES

_OPERATIONS = {
    "_+_": _Operation((_INTS, _INTS), lambda a, b: _check_ints(a[0] + b[0], a[1] + b[1])),
    "_-_": _Operation((_INTS, _INTS), lambda a, b: _check_ints(a[0] - b[1], a[1] - b[0])),
    "_*_": _Operation((_INTS, _INTS), _product),
    "int64_to_string": _Operation((_INTS,), _texts),
    "int64_to_timestamp": _Operation(
        (_INTS,), lambda a: (v.timestamp(a[0] * v.GIGA), v.timestamp(a[1] * v.GIGA))
    ),
    "quantity_add": _Operation((_QUANTITIES, _QUANTITIES), _sum),
    "quantity_add_int": _Operation((_QUANTITIES, _INTS), lambda a, b: _sum(a, _quantities(b))),
    "quantity_sub": _Operation((_QUANTITIES, _QUANTITIES), _difference),
    "quantity_sub_int": _Operation(
        (_QUANTITIES, _INTS), lambda a, b: _difference(a, _quantities(b))
    ),
    "quantity_compare_to": _Operation(
        (_QUANTITIES, _QUANTITIES),
        lambda a, b: (kubernetes.three_way(a[0], b[1]), kubernetes.three_way(a[1], b[0])),
    ),
}


def _compare_less(a: Interval, b: Interval) -> bool | None:
    if a[1] < b[0]:
        return True
    return False if b[1] <= a[0] else None


def _compare_less_or_equal(a: Interval, b: Interval) -> bool | None:
    if a[1] <= b[0]:
        return True
    return False if b[1] < a[0] else None


def _compare_greater(a: Interval, b: Interval) -> bool | None:
    return _compare_less(b, a)


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
    "_>_": _compare_greater,
    "_>=_": lambda a, b: _compare_less_or_equal(b, a),
}
_QUANTITY_COMPARISONS: dict[str, Callable[[Interval, Interval], bool | None]] = {
    "quantity_is_greater_than": _compare_greater,
    "quantity_is_less_than": _compare_less,
}
_BY_OVERLOAD = {*_OPERATIONS, *_QUANTITY_COMPARISONS}
