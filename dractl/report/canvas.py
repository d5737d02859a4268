"""What a text report may use of the terminal, decided once by the caller: width, characters, colour."""

from __future__ import annotations

from typing import NamedTuple


class Canvas(NamedTuple):
    """``width`` in columns; box-drawing and other characters beyond ASCII only with ``unicode``; ANSI styles only with
    ``color``.
    """

    width: int = 100
    unicode: bool = True
    color: bool = False

    def paint(self, text: str, style: str) -> str:
        """``text`` in an ANSI style (``1;31``)."""
        return f"\x1b[{style}m{text}\x1b[0m" if self.color and text else text

    def glyph(self, character: str, ascii_form: str) -> str:
        """``character``, or what stands for it in ASCII."""
        return character if self.unicode else ascii_form

    def plain(self, text: str) -> str:
        """``text`` with the few characters that reports use beyond ASCII spelt out, where they cannot be shown."""
        if self.unicode:
            return text
        for character, ascii_form in _SPELT.items():
            text = text.replace(character, ascii_form)
        return text.encode("ascii", "backslashreplace").decode()

    def cut(self, text: str, width: int) -> str:
        """``text`` in at most ``width`` columns, with an ellipsis where it was longer."""
        if len(text) <= width:
            return text
        mark = self.glyph("…", "...")
        return text[: max(0, width - len(mark))].rstrip() + mark if width > len(mark) else text[: max(0, width)]


_SPELT = {
    "×": "x",
    "–": "-",
    "·": "-",
    "→": "->",
    "←": "<-",
    "…": "...",
    "─": "-",
    "≤": "<=",
    "✗": "x",
    "✓": "v",
}


def size(count: int) -> str:
    """Bytes as people say them: 80 GiB, 81559 MiB, 512 KiB."""
    for unit, shift in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if count >= 1 << shift:
            return f"{count / (1 << shift):.4g} {unit}"
    return f"{count} B"
