"""The tokens of an expression, with their offsets, which the checked tree does not keep."""

import re
from functools import lru_cache

from msgspec import Struct

_LEXEME = re.compile(
    r"""
    [ \t\r\n\f]*+(?:
    (?P<comment>//[^\n]*)
  | (?P<plain>"(?!"")[^"\\]*"|'(?!'')[^'\\]*')
  | (?P<string>(?:[rR][bB]?|[bB][rR]?)?(?:\"\"\"|'''|"|'))
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<quoted>`[^`\n]*`)
  | (?P<number>0[xX][0-9a-fA-F]+[uU]?|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[uU]?)
  | (?P<operator>\.\?|\[\?|\{\?|&&|\|\||==|!=|<=|>=|.)
    )
""",
    re.VERBOSE | re.DOTALL,
)


class Part(Struct, frozen=True):
    """A part of an expression: its place in code points, the end exclusive."""

    start: int
    end: int

    @property
    def span(self) -> tuple[int, int]:
        return self.start, self.end


class Token(Part, frozen=True):
    """A token of the source."""

    kind: str
    """One of ``string``, ``name``, ``quoted`` (a field name in backquotes), ``number`` and
    ``operator``.
    """
    text: str

    @property
    def content_start(self) -> int:
        """Start of a name, after its opening quote if it has one."""
        if self.kind == "string":
            return self.start + len(_opening(self.text))
        return self.start + (self.kind == "quoted")

    @property
    def content(self) -> str | None:
        """The content of a string or a quoted name; None for other tokens, and for strings with
        escapes.
        """
        if self.kind == "quoted":
            return self.text[1:-1]
        if self.kind != "string":
            return None
        opening = _opening(self.text)
        quote = opening.lstrip("rRbB")
        content = self.text[len(opening) :]
        if not content.endswith(quote) or ("\\" in content and "r" not in opening.lower()):
            return None
        return content.removesuffix(quote)


def _opening(text: str) -> str:
    """Return the prefix and the opening quotes of a string."""
    if text[0] in "\"'" and text[:3] not in ('"""', "'''"):
        return text[0]
    prefix = len(text) - len(text.lstrip("rRbB"))
    quotes = 3 if text[prefix : prefix + 3] in ('"""', "'''") else 1
    return text[: prefix + quotes]


@lru_cache(64)
def tokenize(source: str) -> tuple[Token, ...]:
    """Return every token except spaces and comments, even if the source is not an expression."""
    token_at = _LEXEME.match
    tokens: list[Token] = []
    i = 0
    while i < len(source):
        match = token_at(source, i)
        if not match:
            break
        kind = match.lastgroup or "operator"
        start, end = match.span(kind)
        if kind == "plain":  # a whole string
            kind = "string"
        elif kind == "string":
            end = _string_end(source, end, match[kind])
        elif kind == "number" and source[end - 1] == "." and source[end : end + 1].isidentifier():
            end -= 1  # in 1.f(), the dot is a selection
        if kind != "comment":
            tokens.append(Token(start, end, kind, source[start:end]))
        i = end
    return tuple(tokens)


def _string_end(source: str, i: int, opening: str) -> int:
    quote = opening.lstrip("rRbB")
    raw = "r" in opening[: -len(quote)].lower()
    end = source.find(quote, i)
    if raw or "\\" not in source[i : end if end >= 0 else len(source)]:
        return end + len(quote) if end >= 0 else len(source)
    while i < len(source):
        if source[i] == "\\":
            i += 2
        elif source.startswith(quote, i):
            return i + len(quote)
        else:
            i += 1
    return len(source)


@lru_cache(64)
def brackets(source: str) -> dict[int, int]:
    """Return the offsets of matching brackets, in both directions."""
    pairs: dict[int, int] = {}
    open_: list[int] = []
    for token in tokenize(source):
        if token.kind != "operator":
            continue
        if token.text[0] in "([{":
            open_.append(token.start)
        elif token.text in (")", "]", "}") and open_:
            start = open_.pop()
            pairs[start], pairs[token.start] = token.start, start
    return pairs


DEEPEST = 250
"""The number of levels of brackets at which cel-go rejects an expression."""


def depth(source: str) -> int:
    """Return the depth of nested brackets."""
    level = deepest = 0
    for token in tokenize(source):
        if token.kind == "operator":
            level += (token.text[0] in "([{") - (token.text in (")", "]", "}"))
            deepest = max(deepest, level)
    return deepest


def operand_start(source: str, last: int) -> int:
    """Return the index of the first token of the chain of selections, calls and indices that ends
    with token ``last``.
    """
    tokens, closing = tokenize(source), brackets(source)
    index = {token.start: i for i, token in enumerate(tokens)}
    i = last
    while True:
        token = tokens[i]
        if token.kind == "operator" and token.text in (")", "]", "}"):
            i = index.get(closing.get(token.start, token.start), i)
            before = tokens[i - 1] if i else None
            if before and (
                before.kind == "string" or before.text in (")", "]", "}") or is_name(before)
            ):
                i -= 1
                continue
        if i < 2 or tokens[i - 1].text not in (".", ".?"):
            return i
        i -= 2


def is_name(token: Token) -> bool:
    """Return True if a parenthesis after this token begins the arguments of a call."""
    return token.kind == "name" and token.text != "in"
