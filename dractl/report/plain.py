"""Text from files made fit for a terminal."""

from __future__ import annotations

import re

_CONTROL = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]"


def printable(text: str) -> str:
    """``text`` on one line, without characters that move the cursor, set colours or turn the writing direction."""
    line = text.replace("\n", " ").replace("\t", " ")
    return line if line.isprintable() else re.sub(_CONTROL, _escaped, line)


def _escaped(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def plural(count: int, noun: str) -> str:
    """``1 error``, ``2 errors``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
