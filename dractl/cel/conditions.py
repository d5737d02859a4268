"""Conditions of an expression: operands of ``&&``, and comparisons of the device with literals."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from dractl.cel.ast import Call, Comprehension, Const, Ident, ListLiteral, Node, Select
from dractl.cel.functions.kubernetes import parse_quantity
from dractl.cel.lookups import Lookup
from dractl.cel.spans import Spans
from dractl.cel.tokens import Part, Token, tokenize

_OPERATORS = {
    "_==_": "==",
    "_!=_": "!=",
    "_<_": "<",
    "_<=_": "<=",
    "_>_": ">",
    "_>=_": ">=",
    "@in": "in",
}
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_METHODS = {"isGreaterThan": ">", "isLessThan": "<"}
_CONVERSIONS = ("quantity", "semver")


class Excerpt(Part, frozen=True):
    """A part of an expression with its text."""

    text: str


class Literal(Part, frozen=True):
    """A literal operand of a comparison, whose text is from ``start`` to ``end``."""

    kind: str
    """The name of the literal's type; ``quantity`` and ``semver`` for ``quantity("80Gi")`` and
    ``semver("1.2.3")``.
    """
    value: Any
    """The value; for a quantity or version, the string argument."""
    text: str
    """The literal as written, without the call around it."""

    @property
    def key(self) -> tuple[str, Any]:
        """Return a key that is equal for literals that are equal in CEL: numbers of different
        types, equal amounts in different units, versions that differ only in build metadata (semver
        2.0, section 10).
        """
        if self.kind == "semver":
            return self.kind, str(self.value).partition("+")[0]
        if self.kind == "quantity":
            try:
                return self.kind, parse_quantity(str(self.value)).exact()
            except ValueError:  # lint rule DRA601 reports the invalid quantity
                return self.kind, str(self.value)
        return "number" if self.kind in ("int", "uint", "double") else self.kind, self.value


class Comparison(Part, frozen=True):
    """A comparison ``lookup OPERATOR literal``. A comparison that is written as ``literal OPERATOR
    lookup`` is turned round.
    """

    lookup: Lookup | None
    """The lookup; None for ``device.driver``."""
    operator: str
    """One of ``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=`` and ``in``; ``compareTo``,
    ``isGreaterThan`` and ``isLessThan`` are treated as these operators.
    """
    literals: tuple[Literal, ...]
    """The literal, or the literals of the list after ``in``."""
    operand_end: int
    """The end of the compared operand."""
    default: Literal | None = None
    """The argument of ``orValue``; None if there is none, or if it is not a literal."""
    required: bool = False
    """True if the whole expression can only be true when this comparison is true."""
    negated: bool = False
    """True below an odd number of ``!``."""


def conjuncts(root: Node, spans: Spans) -> tuple[Excerpt, ...]:
    """Return the conditions that must all hold: the whole expression, or its parts if it joins
    several by ``&&``.

    Each of several conditions keeps its parentheses; a single condition does not.
    """
    nodes = tuple(walk_conjuncts(root))
    places = [spans.operand(node) for node in nodes] if len(nodes) > 1 else [spans.span(root)]
    return tuple(Excerpt(start, end, spans.source[start:end]) for start, end in places)


def walk_conjuncts(node: Node) -> Iterator[Node]:
    """Yield the trees of the conditions that must all hold, in the order of the source."""
    if isinstance(node, Call) and node.function == "_&&_":
        for part in node.args:
            yield from walk_conjuncts(part)
    else:
        yield node


def comparisons(root: Node, spans: Spans, lookups: Iterable[Lookup]) -> tuple[Comparison, ...]:
    """Return every comparison of a lookup, or of ``device.driver``, with literals only."""
    reader = _Reader(spans, {lookup.span: lookup for lookup in lookups if not lookup.tested})
    return tuple(reader.read(root, True, False))


class _Reader:
    def __init__(self, spans: Spans, lookups: dict[tuple[int, int], Lookup]) -> None:
        self.spans = spans
        self.lookups = lookups

    def read(self, node: Node, required: bool, negated: bool) -> Iterator[Comparison]:
        comparison = self.comparison(node) if isinstance(node, Call) else None
        if comparison is not None:
            yield replace(comparison, required=required, negated=negated)
            return
        function = node.function if isinstance(node, Call) else ""
        binds = isinstance(node, Comprehension) and node.binds
        for child in node.children():
            holds = required and (function == "_&&_" or (binds and child is node.children()[-1]))
            yield from self.read(child, holds, negated != (function == "!_"))

    def comparison(self, node: Call) -> Comparison | None:
        if node.function in _METHODS and node.target is not None:
            return self.make_comparison(node, node.target, _METHODS[node.function], node.args)
        operator = _OPERATORS.get(node.function)
        if operator is None or len(node.args) != 2:
            return None
        left, right = node.args
        if operator == "in":
            return (
                self.make_comparison(node, left, operator, right.elements)
                if isinstance(right, ListLiteral)
                else None
            )
        if isinstance(left, Const) or self.literal(left) is not None:
            left, right, operator = right, left, _FLIPPED.get(operator, operator)
        if isinstance(left, Call) and left.function == "compareTo" and left.target is not None:
            zero = isinstance(right, Const) and right.value == 0
            return self.make_comparison(node, left.target, operator, left.args) if zero else None
        return self.make_comparison(node, left, operator, (right,))

    def make_comparison(
        self, node: Call, operand: Node, operator: str, values: Sequence[Node]
    ) -> Comparison | None:
        literals = tuple(map(self.literal, values))
        if not literals or None in literals:
            return None
        default = None
        end = self.spans.span(operand)[1]
        if (
            isinstance(operand, Call)
            and operand.function == "orValue"
            and operand.target is not None
        ):
            default = self.literal(operand.args[0])
            operand = operand.target
        lookup = self.lookups.get(self.spans.span(operand))
        if lookup is None and not _is_driver(operand):
            return None
        complete = tuple(literal for literal in literals if literal is not None)
        return Comparison(*self.spans.span(node), lookup, operator, complete, end, default)

    def literal(self, node: Node) -> Literal | None:
        if isinstance(node, Const):
            start, end = self.spans.span(node)
            return Literal(start, end, node.kind, node.value, self.spans.source[start:end])
        if (
            isinstance(node, Call)
            and node.function in _CONVERSIONS
            and node.args
            and isinstance(node.args[0], Const)
        ):
            inner = self.literal(node.args[0])
            return replace(inner, kind=node.function) if inner is not None else None
        return None


def _is_driver(node: Node) -> bool:
    if isinstance(node, Select):
        return node.field == "driver" and not node.test and isinstance(node.operand, Ident)
    return isinstance(node, Ident) and node.name == "device.driver"


def driver_comparisons(text: str) -> tuple[Comparison, ...]:
    """Return the comparisons ``device.driver == "..."`` and ``device.driver in [...]`` of an
    expression that does not compile.
    """
    tokens = tokenize(text)
    alternatives = any(token.text in ("||", "?", "!", "!=") for token in tokens)
    comparisons = []
    for i in range(len(tokens) - 2):
        if [token.text for token in tokens[i : i + 3]] != ["device", ".", "driver"]:
            continue
        before, after = tokens[max(i - 2, 0) : i], tokens[i + 3 :]
        literals: list[Token] = []
        if len(after) > 1 and after[0].text == "==":
            literals, operator = [after[1]], "=="
        elif len(before) == 2 and before[1].text == "==":
            literals, operator = [before[0]], "=="
        elif len(after) > 1 and (after[0].text, after[1].text) == ("in", "["):
            end = next((n for n, token in enumerate(after) if token.text == "]"), len(after))
            literals, operator = [token for token in after[2:end] if token.text != ","], "in"
        names = [
            token for token in literals if token.kind == "string" and token.content is not None
        ]
        if names and len(names) == len(literals):
            places = [tokens[i].start, tokens[i + 2].end, names[0].start, names[-1].end]
            strings = tuple(
                Literal(*token.span, "string", token.content, token.text) for token in names
            )
            whole = min(places), max(places)
            comparisons.append(
                Comparison(
                    *whole, None, operator, strings, tokens[i + 2].end, required=not alternatives
                )
            )
    return tuple(comparisons)


def first_arguments(tokens: Sequence[Token], function: str) -> Iterator[tuple[Excerpt, str]]:
    """Yield each call of a global function whose first argument is a plain string: that string
    without its quotes, and the token after it (``,`` or ``)``). The expression need not compile.
    """
    for i, (name, opening, argument, after) in enumerate(
        zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False)
    ):
        called = name.kind == "name" and name.text == function and opening.text == "("
        if not called or (i and tokens[i - 1].text in (".", ".?")) or after.text not in (",", ")"):
            continue
        if argument.kind == "string" and argument.content is not None:
            start = argument.content_start
            yield Excerpt(start, start + len(argument.content), argument.content), after.text
