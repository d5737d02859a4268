"""The checked tree of an expression, decoded from ``cel.expr.CheckedExpr``.

The wire format is decoded here: importing and building protobuf's message classes takes 15 ms, and they would be
copied into these nodes anyway. Field numbers: cel-spec proto/cel/expr/{checked,syntax}.proto.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dractl.cel.rewrite import FLATTEN
from dractl.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

DYN = "dyn"


# Plain classes: ten dataclasses would double what importing this package costs.


class Node:
    """A sub-expression. ``type`` is its static type as cel-go prints it, ``offset`` its place in code points."""

    __slots__ = ("id", "offset", "type")

    def __init__(self, identity: int, kind: str, offset: int) -> None:
        self.id = identity
        self.type = kind
        self.offset = offset

    def children(self) -> tuple[Node, ...]:
        return ()


class Const(Node):
    """A literal; ``kind`` is the name of its type."""

    __slots__ = ("kind", "value")

    def __init__(self, identity: int, kind: str, offset: int, literal: str, value: Any) -> None:
        super().__init__(identity, kind, offset)
        self.kind = literal
        self.value = value


class Ident(Node):
    __slots__ = ("name",)

    def __init__(self, identity: int, kind: str, offset: int, name: str) -> None:
        super().__init__(identity, kind, offset)
        self.name = name


class Select(Node):
    """``operand.field``, or ``has(operand.field)`` if ``test``."""

    __slots__ = ("field", "operand", "test")

    def __init__(self, identity: int, kind: str, offset: int, operand: Node, field: str, test: bool) -> None:
        super().__init__(identity, kind, offset)
        self.operand = operand
        self.field = field
        self.test = test

    def children(self) -> tuple[Node, ...]:
        return (self.operand,)


class Call(Node):
    """A function, member function or operator; ``target`` is the operand before the dot."""

    __slots__ = ("args", "function", "overloads", "target")

    def __init__(
        self,
        identity: int,
        kind: str,
        offset: int,
        function: str,
        target: Node | None,
        args: tuple[Node, ...],
        overloads: tuple[str, ...],
    ) -> None:
        super().__init__(identity, kind, offset)
        self.function = function
        self.target = target
        self.args = args
        self.overloads = overloads

    def children(self) -> tuple[Node, ...]:
        return self.args if self.target is None else (self.target, *self.args)


class ListLiteral(Node):
    """``optional`` has the indices of the elements written ``?x``."""

    __slots__ = ("elements", "optional")

    def __init__(
        self, identity: int, kind: str, offset: int, elements: tuple[Node, ...], optional: frozenset[int]
    ) -> None:
        super().__init__(identity, kind, offset)
        self.elements = elements
        self.optional = optional

    def children(self) -> tuple[Node, ...]:
        return self.elements


class Entry(NamedTuple):
    key: Node
    value: Node
    optional: bool


class MapLiteral(Node):
    __slots__ = ("entries",)

    def __init__(self, identity: int, kind: str, offset: int, entries: tuple[Entry, ...]) -> None:
        super().__init__(identity, kind, offset)
        self.entries = entries

    def children(self) -> tuple[Node, ...]:
        return tuple(node for entry in self.entries for node in (entry.key, entry.value))


class StructLiteral(Node):
    """A message; a field is its name, its value, and whether it is written ``?field``."""

    __slots__ = ("fields", "name")

    def __init__(
        self, identity: int, kind: str, offset: int, name: str, fields: tuple[tuple[str, Node, bool], ...]
    ) -> None:
        super().__init__(identity, kind, offset)
        self.name = name
        self.fields = fields

    def children(self) -> tuple[Node, ...]:
        return tuple(value for _, value, _ in self.fields)


class Comprehension(Node):
    """An expanded macro. ``second`` is the second loop variable, "" if there is only one."""

    __slots__ = ("accumulator", "condition", "init", "range", "result", "second", "step", "variable")

    def __init__(
        self,
        identity: int,
        kind: str,
        offset: int,
        names: tuple[str, str, str],
        parts: tuple[Node, Node, Node, Node, Node],
    ) -> None:
        super().__init__(identity, kind, offset)
        self.variable, self.second, self.accumulator = names
        self.range, self.init, self.condition, self.step, self.result = parts

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


class Checked(NamedTuple):
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


def decode(serialized: bytes, source: str, tests: dict[int, str] | None = None) -> Checked:
    """Decodes the result of ``cel_expr_python.cel.Expression.serialize``.

    ``tests`` says at which offsets a ``!`` stands for ``has(device.FIELD)`` (see :mod:`dractl.cel.rewrite`).
    """
    types: dict[int, str] = {}
    overloads: dict[int, tuple[str, ...]] = {}
    offsets: dict[int, int] = {}
    expression = b""
    for number, value in _fields(_only(serialized, 2)):
        if number == 3:
            key, content = _entry(value)
            types[key] = _type(content or b"")
        elif number == 2:
            key, content = _entry(value)
            overloads[key] = _overloads(content or b"")
        elif number == 4:
            expression = value
        elif number == 5:
            offsets = {key: content or 0 for n, v in _fields(value) if n == 4 for key, content in (_entry(v),)}
    return Checked(_Decoder(types, overloads, offsets, tests or {}).node(expression), source)


def _fields(data: bytes) -> list[tuple[int, Any]]:
    """The fields of a message: varints as int, the rest as bytes."""
    found: list[tuple[int, Any]] = []
    i = 0
    end = len(data)
    while i < end:
        tag = data[i]
        i += 1
        wire = tag & 7
        number = tag >> 3  # every field of these messages has a number below 16
        if wire == 5 or wire == 1:
            size = 4 if wire == 5 else 8
        else:
            size = data[i]
            i += 1
            if size > 127:
                size &= 127
                shift = 7
                while True:
                    byte = data[i]
                    i += 1
                    size |= (byte & 127) << shift
                    if byte < 128:
                        break
                    shift += 7
            if wire == 0:
                found.append((number, size))
                continue
        found.append((number, data[i : i + size]))
        i += size
    return found


def _entry(data: bytes) -> tuple[int, Any]:
    """An entry of a map with integer keys; the value is None if it is the default."""
    if len(data) > 3 and data[0] == 8 and data[1] < 128:  # nearly all: a small key, and bytes or a small number
        if data[2] == 18 and data[3] < 128:
            return data[1], data[4:]
        if data[2] == 16 and data[3] < 128:
            return data[1], data[3]
    parts = dict(_fields(data))
    return parts.get(1, 0), parts.get(2)


@lru_cache(1024)
def _overloads(data: bytes) -> tuple[str, ...]:
    return tuple(value.decode() for number, value in _fields(data) if number == 3)


def _only(data: bytes, wanted: int) -> bytes:
    return bytes(next(value for number, value in _fields(data) if number == wanted))


_PRIMITIVE = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}
_WELL_KNOWN = {1: "google.protobuf.Any", 2: "google.protobuf.Timestamp", 3: "google.protobuf.Duration"}


@lru_cache(4096)
def _type(data: bytes) -> str:
    for number, value in _fields(data):
        if number == 3:
            return _PRIMITIVE[value]
        if number == 1:
            return DYN
        if number == 2:
            return "null_type"
        if number == 4:
            return f"wrapper({_PRIMITIVE[value]})"
        if number == 5:
            return _WELL_KNOWN[value]
        if number == 6:
            return f"list({next((_type(v) for n, v in _fields(value) if n == 1), DYN)})"
        if number == 7:
            parts = dict(_fields(value))
            return f"map({_type(parts[1]) if 1 in parts else DYN}, {_type(parts[2]) if 2 in parts else DYN})"
        if number == 9:
            return str(value.decode())
        if number == 10:
            return f"<{value.decode()}>"
        if number == 11:
            return f"type({_type(value)})" if value else "type"
        if number == 12:
            return "!error!"
        if number == 14:
            found = _fields(value)
            name = next((v.decode() for n, v in found if n == 1), "")
            inner = ", ".join(_type(v) for n, v in found if n == 2)
            return f"{name}({inner})" if inner else name
    return DYN


class _Decoder:
    def __init__(
        self,
        types: dict[int, str],
        overloads: dict[int, tuple[str, ...]],
        offsets: dict[int, int],
        tests: dict[int, str],
    ) -> None:
        self.tests = tests
        self.types = types
        self.overloads = overloads
        self.offsets = offsets

    def node(self, data: bytes) -> Node:
        identity = 0
        kind = 0
        body: Any = b""
        for number, value in _fields(data):
            if number == 2:
                identity = value
            else:
                kind, body = number, value
        place = (identity, self.types.get(identity, DYN), self.offsets.get(identity, 0))
        if kind == 3:
            return Const(*place, *_constant(body))
        if kind == 4:
            return Ident(*place, _text(body, 1))
        if kind == 5:
            parts = dict(_fields(body))
            return Select(*place, self.node(parts[1]), parts.get(2, b"").decode(), bool(parts.get(3, 0)))
        if kind == 6:
            call = self._call(place, body)
            if call.offset in self.tests and call.function == "!_":
                device = Ident(-identity, "kubernetes.DRADevice", call.offset, "device")
                return Select(*place, device, self.tests[call.offset], True)
            return call
        if kind == 7:
            found = _fields(body)
            optional: set[int] = set()
            for number, value in found:
                if number == 2:
                    optional.update([value] if isinstance(value, int) else _packed(value))
            return ListLiteral(*place, tuple(self.node(v) for n, v in found if n == 1), frozenset(optional))
        if kind == 8:
            return self._struct(place, body)
        if kind == 9:
            parts = dict(_fields(body))
            first, second, accumulator = (parts.get(n, b"").decode() for n in (1, 8, 3))
            range_, init, condition, step, result = (self.node(parts[n]) for n in (2, 4, 5, 6, 7))
            return Comprehension(*place, (first, second, accumulator), (range_, init, condition, step, result))
        return Const(*place, "null_type", None)

    def _call(self, place: tuple[int, str, int], body: bytes) -> Call:
        target: Node | None = None
        function = ""
        args: list[Node] = []
        for number, value in _fields(body):
            if number == 3:
                args.append(self.node(value))
            elif number == 2:
                function = value.decode()
                if function == FLATTEN:
                    function = "flatten"
            else:
                target = self.node(value)
        return Call(*place, function, target, tuple(args), self.overloads.get(place[0], ()))

    def _struct(self, place: tuple[int, str, int], body: bytes) -> Node:
        found = _fields(body)
        entries = [dict(_fields(value)) for number, value in found if number == 2]
        name = _text(body, 1)
        if not name:
            return MapLiteral(
                *place, tuple(Entry(self.node(e[3]), self.node(e[4]), bool(e.get(5, 0))) for e in entries)
            )
        return StructLiteral(
            *place, name, tuple((e.get(2, b"").decode(), self.node(e[4]), bool(e.get(5, 0))) for e in entries)
        )


def _text(data: bytes, wanted: int) -> str:
    return next((value.decode() for number, value in _fields(data) if number == wanted), "")


def _packed(data: bytes) -> list[int]:
    values: list[int] = []
    current = shift = 0
    for byte in data:
        current |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            values.append(current)
            current = shift = 0
    return values


def _constant(data: bytes) -> tuple[str, Any]:
    for number, value in _fields(data):
        if number == 6:
            return "string", value.decode("utf-8", "surrogatepass")
        if number == 3:
            return "int", value - (1 << 64) if value >= 1 << 63 else value
        if number == 2:
            return "bool", bool(value)
        if number == 4:
            return "uint", value
        if number == 5:
            return "double", struct.unpack("<d", value)[0]
        if number == 7:
            return "bytes", value
    return "null_type", None
