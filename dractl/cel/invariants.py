"""Sub-expressions that keep their value, for one round of a loop, one device or all devices."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct

from dractl.cel.ast import Comprehension, Ident, Node

EXPRESSION_LEVEL, DEVICE_LEVEL = 0, 1
"""The levels of sub-expressions that keep their value for all devices, and for all loops on one
device. The variables of a loop have a level above all levels that the loop can see.
"""

VARYING = 1 << 30
"""The level of a variable that ``cel.bind`` binds to a loop. Its first use costs more than later
ones, so no sub-expression with it can be remembered.
"""


class Dependencies(Struct, frozen=True):
    """The identifiers and loops that decide the value and the cost of a sub-expression."""

    names: frozenset[str] = frozenset()
    """The identifiers in the sub-expression, without the variables that it declares itself."""
    loops: bool = False
    """True if the sub-expression contains a loop, so that its evaluation has a cost."""


def dependencies(root: Node) -> dict[int, Dependencies]:
    """Return the dependencies of every sub-expression by its ``id()``."""
    by_node: dict[int, Dependencies] = {}
    _visit(root, by_node)
    return by_node


def _visit(node: Node, by_node: dict[int, Dependencies]) -> Dependencies:
    below = [_visit(child, by_node) for child in node.children()]
    if isinstance(node, Ident):
        names = frozenset((node.name,))
    elif isinstance(node, Comprehension):
        over, init, condition, step, result = (child.names for child in below)
        variables = {node.variable, node.second, node.accumulator}
        names = over | init | ((condition | step) - variables) | (result - {node.accumulator})
    else:
        names = _EMPTY.union(*(child.names for child in below))
    loops = any(child.loops for child in below) or (
        isinstance(node, Comprehension) and not node.binds
    )
    by_node[id(node)] = Dependencies(names, loops)
    return by_node[id(node)]


_EMPTY: frozenset[str] = frozenset()


def level_of(names: Iterable[str], levels: Callable[[str], int | None]) -> int:
    """Return the level of a sub-expression with these identifiers; ``levels`` returns the level of
    a variable, and None for other identifiers.
    """
    highest = EXPRESSION_LEVEL
    for name in names:
        level = levels(name)
        if level is None:
            is_device = name == "device" or name.startswith("device.")
            level = DEVICE_LEVEL if is_device else EXPRESSION_LEVEL
        highest = max(highest, level)
    return highest
