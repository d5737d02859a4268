"""The terminal that a text report is printed for: its width, characters and colour. The caller
determines them once.
"""

from msgspec import Struct


class Canvas(Struct, frozen=True):
    """The properties of the terminal. ``width`` is in columns; characters beyond ASCII are used
    only if ``unicode``, and ANSI styles only if ``color``. Tables are sorted by the column
    ``sort_by`` (its header in lower case), and have no header line unless ``headers``.
    """

    width: int = 100
    unicode: bool = True
    color: bool = False
    sort_by: str | None = None
    headers: bool = True

    def paint(self, text: str, style: str) -> str:
        """Return ``text`` in an ANSI style (``1;31``)."""
        return f"\x1b[{style}m{text}\x1b[0m" if self.color and text else text

    def glyph(self, character: str, ascii_form: str) -> str:
        """Return ``character``, or its substitute in ASCII."""
        return character if self.unicode else ascii_form

    def plain(self, text: str) -> str:
        """Return ``text``, with the characters beyond ASCII spelled out if the terminal cannot show
        them.
        """
        if self.unicode:
            return text
        for character, ascii_form in _SPELLED.items():
            text = text.replace(character, ascii_form)
        return text.encode("ascii", "backslashreplace").decode()

    def cut(self, text: str, width: int) -> str:
        """Return ``text`` in at most ``width`` columns, with an ellipsis where it was longer."""
        if len(text) <= width:
            return text
        mark = self.glyph("…", "...")
        return (
            text[: max(0, width - len(mark))].rstrip() + mark
            if width > len(mark)
            else text[: max(0, width)]
        )


_SPELLED = {
    "×": "x",
    "–": "-",
    "·": "-",
    "→": "->",
    "←": "<-",
    "…": "...",
    "─": "-",
    "≤": "<=",
    "✗": "x",
    "✓": "ok",
}
