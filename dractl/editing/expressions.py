"""The unfinished part of a device selector, determined from the tokens before a position."""

from collections.abc import Sequence

from msgspec import Struct

from dractl.cel.tokens import Token, tokenize

MEMBERS = ("driver", "attributes", "capacity", "allowMultipleAllocations")
"""Fields of ``device`` (staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go)."""

_MAPS = ("attributes", "capacity")
_DOTS = (".", ".?")
_BRACKETS = ("[", "[?")


class Word(Struct, frozen=True):
    """The kind of word that is expected at a position."""

    what: str
    """``member``, ``domain``, ``name``, ``value`` or ``driver``."""
    word: str
    """The part of the word before the position."""
    kind: str = ""
    """The map of the lookup, ``attributes`` or ``capacity``."""
    domain: str = ""
    """The domain of the lookup."""
    name: str = ""
    """The name in the lookup."""


def word_before(before: str) -> Word | None:
    """Return the kind of word that continues a text; None if it is unknown, and in comments."""
    text = blank_quotes(before)
    tokens = tokenize(text)
    if not tokens or text[tokens[-1].end :].strip():
        return None
    last, head = tokens[-1], tokens[:-1]
    if last.kind == "string":
        return _in_string(head, text[last.content_start :]) if _is_open(last) else None
    if last.text in _DOTS:
        return _read_member(tokens, "")
    return _read_member(head, last.text) if last.kind == "name" and last.end == len(text) else None


def blank_quotes(text: str) -> str:
    """Return the CEL of a YAML scalar that is written on one line; its quotes and escapes are
    replaced by spaces, so that columns stay the same.
    """
    if text[:1] == '"':
        return " " + text[1:].replace('\\"', ' "')
    if text[:1] == "'":
        return " " + text[1:].replace("''", " '")
    return text


def _is_open(token: Token) -> bool:
    quotes = token.text[token.content_start - token.start - 1]
    return token.content is None and not (len(token.text) > 1 and token.text.endswith(quotes))


def _read_member(tokens: Sequence[Token], word: str) -> Word | None:
    """Return the kind of a word after a dot, in ``device.WORD`` or
    ``device.attributes["domain"].WORD``; ``tokens`` end with the dot.
    """
    if not tokens or tokens[-1].text not in _DOTS:
        return None
    domain = _domain(tokens[:-1])
    if domain is not None:
        return Word("name", word, *domain)
    return Word("member", word) if _texts(tokens, 2) == ["device", "."] else None


def _in_string(head: Sequence[Token], word: str) -> Word | None:
    """Return the word for a string that begins after ``head``: a domain, a name, or a literal of a
    comparison.
    """
    if head and head[-1].text in _BRACKETS:
        domain = _domain(head[:-1])
        if domain is not None:
            return Word("name", word, *domain)
        before = _texts(head[:-1], 3)
        if before[:2] == ["device", "."] and before[2] in _MAPS:
            return Word("domain", word, before[2])
    operand = _strip_default(_operand(head))
    if _texts(operand, 3) == ["device", ".", "driver"]:
        return Word("driver", word)
    if len(operand) > 1 and operand[-1].kind == "name" and operand[-2].text in _DOTS:
        domain = _domain(operand[:-2])
        return Word("value", word, *domain, operand[-1].text) if domain is not None else None
    return None


def _operand(head: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens before ``==``, ``!=`` or ``in [``, which a literal follows; empty if there
    is no such operator.
    """
    if head and head[-1].text in ("==", "!="):
        return head[:-1]
    i = len(head) - 1
    while i >= 0 and (head[i].kind == "string" or head[i].text == ","):
        i -= 1
    return head[: i - 1] if i > 0 and head[i].text == "[" and head[i - 1].text == "in" else ()


def _strip_default(operand: Sequence[Token]) -> Sequence[Token]:
    """Return the operand without a final ``.orValue(...)``."""
    if not operand or operand[-1].text != ")":
        return operand
    opening = max((i for i, token in enumerate(operand) if token.text == "("), default=0)
    return operand[: opening - 2] if _texts(operand[:opening], 2) == [".", "orValue"] else operand


def _domain(tokens: Sequence[Token]) -> tuple[str, str] | None:
    """Return the kind and the domain if the tokens end with ``device.attributes["domain"]``."""
    texts = _texts(tokens, 6)
    if (
        texts[:2] != ["device", "."]
        or texts[2] not in _MAPS
        or texts[3] not in _BRACKETS
        or texts[5] != "]"
    ):
        return None
    content = tokens[-2].content
    return (texts[2], content.strip()) if content is not None else None


def _texts(tokens: Sequence[Token], count: int) -> list[str]:
    """Return the texts of the last tokens; empty strings if there are fewer tokens, or if a dot
    precedes them.
    """
    if len(tokens) < count or (len(tokens) > count and tokens[-count - 1].text in _DOTS):
        return [""] * count
    return [token.text for token in tokens[-count:]]
