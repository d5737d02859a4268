"""The plain part of YAML, in which most manifests are written, at three times the speed of
libyaml's nodes.

This part consists of block mappings and lists with one space after the dash, scalars that end on
their line, literal blocks (``|``), short flow collections of words, and documents that are a flow
mapping in one line.
:func:`read` recognizes everything else (anchors,
tags, merge keys, escapes, folded strings, duplicate keys, any error) and leaves it to
:mod:`dractl.manifests.yamltext`, which asks libyaml. Both return the same value for every text,
which a test verifies.
"""

import math
import re
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Any

from dractl.manifests.resolve import json_number, key_text, plain
from dractl.manifests.text import MAX_KEYS

UNKNOWN = object()
"""The result of :func:`read` for a text that needs the complete parser."""
_MAX_NESTING = 64
_MAX_REMEMBERED_LENGTH = 256
"""Lines of this length and longer ones are not cached, since they hardly occur twice."""

# Quantifiers are possessive, so that a mismatch fails at once, however long the line is.
_KEY = r"[A-Za-z][\w./-]{0,250}+"
_WORD = r"[^\s:]*+(?::[^\s:]++)*+"
_SCALAR = rf"""(?:[\w./$(+]|--?[A-Za-z0-9]){_WORD}(?: ++[^\s:#]{_WORD})*+|"[^"\\\n]*+"|'[^'\n]*+'"""
_FLOW = r"""\[[\w./$ ,"'-]*+\]|\{[\w./$ ,"':-]*+\}"""
# Indentation, dash, key and value of a line.
_LINE = re.compile(
    rf"( *+)(?:#.*|(- )?(?:({_KEY}):(?![^ \n]))?(?: *+({_SCALAR}|{_FLOW}|\|-?))?(?: +#.*+)?+ *+)",
    re.ASCII,
)
# The content that a line adds: nothing (it is blank or a comment), a scalar, a flow collection, a
# key whose value follows on other lines, the head of a literal block, the end of a flow collection.
_NOTHING, _WORDS, _COLLECTION, _OPEN, _LITERAL, _END = range(6)
_ITEM = r""""[^"\\]*"|'[^']*'|[A-Za-z0-9_./][\w./-]*"""
_PAIR = rf"({_KEY}): +({_ITEM})"
_COLLECTIONS: dict[str, Callable[[], Any]] = {"{": dict, "}": dict, "[": list, "]": list}
# The parts of a flow mapping: a key with the begin or the whole of its value, an end, a comma.
_FLOW_PART = (
    rf"""(?a)(?:(?:({_KEY}):[ ]++|"([^"\\]*+)":[ ]*+)?+(?:([\[{{])|({_ITEM}(?::[\w./-]++)*+))"""
    r"""|([\]}])|,)[ ]*+"""
)


class _Unknown(Exception):
    """The text uses more of YAML than this module reads."""


def read(text: str) -> Any:
    """Return the value of one document, as go-yaml decodes it; UNKNOWN if it needs a complete
    parser.
    """
    if not text.isascii() or "\r" in text or "\t" in text:
        return UNKNOWN
    try:
        return _read_flow(text.strip(" \n")) if text.startswith("{") else _read(text)
    except _Unknown:
        return UNKNOWN


def _read_flow(text: str) -> Any:
    """Return the value of a flow mapping in one line that is the whole document."""
    if "\n" in text:
        raise _Unknown
    stack: list[Any] = []  # the open collections outside the innermost one
    inner = root = None  # the innermost collection, and the outermost
    needs_item = True  # False after an item: a comma or an end has to follow
    for form, name, value in _flow_parts(text):
        if root is not None and inner is None:
            raise _Unknown
        if form == _NOTHING:
            if needs_item:
                raise _Unknown
            needs_item = True
        elif form == _END:
            # A comma before the end is not plain
            if type(inner) is not value or (needs_item and inner):
                raise _Unknown
            inner = stack.pop()
            needs_item = False
        elif not needs_item:
            raise _Unknown
        else:
            needs_item = form == _COLLECTION
            fresh = value() if needs_item else value
            if inner is not None:
                _add(inner, name, fresh)
            elif name is None:
                root = fresh
            if needs_item:
                stack.append(inner)
                inner = fresh
                if len(stack) > _MAX_NESTING:
                    raise _Unknown
    if inner is not None or root is None:
        raise _Unknown
    return root


_FlowPart = tuple[int, str | None, Any]
"""A part of a flow mapping: its form (nothing for a comma), its key, and its value or the type of
the collection that begins or ends.
"""
_COMMA: _FlowPart = (_NOTHING, None, None)


def _flow_parts(text: str) -> list[_FlowPart]:
    """Return the parts of a flow mapping, piece by piece between its commas."""
    parts: list[_FlowPart] = []
    try:
        for piece in text.split(", "):
            if parts:
                parts.append(_COMMA)
            parts += _known_piece(piece) if len(piece) < _MAX_REMEMBERED_LENGTH else _piece(piece)
    except _Unknown:  # the text was split at a comma in quotes
        return _piece(text)
    return parts


def _piece(text: str) -> list[_FlowPart]:
    """Return the parts of a piece of a flow mapping."""
    parts: list[_FlowPart] = []
    place = 0
    for match in re.finditer(_FLOW_PART, text):
        if match.start() != place:
            raise _Unknown
        place = match.end()
        word, quoted, opening, item, closing = match.groups()
        name = quoted if word is None else _name(word)
        if word is not None and name is None:
            raise _Unknown
        if item:
            parts.append((_WORDS, name, _value(item)))
        elif opening:
            parts.append((_COLLECTION, name, _COLLECTIONS[opening]))
        else:
            parts.append((_END, None, _COLLECTIONS[closing]) if closing else _COMMA)
    if place != len(text):
        raise _Unknown
    return parts


