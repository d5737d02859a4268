"""Elements of ``map`` for all rounds of a loop at once: ``lists.range(1000).map(x, x + 8)``."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from dractl.cel.ast import Call, Ident, Node
from dractl.cel.bounds import interval
from dractl.cel.closures import Elements, Frame, Parts, Uncertain

_Column = Callable[[Frame, list[Any]], Iterable[Any]]


def int_elements(node: Node, parts: Parts) -> Elements | None:
    """Return the function that computes an element of ``map`` for all rounds; None if the element
    is not a sum, a difference or a product. The returned function returns None for rounds of which
    one may fail.
    """
    column, bounds = _column(node, parts), interval(node, parts)
    if column is None or bounds is None or not isinstance(node, Call):
        return None

    def elements(f: Frame, items: list[Any]) -> Iterable[Any] | None:
        try:
            bounds(f, (items, 0, len(items)))
        except Uncertain:
            return None
        return column(f, items)

    return elements


def _column(node: Node, parts: Parts) -> _Column | None:
    if isinstance(node, Ident) and node.name == parts.variable:
        return lambda _, items: items
    run = parts.constant(node)
    if run is not None:
        return lambda f, items: repeat(run(f), len(items))
    compute = _COLUMNS.get(node.function) if isinstance(node, Call) else None
    if compute is None:
        return None
    left, right = (_column(operand, parts) for operand in node.children())
    if left is None or right is None:
        return None
    return lambda f, items: map(compute, left(f, items), right(f, items))


_COLUMNS = {"_+_": operator.add, "_-_": operator.sub, "_*_": operator.mul}
