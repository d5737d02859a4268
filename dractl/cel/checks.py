"""Checks that upstream makes after parsing and type-checking and that cel-cpp lacks: cel-go's
validators, and the folding of constants.

The validators that Kubernetes enables are listed in apiserver/pkg/cel/environment/base.go; their
code is in cel-go cel/validator.go and ext/formatting.go. Constant folding is one of the planner's
optimizations in cel-go interpreter/{planner,decorators,optimizations}.go.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from dractl.cel import values as v
from dractl.cel.ast import Call, Const, Ident, ListLiteral, MapLiteral, Node, StructLiteral, element
from dractl.cel.functions.dispatch import dispatcher
from dractl.cel.functions.formatting import parse, wrong_type
from dractl.cel.functions.regex import BadPattern, compile_pattern
from dractl.cel.functions.time import parse_duration, parse_timestamp
from dractl.cel.issues import Issue
from dractl.cel.places import bool_mismatch, issue_at, may_be_bool, short_type
from dractl.cel.values import CelError

LocatedMessages = Iterator[tuple[int, str]]
"""Offsets and messages."""


def operand_types(nodes: Sequence[Node], source: str) -> tuple[Issue, ...]:
    """Return an issue for each operand of ``&&`` or ``||`` that is not a bool."""
    messages = [
        (argument.offset, bool_mismatch(argument.type))
        for node in nodes
        if isinstance(node, Call) and node.function in ("_&&_", "_||_")
        for argument in node.args
        if not may_be_bool(argument.type)
    ]
    return _issues_in_order(messages, source)


def literals(nodes: Sequence[Node], source: str) -> tuple[Issue, ...]:
    """Return an issue for each literal that cel-go rejects: doubles out of range, the names of
    Kubernetes' own types, values of these types.
    """
    messages: list[tuple[int, str]] = []
    for node in nodes:
        if isinstance(node, Const) and node.kind == "double" and math.isinf(node.value):
            messages.append((node.offset, "invalid double literal"))
        if isinstance(node, Ident) and node.name == "dyn" and node.type.startswith("type"):
            messages.append((node.offset, "undeclared reference to 'dyn' (in container '')"))
        elif (
            isinstance(node, Ident)
            and node.name != "kubernetes.DRADevice"
            and node.name.startswith("kubernetes.")
        ):
            start = node.offset - len(node.name.rpartition(".")[0])
            messages.append(
                (max(start, 0), "undeclared reference to 'kubernetes' (in container '')")
            )
        elif isinstance(node, StructLiteral) and node.name.startswith("kubernetes."):
            messages.append(
                (node.offset, f"undeclared reference to '{node.name}' (in container '')")
            )
    return _issues_in_order(messages, source)


def validators(nodes: Sequence[Node], source: str) -> tuple[Issue, ...]:
    """Return the issues of cel-go's AST validators for the nodes of a tree, the root first."""
    calls = [node for node in nodes if isinstance(node, Call)]
    messages: list[tuple[int, str]] = []
    for call in calls:
        if (
            call.function in ("duration", "timestamp")
            and len(call.args) == 1
            and call.target is None
        ):
            messages += _time_literal(call)
        elif call.function == "matches" and call.args:
            # The pattern is taken to be the first argument, even if that is the string of
            # matches(string, pattern): upstream's validator does not distinguish them.
            messages += _pattern_literal(call.args[0])
        elif call.function == "format" and call.target is not None:
            messages += _format_literal(call)
    if any(isinstance(node, (ListLiteral, MapLiteral)) for node in nodes):
        messages += _check_literal_types(nodes[0], False)
    return _issues_in_order(messages, source)


def _issues_in_order(messages: list[tuple[int, str]], source: str) -> tuple[Issue, ...]:
    return tuple(
        issue_at(message, offset, source)
        for offset, message in sorted(messages, key=lambda f: f[0])
    )


def _time_literal(call: Call) -> LocatedMessages:
    (argument,) = call.args
    if not isinstance(argument, Const):
        return

    valid = False
    if argument.kind == "string":
        if call.function == "duration":
            valid = parse_duration(argument.value) is not None
        else:
            parsed = parse_timestamp(argument.value)
            valid = parsed is not None and v.MIN_SECONDS <= parsed[0] // v.GIGA <= v.MAX_SECONDS
    elif argument.kind == "int" and call.function == "timestamp":
        valid = v.MIN_SECONDS <= argument.value <= v.MAX_SECONDS
    if not valid:
        yield argument.offset, f"invalid {call.function} argument"


def _pattern_literal(pattern: Node) -> LocatedMessages:
    if not isinstance(pattern, Const):
        return
    if pattern.kind == "string":
        try:
            compile_pattern(pattern.value)
        except BadPattern:
            pass
        else:
            return
    yield pattern.offset, "invalid matches argument"


def _check_literal_types(node: Node, exempt: bool) -> LocatedMessages:
    """Yield the elements of a list literal whose type differs from the first one's; likewise for
    the keys and the values of a map literal. Arguments of ``format`` are exempt.
    """
    exempt = exempt or (isinstance(node, Call) and node.function == "format")
    if not exempt and isinstance(node, ListLiteral):
        kinds = [
            element(e.type) if i in node.optional else e.type for i, e in enumerate(node.elements)
        ]
        for kind, item in zip(kinds, node.elements, strict=True):
            if not _equivalent(kinds[0], kind):
                yield item.offset, _type_mismatch(kinds[0], kind)
                break
    elif not exempt and isinstance(node, MapLiteral) and node.entries:
        values = [element(e.value.type) if e.optional else e.value.type for e in node.entries]
        first = node.entries[0].key.type
        for entry, kind in zip(node.entries, values, strict=True):
            if not _equivalent(first, entry.key.type):
                yield entry.key.offset, _type_mismatch(first, entry.key.type)
            if not _equivalent(values[0], kind):
                yield entry.value.offset, _type_mismatch(values[0], kind)
    for child in node.children():
        yield from _check_literal_types(child, exempt)