_known_piece = lru_cache(8192)(_piece)
"""A cached form of ``_piece``, since most pieces of a manifest occur in other manifests, too."""


def _add(collection: Any, name: str | None, value: Any) -> None:
    """Add an item to a list, or to a mapping with its key."""
    if name is None:
        if type(collection) is not list:
            raise _Unknown
        collection.append(value)
    elif type(collection) is list or name in collection or len(collection) == MAX_KEYS:
        raise _Unknown
    else:
        collection[name] = value


def _read(text: str) -> Any:
    lines = text.split("\n")
    numbered = enumerate(lines, 1)
    root: Any = None
    stack: list[tuple[int, Any]] = []  # the open collections outside the innermost one
    at, inner = -1, root  # the innermost collection and its indentation
    opening = ""  # the key in ``inner`` that still has no value
    for number, line in numbered:
        indent, dash, name, value, form = (
            _known(line) if len(line) < _MAX_REMEMBERED_LENGTH else _line(line)
        )
        if form == _NOTHING:
            continue
        if indent > at or (opening and dash and indent == at):
            if not opening and at >= 0:
                raise _Unknown
            stack.append((at, inner))
            fresh: Any = [] if dash else {}
            if opening:
                inner[opening] = fresh
            else:
                root = fresh
            at, inner = indent, fresh
            if len(stack) > _MAX_NESTING:
                raise _Unknown
        else:
            while indent < at or (not dash and indent == at and type(inner) is list):
                at, inner = stack.pop()
        if indent != at or (type(inner) is list) is not dash:
            raise _Unknown
        opening = ""
        if dash:
            if not name:
                inner.append(value.copy() if form == _COLLECTION else value)
                continue
            stack.append((at, inner))
            inner.append({})
            at, inner = indent + 2, inner[-1]
        if name in inner or len(inner) == MAX_KEYS:
            raise _Unknown
        if form == _OPEN:
            opening = name
        elif form == _COLLECTION:
            value = value.copy()
        elif form == _LITERAL:
            value, end = _literal(lines, number, at, keep=value == "|")
            for _ in islice(numbered, end - number):
                pass
        inner[name] = value
    return root


_LineParts = tuple[int, bool, str, Any, int]
"""The parts of a line: its indentation, True for a dash, its key, its value, and the form of the
value. It is a plain tuple for speed: one is unpacked for each line of all manifests.
"""


def _line(line: str) -> _LineParts:
    """Return the parts of a line outside of literal blocks. A collection is shared by all lines
    with the same text.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        raise _Unknown
    spaces, dash, key, value = match.groups("")
    if not (dash or key or value):
        return 0, False, "", None, _NOTHING
    name = _name(key) if key else ""
    if name is None or not (key or (dash and value)):
        raise _Unknown
    if not value:
        return len(spaces), bool(dash), name, None, _OPEN
    if key and value[0] == "|":
        return len(spaces), bool(dash), name, value, _LITERAL
    return len(spaces), bool(dash), name, _value(value), _COLLECTION if value[0] in "[{" else _WORDS


_known = lru_cache(8192)(_line)
"""A cached form of ``_line``, since most lines of a manifest occur in other manifests, too."""


def _literal(lines: list[str], start: int, outside: int, *, keep: bool) -> tuple[str, int]:
    """Return a literal block that begins in a line, and the number of the line after it."""
    indent = len(lines[start]) - len(lines[start].lstrip(" ")) if start < len(lines) else 0
    end = start
    while end < len(lines):
        line = lines[end]
        content = line.lstrip(" ")
        if content and len(line) - len(content) <= outside:
            break
        if (
            (content or end == start)
            and len(line) - len(content) != indent
            and not line.startswith(" " * indent)
        ):
            raise _Unknown
        end += 1
    while end > start and not lines[end - 1].strip(" "):
        end -= 1
        if len(lines[end]) > indent:  # spaces that are part of the string
            raise _Unknown
    if end == start or end == len(lines) or not lines[start].strip(" ") or indent <= outside:
        raise _Unknown
    return "\n".join(line[indent:] for line in lines[start:end]) + ("\n" if keep else ""), end


@lru_cache(4096)
def _name(key: str) -> str | None:
    return key_text(plain(key))


def _value(text: str) -> Any:
    first = text[0]
    if first.isalpha() and len(text) > 5:  # no word of this length has another type
        return text
    if first == '"' or first == "'":
        return text[1:-1]
    if first == "|":
        raise _Unknown
    if first == "[":
        return _items(text)
    if first == "{":
        return _pairs(text)
    return _scalar(text)


def _scalar(text: str) -> Any:
    value = plain(text)
    if type(value) is not float:
        return value
    if not math.isfinite(value):
        raise _Unknown
    return json_number(value)


def _items(text: str) -> list[Any]:
    inner = text[1:-1].strip(" ")
    return [_item(item.strip(" ")) for item in inner.split(",")] if inner else []


def _pairs(text: str) -> dict[str, Any]:
    inner = text[1:-1].strip(" ")
    pairs: dict[str, Any] = {}
    for pair in inner.split(",") if inner else ():
        match = re.fullmatch(_PAIR, pair.strip(" "), re.ASCII)
        name = _name(match[1]) if match is not None else None
        if match is None or name is None or name in pairs:
            raise _Unknown
        pairs[name] = _item(match[2])
    return pairs


def _item(text: str) -> Any:
    if re.fullmatch(_ITEM, text, re.ASCII) is None:
        raise _Unknown
    return _value(text)
