"""The checked tree of an expression. Nodes are compared by identity: equal texts stand in several places."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct

DYN = "dyn"


class Node(Struct, frozen=True, eq=False):
    """A sub-expression. ``type`` is its static type as cel-go prints it, ``offset`` its place in code points."""

    id: int
    type: str
    offset: int

    def children(self) -> tuple[Node, ...]:
        return ()


class Const(Node, frozen=True, eq=False):
    """A literal; ``kind`` is the name of its type."""

    kind: str
    value: Any


class Ident(Node, frozen=True, eq=False):
    name: str


class Select(Node, frozen=True, eq=False):
    """``operand.field``, or ``has(operand.field)`` if ``test``."""

    operand: Node
    field: str
    test: bool

    def children(self) -> tuple[Node, ...]:
        return (self.operand,)


class Call(Node, frozen=True, eq=False):
    """A function, member function or operator; ``target`` is the operand before the dot."""

    function: str
    target: Node | None
    args: tuple[Node, ...]
    overloads: tuple[str, ...]

    def children(self) -> tuple[Node, ...]:
        return self.args if self.target is None else (self.target, *self.args)


class ListLiteral(Node, frozen=True, eq=False):
    """``optional`` has the indices of the elements written ``?x``."""

    elements: tuple[Node, ...]
    optional: frozenset[int]

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
    """A message; a field is its name, its value, and whether it is written ``?field``."""

    name: str
    fields: tuple[tuple[str, Node, bool], ...]

    def children(self) -> tuple[Node, ...]:
        return tuple(value for _, value, _ in self.fields)


class Comprehension(Node, frozen=True, eq=False):
    """An expanded macro. ``second`` is the second loop variable, "" if there is only one."""

    variable: str
    second: str
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
        """Every node, parents first, in the order of the source."""
        return walk(self.root)


def walk(root: Node) -> Iterator[Node]:
    """A node and all below it, parents first, in the order of the source."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children()))


def element(kind: str) -> str:
    """The parameter of ``list(T)`` or ``optional_type(T)``; ``dyn`` for any other type."""
    return parameters(kind)[0] if "(" in kind else DYN


@lru_cache(1024)
def parameters(kind: str) -> tuple[str, ...]:
    """``map(string, list(int))`` has ``("string", "list(int)")``."""
    if "(" not in kind:
        return ()
    found: list[str] = []
    depth = 0
    start = kind.index("(") + 1
    for i in range(start, len(kind) - 1):
        c = kind[i]
        if c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
        elif c == "," and depth == 0:
            found.append(kind[start:i].strip())
            start = i + 1
    return (*found, kind[start:-1].strip())