def _type_mismatch(wanted: str, actual: str) -> str:
    return f"expected type '{short_type(wanted)}' but found '{short_type(actual)}'"


_FREE = re.compile(r"<[^<>]*>")


def _equivalent(a: str, b: str) -> bool:
    """Return True for equal types; free type parameters equal each other."""
    return a == b or _FREE.sub("<>", a) == _FREE.sub("<>", b)


_INTEGERS = {"int", "uint", "dyn"}
_FORMATTABLE_TYPES = {
    "s": {
        *(
            "list",
            "map",
            "bool",
            "bytes",
            "string",
            "double",
            "dyn",
            "int",
            "null_type",
            "type",
            "uint",
        ),
        *("google.protobuf.Duration", "google.protobuf.Timestamp"),
    },
    "d": _INTEGERS,
    "o": _INTEGERS,
    "f": {"double", "string", "dyn"},
    "e": {"double", "string", "dyn"},
    "x": {*_INTEGERS, "string", "bytes"},
    "X": {*_INTEGERS, "string", "bytes"},
    "b": {*_INTEGERS, "bool"},
}


def _format_literal(call: Call) -> LocatedMessages:
    """Check the clauses of ``"literal".format([literal])``: each exists and accepts the static type
    of its argument.
    """
    template, arguments = call.target, call.args[0]
    if not (
        isinstance(template, Const)
        and template.kind == "string"
        and isinstance(arguments, ListLiteral)
    ):
        return
    used = 0
    for part in parse(template.value):
        if isinstance(part, str):
            continue
        if used >= len(arguments.elements) and part.letter:
            yield call.offset, f"index {used} out of range"
            return
        if part.fault:
            yield call.offset, part.fault
            return
        argument = arguments.elements[used]
        used += 1
        unfit = _find_misfit(argument, _FORMATTABLE_TYPES[part.letter], part.letter == "s")
        if unfit is not None:
            yield unfit.offset, wrong_type(part.letter, unfit.type.partition("(")[0])
            return
    if len(arguments.elements) > used:
        count = len(arguments.elements)
        yield (
            call.offset,
            f"too many arguments supplied to string.format (expected {used}, got {count})",
        )


def _find_misfit(node: Node, kinds: set[str], deep: bool) -> Node | None:
    """Return the value whose type does not fit: the argument itself or, with ``deep``, a part of a
    literal argument. None if all types fit.
    """
    if node.type.partition("(")[0] not in kinds:
        return node
    if deep and isinstance(node, (ListLiteral, MapLiteral)):
        return next(
            filter(None, (_find_misfit(child, kinds, deep) for child in node.children())), None
        )
    return None


# -- constants -------------------------------------------------------------------------------------

_CONVERSIONS = {
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "string",
    "timestamp",
    "type",
    "uint",
}
_VARIABLE = object()
_TYPE_NAMES = {
    *(
        "bool",
        "bytes",
        "double",
        "int",
        "list",
        "map",
        "null_type",
        "optional_type",
        "string",
        "type",
        "uint",
    ),
    *("net.IP", "net.CIDR", "google.protobuf.Duration", "google.protobuf.Timestamp"),
}


def fold(root: Node, release: int) -> None:
    """Fold constants as cel-go does when it makes a program. If that fails, raise CelError with the
    text that follows ``program instantiation failed:``.
    """
    _fold(root, release)


def _fold(node: Node, release: int) -> Any:
    """Return the value of a constant sub-expression, else ``_VARIABLE``; visit every
    sub-expression.
    """
    values = [_fold(child, release) for child in node.children()]
    if isinstance(node, Const):
        return v.Uint(node.value) if node.kind == "uint" else node.value
    if isinstance(node, Ident):
        if not node.type.startswith("type"):
            return _VARIABLE
        # These names are no types: duration, timestamp, and loop variables whose values are types,
        # which upstream takes for types
        if node.name not in _TYPE_NAMES:
            raise CelError(f"reference to undefined type: {node.name}")
        return v.TypeValue(node.name)
    if isinstance(node, (ListLiteral, MapLiteral)):
        constant = all(value is not _VARIABLE for value in values)
        if not constant:
            return _VARIABLE
        return values if isinstance(node, ListLiteral) else {}
    if isinstance(node, Call):
        if (
            node.function in _CONVERSIONS
            and len(values) == 1
            and values[0] is not _VARIABLE
            and node.target is None
        ):
            return dispatcher(node.function, node.overloads, release)(values[0])
        if node.function in ("_[_]", "_[?_]") and values[1] is not _VARIABLE:
            v.qualifier(values[1])
        if (
            node.function in ("matches", "find", "findAll")
            and len(values) >= 2
            and isinstance(values[1], str)
        ):
            try:
                compile_pattern(values[1])
            except BadPattern as error:
                raise CelError(str(error)) from None
    return _VARIABLE
