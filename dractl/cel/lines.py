"""Rounds in which a comparison of two linear functions holds, such as
``x * 8 != device.attributes["d"].index``.

Both sides are ints and linear in the loop variable, so the sign of their difference changes at most
once.
"""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

from dractl.cel import values as v
from dractl.cel.ast import Call, Ident, Node
from dractl.cel.closures import Frame, Parts, Regions, Run, Uncertain, read_constant

_Line = tuple[int, int]
"""The factor of the loop variable, and the summand."""

_Reader = Callable[[Frame, int, int], _Line]
"""Returns the line of a sub-expression for values of the variable between the two ints, both
included.
"""


def predicate_regions(node: Node, parts: Parts) -> Regions | None:
    """Return the function that divides the rounds of a loop over ints by the result of a predicate;
    None if the predicate is not a comparison of two lines.
    """
    compare = _COMPARISONS.get(node.function) if isinstance(node, Call) else None
    if compare is None:
        return None
    left, right = (_line(operand, parts) for operand in node.children())
    if left is None or right is None:
        return None
    results = compare(-1, 0), compare(0, 0), compare(1, 0)

    def regions(f: Frame, items: list[Any], count: int) -> list[tuple[range, bool]] | None:
        low, high = items[0], items[count - 1]
        if type(low) is not int:
            return None
        try:
            (a, b), (c, d) = left(f, low, high), right(f, low, high)
        except Uncertain:
            return None
        return _divide(items, count, (a - c, b - d), results)

    return regions


def _divide(
    items: list[int], count: int, difference: _Line, results: tuple[bool, bool, bool]
) -> list[tuple[range, bool]]:
    """Divide the rounds by the sign of the difference. Each range comes with its result:
    ``results`` has the results for a negative, a zero and a positive difference.
    """
    negative, zero, positive = results
    slope, base = difference
    if slope == 0:
        return [(range(count), results[1 + (base > 0) - (base < 0)])]
    if slope < 0:
        slope, base, negative, positive = -slope, -base, positive, negative
    root, remainder = divmod(-base, slope)
    if remainder:
        start = stop = bisect_right(items, root, 0, count)
    else:
        start, stop = bisect_left(items, root, 0, count), bisect_right(items, root, 0, count)
    parts = ((range(start), negative), (range(start, stop), zero), (range(stop, count), positive))
    return [part for part in parts if part[0]]


def _line(node: Node, parts: Parts) -> _Reader | None:
    if isinstance(node, Ident) and node.name == parts.variable:
        return lambda *_: (1, 0)
    run = parts.constant(node)
    if run is not None:
        return _read_int(run)
    combine = _ARITHMETIC.get(node.function) if isinstance(node, Call) else None
    operands = node.children()
    if combine is None or len(operands) != 2:
        return None
    left, right = (_line(operand, parts) for operand in operands)
    return None if left is None or right is None else _combine(combine, left, right)


def _read_int(run: Run) -> _Reader:
    def read(f: Frame, *_: int) -> _Line:
        value = read_constant(run, f)
        if type(value) is not int:
            raise Uncertain
        return 0, value

    return read


def _combine(combine: Callable[[_Line, _Line], _Line], left: _Reader, right: _Reader) -> _Reader:
    def read(f: Frame, low: int, high: int) -> _Line:
        slope, base = line = combine(left(f, low, high), right(f, low, high))
        ends = slope * low + base, slope * high + base
        if min(ends) < v.MIN_INT or max(ends) > v.MAX_INT:
            raise Uncertain
        return line

    return read


def _product(a: _Line, b: _Line) -> _Line:
    if a[0] and b[0]:
        raise Uncertain
    return (a[1] * b[0], a[1] * b[1]) if b[0] else (a[0] * b[1], a[1] * b[1])


_ARITHMETIC: dict[str, Callable[[_Line, _Line], _Line]] = {
    "_+_": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "_-_": lambda a, b: (a[0] - b[0], a[1] - b[1]),
    "_*_": _product,
}
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "_==_": operator.eq,
    "_!=_": operator.ne,
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}
