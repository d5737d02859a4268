"""Start and end of each sub-expression in the source.

The checked tree has one offset per node (an operator's sign, a call's parenthesis, a selection's
dot); the other offsets come from the tokens.
"""

from dractl.cel.ast import (
    Call,
    Checked,
    Comprehension,
    Const,
    Ident,
    ListLiteral,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from dractl.cel.tokens import Token, brackets, is_name, operand_start, tokenize

Span = tuple[int, int]


class Spans:
    """Code-point offsets ``(start, end)`` of nodes, end exclusive."""

    def __init__(self, checked: Checked) -> None:
        self.source = checked.source
        self.tokens = tokenize(checked.source)
        self.index = {token.start: i for i, token in enumerate(self.tokens)}
        self.closing = brackets(checked.source)
        self.known: dict[int, Span] = {}

    def span(self, node: Node) -> Span:
        """Return the place of a node, without parentheses around it."""
        if id(node) not in self.known:
            self.known[id(node)] = self._span(node)
        return self.known[id(node)]

    def field(self, node: Node) -> int:
        """Return the start of the name in ``operand.name``, ``operand.?name`` and
        ``has(operand.name)``.
        """
        if isinstance(node, Select) and node.test:
            last = self._index_at(self.span(node)[1] - 1) - 1
            return self.tokens[max(last, 0)].content_start
        following = min(self._index_at(node.offset) + 1, len(self.tokens) - 1)
        return self.tokens[following].content_start

    def content(self, literal: Node) -> int:
        """Return the start of a string literal's own characters, after its quote."""
        return self.tokens[self._index_at(literal.offset)].content_start

    def _span(self, node: Node) -> Span:
        match node:
            case Const():
                return self._token(node.offset)
            case Ident():
                return self._ident(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case Comprehension():
                return self._macro(node)
            case ListLiteral() | MapLiteral():
                return node.offset, self._close(node.offset)
            case StructLiteral():
                return self._chain_start(self._index_at(node.offset) - 1), self._close(node.offset)
        raise TypeError(f"unknown node {node!r}")

    # -- tokens ------------------------------------------------------------------------------------

    def _index_at(self, offset: int) -> int:
        """Return the index of the token that begins at an offset or contains it."""
        index = self.index.get(offset)
        if index is not None:
            return index
        return next(
            (i for i, t in enumerate(self.tokens) if t.end > offset), max(len(self.tokens) - 1, 0)
        )

    def _token(self, offset: int) -> Span:
        if not self.tokens:
            return 0, len(self.source)
        i = self._index_at(offset)
        token = self.tokens[i]
        if token.text == "-" and i + 1 < len(self.tokens):  # the sign of a number
            return token.start, self.tokens[i + 1].end
        return token.span

    def _close(self, offset: int) -> int:
        """Return the offset after the bracket that closes the one at an offset."""
        return self.closing.get(offset, len(self.source) - 1) + 1

    def _previous_token(self, i: int) -> Token | None:
        return self.tokens[i - 1] if 0 < i <= len(self.tokens) else None

    def _chain_start(self, i: int) -> int:
        """Return the start of a dotted name whose last part is token ``i``."""
        while i >= 2 and self.tokens[i - 1].text == "." and self.tokens[i - 2].kind == "name":
            i -= 2
        return self.tokens[max(i, 0)].start if self.tokens else 0

    # -- nodes -------------------------------------------------------------------------------------

    def _ident(self, node: Ident) -> Span:
        i = self._index_at(node.offset)
        if not self.tokens:
            return 0, len(self.source)
        token = self.tokens[i]
        if "." not in node.name:
            return token.span
        if token.text == ".":  # a dotted variable has the offset of its last dot
            i += 1
        elif token.kind == "name":  # a dotted variable can also have the offset of its first part
            parts = node.name.count(".")
            while parts and i + 2 < len(self.tokens) and self.tokens[i + 1].text == ".":
                i, parts = i + 2, parts - 1
        i = min(i, len(self.tokens) - 1)
        return self._chain_start(i), self.tokens[i].end

    def _select(self, node: Select) -> Span:
        i = self._index_at(node.offset)
        if node.test:  # the offset of has(...) is inside the call: search back for its name
            while i > 0 and self.tokens[i].text != "has":
                i -= 1
            opening = self.tokens[i + 1].start if i + 1 < len(self.tokens) else self.tokens[i].start
            return self.tokens[i].start, self._close(opening)
        start, end = self.operand(node.operand)
        if i + 1 < len(self.tokens):
            end = max(end, self.tokens[i + 1].end)
        return start, end

    def _call(self, node: Call) -> Span:
        i = self._index_at(node.offset)
        token = self.tokens[i] if self.tokens else None
        if token is None:
            return 0, len(self.source)
        if self.is_generated(node):
            return self._macro(node)
        if token.text in ("(", "[", "[?") and node.function != "_?._":
            end = self._close(token.start)
            if node.target is not None:
                return self.operand(node.target)[0], end
            if node.function in ("_[_]", "_[?_]"):
                return self.operand(node.args[0])[0], end
            return self._chain_start(i - 1), end
        if node.function == "_?._":
            start, _ = self.operand(node.args[0])
            following = self.tokens[min(i + 1, len(self.tokens) - 1)]
            return start, following.end
        spans = [self.operand(child) for child in node.children()]
        start = min([token.start, *(s for s, _ in spans)])
        end = max([token.end, *(e for _, e in spans)])
        return start, end

    def operand(self, node: Node) -> Span:
        """Return the place of a node with the parentheses around it."""
        start, end = self.span(node)
        while True:
            first = self._index_at(start)
            before = self._previous_token(first)
            if before is None or before.text != "(" or self.closing.get(before.start) is None:
                return start, end
            caller = self._previous_token(first - 1)
            close = self.closing[before.start]
            if (caller is not None and is_name(caller)) or self.source[end:close].strip():
                return start, end
            start, end = before.start, close + 1

    def _macro(self, node: Node) -> Span:
        """Return the place of a macro: the offset of its node is the parenthesis of the call."""
        i = self._call_at(node)
        if i is None:
            return self._token(node.offset)
        name = i - 1
        first = operand_start(self.source, name)
        return self.tokens[first].start, self._close(self.tokens[i].start)

    # -- macros ------------------------------------------------------------------------------------

    def _call_at(self, node: Node) -> int | None:
        """Return the index of the parenthesis at the offset of a node."""
        i = self._index_at(node.offset)
        return i if 0 < i < len(self.tokens) and self.tokens[i].text == "(" else None

    def callee_name(self, node: Node) -> str:
        """Return the name before the parenthesis at the offset of a node; "" if there is none."""
        i = self._call_at(node)
        return self.tokens[i - 1].text if i is not None and is_name(self.tokens[i - 1]) else ""

    def is_generated(self, node: Node) -> bool:
        """Return True if a macro's expansion made the call: the source has another name at its
        offset.
        """
        if not isinstance(node, Call):
            return False
        name = self.callee_name(node)
        return bool(name) and name != node.function.rpartition(".")[2]
