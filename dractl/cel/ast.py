"""The checked tree of an expression. Nodes are compared by identity, since equal texts can occur in
several places.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct

DYN = "dyn"


class Node(Struct, frozen=True, eq=False):
    """A sub-expression."""

    id: int
    type: str
    """The static type of the sub-expression, as cel-go prints it."""
    offset: int
    """The place in the source, in code points."""

    def children(self) -> tuple[Node, ...]:
        return ()


class Const(Node, frozen=True, eq=False):
    """A literal."""

    kind: str
    """The name of the literal's type."""
    value: Any


class Ident(Node, frozen=True, eq=False):
    name: str


class Select(Node, frozen=True, eq=False):
    """A selection: ``operand.field``, or ``has(operand.field)``."""

    operand: Node
    field: str
    test: bool
    """True for ``has(operand.field)``."""

    def children(self) -> tuple[Node, ...]:
        return (self.operand,)


class Call(Node, frozen=True, eq=False):
    """A function, member function or operator."""

    function: str
    target: Node | None
    """The operand before the dot."""
    args: tuple[Node, ...]
    overloads: tuple[str, ...]

    def children(self) -> tuple[Node, ...]:
        return self.args if self.target is None else (self.target, *self.args)


class ListLiteral(Node, frozen=True, eq=False):
    """A list written in the source."""

    elements: tuple[Node, ...]
    optional: frozenset[int]
    """The indices of the elements that are written as ``?x``."""

    def children(self) -> tuple[Node, ...]:
        return self.elements


class MapEntry(Struct, frozen=True, eq=False):
    key: Node
    value: Node
    optional: bool


class MapLiteral(Node, frozen=True, eq=False):
    entries: tuple[MapEntry, ...]

    def children(self) -> tuple[Node, ...]:
        return tuple(node for entry in self.entries for node in (entry.key, entry.value))


class StructLiteral(Node, frozen=True, eq=False):
    """A message written in the source."""

    name: str
    fields: tuple[tuple[str, Node, bool], ...]
    """The fields: name, value, and whether it is written ``?field``."""

    def children(self) -> tuple[Node, ...]:
        return tuple(value for _, value, _ in self.fields)


class Comprehension(Node, frozen=True, eq=False):
    """An expanded macro."""

    variable: str
    second: str
    """The second loop variable, "" if there is only one."""
    accumulator: str
    range: Node
    init: Node
    condition: Node
    step: Node
    result: Node

    def children(self) -> tuple[Node, ...]:
        return (self.range, self.init, self.condition, self.step, self.result)

    @property
    def binds(self) -> bool:
        """True if this is ``cel.bind``, which is not a loop but a variable with a value."""
        return (
            isinstance(self.range, ListLiteral)
            and not self.range.elements
            and isinstance(self.condition, Const)
            and self.condition.value is False
        )


class Checked(Struct, frozen=True, eq=False):
    """A checked expression: its tree and its source."""

    root: Node
    source: str

    def walk(self) -> Iterator[Node]:
        """Yield every node, parents first, in the order of the source."""
        return walk(self.root)


def walk(root: Node) -> Iterator[Node]:
    """Yield a node and everything below it, parents first, in the order of the source."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children()))


def element(kind: str) -> str:
    """Return the parameter of ``list(T)`` or ``optional_type(T)``; ``dyn`` for any other type."""
    return parameters(kind)[0] if "(" in kind else DYN


@lru_cache(1024)
def parameters(kind: str) -> tuple[str, ...]:
    """Return the parameters of a type: ``("string", "list(int)")`` for ``map(string,
    list(int))``.
    """
    if "(" not in kind:
        return ()
    kinds: list[str] = []
    depth = 0
    start = kind.index("(") + 1
    for i in range(start, len(kind) - 1):
        c = kind[i]
        if c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
        elif c == "," and depth == 0:
            kinds.append(kind[start:i].strip())
            start = i + 1
    return (*kinds, kind[start:-1].strip())
