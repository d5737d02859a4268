"""Lookups of a device in an expression, with the place of each name in its text.

They come from the checked tree, or from the tokens if the expression does not compile.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from dractl.cel.ast import Call, Comprehension, Const, Ident, Node, Select
from dractl.cel.device import Field
from dractl.cel.spans import Spans
from dractl.cel.tokens import Part, Token, brackets, tokenize

_MAPS = ("attributes", "capacity")
_INDEXING = ("_[_]", "_[?_]", "_?._")


class Lookup(Part, frozen=True):
    """A lookup such as ``device.attributes["domain"].name``, from ``start`` to ``end``. All places
    are offsets in code points.
    """

    kind: str
    domain: str
    name: str | None
    """The name; None if the domain's map is used as a whole
    (``device.attributes["domain"].size()``).
    """
    domain_start: int
    """The offset at which the domain begins, after a quote."""
    name_start: int
    """The offset at which the name begins, after a quote."""
    optional: bool = False
    """True if the lookup is written with ``?``, so that an absent entry is no error."""
    tested: bool = False
    """True if the expression only asks whether the entry exists (``"name" in
    device.attributes["domain"]``, ``has(...)``).
    """

    @property
    def full_name(self) -> str:
        """``domain/name``; the domain alone if ``name`` is None."""
        return self.domain if self.name is None else f"{self.domain}/{self.name}"

    @property
    def name_span(self) -> tuple[int, int]:
        return self.name_start, self.name_start + len(self.name or "")

    @property
    def domain_span(self) -> tuple[int, int]:
        return self.domain_start, self.domain_start + len(self.domain)


def from_tree(root: Node, spans: Spans) -> tuple[Lookup, ...]:
    """Return every lookup with a literal domain, in the order of the source, including lookups
    through variables of ``cel.bind``.
    """
    lookups = _Finder(root, spans).lookups.values()
    return tuple(sorted(lookups, key=lambda lookup: lookup.span))


def reads(root: Node) -> frozenset[Field] | None:
    """Return the parts of a device that an expression depends on; None if it iterates over,
    compares or otherwise uses a whole map of the device.
    """
    finder = _Finder(root)
    return None if finder.whole else frozenset(finder.fields)


class _Place(Struct, frozen=True):
    """The value of a node: the device, one of its maps, or the map of one domain."""

    kind: str = ""
    """The part of the device; empty for the device itself."""
    domain: str | None = None
    domain_start: int = 0
    optional: bool = False


_Scope = dict[str, "_Place | None"]


class _Finder:
    """Follows the device and its maps through an expression; ``lookups`` stays empty without
    ``spans``.
    """

    def __init__(self, root: Node, spans: Spans | None = None) -> None:
        self.spans = spans
        self.lookups: dict[
            tuple[int, int, str], Lookup
        ] = {}  # a macro may contain its operand twice
        self.fields: set[Field] = set()
        self.whole = False  # True if a map is used as a whole
        self.visit(root, {})

    def visit(self, node: Node, scope: _Scope) -> None:
        place = self.place(node, scope)
        if place is None:
            return
        # A test whether a domain exists reads nothing: to upstream, every device has every domain
        self.whole = self.whole or not (isinstance(node, Select) and node.test)
        if place.domain is not None:
            self.add(node, place, None, None)

    def add(
        self,
        node: Node,
        place: _Place,
        name: str | None,
        start: int | None,
        optional: bool = False,
        tested: bool = False,
    ) -> None:
        if self.spans is not None:
            span, optional = self.spans.span(node), optional or place.optional
            start = span[1] if start is None else start
            lookup = Lookup(
                *span,
                place.kind,
                place.domain or "",
                name,
                place.domain_start,
                start,
                optional,
                tested,
            )
            self.lookups[*span, lookup.full_name] = lookup

    def place(self, node: Node, scope: _Scope) -> _Place | None:
        """Return the value of a node that is the device or one of its maps; None for any other
        node, whose parts are visited.
        """
        match node:
            case Ident(name=name) if name in scope:
                return scope[name]
            case Ident(name="device"):
                return _Place()
            case Ident(name=name):
                before, _, field = name.rpartition(".")
                return self.step(node, _Place(), field) if before == "device" else None
            case Select(operand=operand, field=field):
                return self.step(node, self.place(operand, scope), field)
            case Call(function=function, args=(container, Const(value=str()) as key)) if (
                function in _INDEXING
            ):
                return self.step(node, self.place(container, scope), key.value, function != "_[_]")
            case Call(function="@in", args=(Const(value=str()) as key, container)):
                self.membership(node, key, self.place(container, scope))
                return None
            case Comprehension() if node.binds:
                return self.place(
                    node.result, {**scope, node.accumulator: self.place(node.init, scope)}
                )
            case Comprehension():
                self.visit(node.range, scope)
                inner: _Scope = {
                    **scope,
                    node.variable: None,
                    node.second: None,
                    node.accumulator: None,
                }
                for part in node.children()[1:]:
                    self.visit(part, inner)
                return None
        for child in node.children():
            self.visit(child, scope)
        return None

    def step(
        self, node: Node, place: _Place | None, name: str, optional: bool = False
    ) -> _Place | None:
        """Return the map that a selection by name gives; None if it gives a value, which is
        recorded.
        """
        if place is None:
            return None
        tested = isinstance(node, Select) and node.test
        if not place.kind:
            if name in _MAPS:
                return _Place(name)
            # The fields of a device always exist
            self.fields |= set() if tested else {Field(name)}
            return None
        start = 0
        if self.spans is not None:
            indexed = isinstance(node, Call) and node.function != "_?._"
            start = self.spans.content(node.children()[1]) if indexed else self.spans.field(node)
        if place.domain is None:
            return _Place(place.kind, name, start, optional)
        self.entry(node, place, name, start, optional, tested)
        return None

    def entry(
        self, node: Node, place: _Place, name: str, start: int, optional: bool, tested: bool
    ) -> None:
        # Bare names are in the driver's domain, so the result depends on the driver too
        self.fields |= {Field(place.kind, place.domain or "", name), Field("driver")}
        self.add(node, place, name, start, optional, tested)

    def membership(self, node: Node, key: Const, place: _Place | None) -> None:
        """Record the lookup of ``"name" in device.attributes["domain"]`` or ``"domain" in
        device.attributes``.
        """
        if place is None:
            return
        start = self.spans.content(key) if self.spans is not None else 0
        if place.domain is not None:
            self.entry(node, place, key.value, start, False, True)
            return
        self.whole = True  # the result depends on every entry of the domain
        if place.kind:
            self.add(node, _Place(place.kind, key.value, start), None, None, tested=True)


def from_tokens(text: str) -> tuple[Lookup, ...]:
    """Return the lookups of an expression that does not compile, as far as they are written in
    full.
    """
    return tuple(_lookups_in_tokens(tokenize(text), brackets(text))) if "device" in text else ()


def _name_of(token: Token | None) -> str | None:
    if token is None:
        return None
    return token.text if token.kind == "name" else token.content


def _lookups_in_tokens(tokens: Sequence[Token], closing: dict[int, int]) -> Iterator[Lookup]:
    def text(i: int) -> str:
        return tokens[i].text if 0 <= i < len(tokens) else ""

    def is_indexed(i: int) -> bool:
        return text(i) in ("[", "[?") and text(i + 2) == "]" and tokens[i + 1].content is not None

    for i, token in enumerate(tokens):
        if (
            token.text != "device"
            or text(i - 1) in (".", ".?")
            or text(i + 1) != "."
            or text(i + 2) not in _MAPS
        ):
            continue
        if not is_indexed(i + 3):
            continue
        domain, last, name, tested = tokens[i + 4], i + 5, None, False
        start, end, optional = token.start, tokens[last].end, text(i + 3) == "[?"
        if text(last + 1) in (".", ".?") and text(last + 3) != "(" and last + 2 < len(tokens):
            name, optional = tokens[last + 2], optional or text(last + 1) == ".?"
            end = name.end
        elif is_indexed(last + 1):
            name, optional = tokens[last + 2], optional or text(last + 1) == "[?"
            end = tokens[last + 3].end
        elif text(i - 1) == "in" and i > 1 and tokens[i - 2].content is not None:
            name, tested, start = tokens[i - 2], True, tokens[i - 2].start
        if (
            text(i - 2) == "has"
            and text(i - 1) == "("
            and closing.get(tokens[i - 1].start, -1) == end
        ):
            tested, start, end = True, tokens[i - 2].start, end + 1
        yield Lookup(
            start,
            end,
            text(i + 2),
            domain.content or "",
            _name_of(name),
            domain.content_start,
            name.content_start if name else end,
            optional,
            tested,
        )
