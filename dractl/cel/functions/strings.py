"""Strings: ext/strings.go (version 2). Positions count code points."""

from collections.abc import Callable
from typing import Any

from dractl.cel.functions.registry import ListOf, overload
from dractl.cel.values import LARGEST, CelError, cost_exceeded, text_of_key

_GO_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_LOWER = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}
_UPPER = {c: c - 32 for c in range(ord("a"), ord("z") + 1)}
_ESCAPES = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _range_error(position: int) -> CelError:
    return CelError(f"index out of range: {position}")


overload("contains_string", str, str)(lambda text, part: part in text)
overload("starts_with_string", str, str)(lambda text, prefix: text.startswith(prefix))
overload("ends_with_string", str, str)(lambda text, suffix: text.endswith(suffix))


@overload("string_char_at_int", str, int)
def char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise _range_error(position)
    return text[position : position + 1]


@overload("string_index_of_string", str, str)
@overload("string_index_of_string_int", str, str, int)
def index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _range_error(offset)
    return text.find(part, offset)


overload("string_last_index_of_string", str, str)(lambda text, part: text.rfind(part))


@overload("string_last_index_of_string_int", str, str, int)
def last_index_of_offset(text: str, part: str, offset: int) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _range_error(offset)
    if offset >= len(text):
        return -1
    return text.rfind(part, 0, offset + len(part))


def clamp(search: Callable[[str, str, int], int]) -> Callable[[str, str, int], int]:
    """Wrap ``indexOf`` or ``lastIndexOf`` for Kubernetes 1.37 and later (cel-go 0.29), where no
    match can lie past the end.
    """

    def find(text: str, part: str, offset: int) -> int:
        if part:
            return search(text, part, offset)
        if offset < 0:
            raise _range_error(offset)
        return min(offset, len(text))

    return find


overload("string_lower_ascii", str)(lambda text: text.translate(_LOWER))
overload("string_upper_ascii", str)(lambda text: text.translate(_UPPER))


@overload("string_replace_string_string", str, str, str)
@overload("string_replace_string_string_int", str, str, str, int)
def replace(text: str, old: str, new: str, limit: int = -1) -> str:
    count = text.count(old) if limit < 0 else min(limit, text.count(old))
    if len(text) + count * len(new) > LARGEST:
        raise cost_exceeded()
    return text.replace(old, new, count)


@overload("string_split_string", str, str)
@overload("string_split_string_int", str, str, int)
def split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if not separator:  # splits into characters; the last part has the remaining text
        parts = list(text) if limit < 0 else list(text[: limit - 1])
        return parts if limit < 0 or len(text) <= limit - 1 else [*parts, text[limit - 1 :]]
    return text.split(separator, -1 if limit < 0 else limit - 1)


@overload("string_substring_int", str, int)
def substring(text: str, start: int) -> str:
    if not 0 <= start <= len(text):
        raise _range_error(start)
    return text[start:]


@overload("string_substring_int_int", str, int, int)
def substring_range(text: str, start: int, end: int) -> str:
    if start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for position in (start, end):
        if not 0 <= position <= len(text):
            raise _range_error(position)
    return text[start:end]


overload("string_trim", str)(lambda text: text.strip(_GO_SPACE))


@overload("list_join", ListOf(str))
@overload("list_join_string", ListOf(str), str)
def join(parts: list[Any], separator: str = "") -> str:
    for part in parts:
        if type(part) is not str:
            raise CelError(f"join: invalid input: {text_of_key(part)}")
    if sum(map(len, parts)) + len(parts) * len(separator) > LARGEST:
        raise cost_exceeded()
    return separator.join(parts)


overload("strings_quote", str)(lambda text: f'"{text.translate(_ESCAPES)}"')
