"""Strings and numbers as Go prints them."""

import re
import sys
from decimal import Decimal

_ESCAPES = {
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
_CHARACTERS = {sequence: character for character, sequence in _ESCAPES.items()}
_ESCAPE_SEQUENCE = r"\\(?:x(?P<x>[0-9a-f]{2})|u(?P<u>[0-9a-f]{4})|U(?P<U>[0-9a-f]{8})|.)"


def quote(text: str) -> str:
    """Quote a string like strconv.Quote."""
    return '"' + "".join(map(_quote, text)) + '"'


def _quote(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character == " " or character.isprintable():
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def unquote(text: str) -> str:
    """Return the string for which strconv.Quote returns ``text``, which is given without the outer
    quotes.
    """
    return re.sub(_ESCAPE_SEQUENCE, _unquote, text)


def _unquote(sequence: re.Match[str]) -> str:
    digits = sequence["x"] or sequence["u"] or sequence["U"]
    if digits is None:
        return _CHARACTERS.get(sequence[0], sequence[0])
    code = int(digits, 16)
    return chr(code) if code <= sys.maxunicode else "\ufffd"


def int64(number: int) -> int:
    """Return the low 64 bits, as in Go's conversion."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def json_number(number: float) -> str:
    """Return a finite float as encoding/json writes it (floatEncoder); a float in YAML reaches the
    decoder in this form.
    """
    if number and not 1e-6 <= abs(number) < 1e21:
        mantissa, _, exponent = repr(number).partition("e")
        return f"{mantissa.removesuffix('.0')}e{exponent[0]}{exponent[1:].lstrip('0')}"
    return format(Decimal(repr(number)), "f").removesuffix(".0")
