"""A text, and places in it."""

import re
from bisect import bisect_right

from msgspec import Struct

_LINE_END = re.compile(r"\r\n?|\n")


class Position(Struct, frozen=True, order=True):
    """A range of a file: lines and columns count from 1, columns count code points, and the end is
    exclusive.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Source:
    """One file's text under the name that the user knows. Its table of lines is made on first
    use.
    """

    __slots__ = ("_shown", "_starts", "name", "text")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self._starts: list[int] | None = None
        # The line of the last query, since one line may have many findings
        self._shown: tuple[int, str] = (0, "")

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            self._starts = [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        return self._starts

    def _line_column(self, offset: int) -> tuple[int, int]:
        starts = self._line_starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def position(self, start: int, end: int | None = None) -> Position:
        """Return the position of ``text[start:end]``; without ``end``, the position of the
        character at ``start``.
        """
        start = max(0, min(start, len(self.text)))
        end = start + 1 if end is None else max(start, min(end, len(self.text)))
        line, column = self._line_column(start)
        end_line, end_column = self._line_column(end)
        # The end of a line belongs to that line
        if end_line > line and self.text[start:end].strip("\r\n") == "":
            end_line, end_column = line, column + 1
        return Position(self.name, line, column, end_line, end_column)

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and a column, both counted from 1."""
        starts = self._line_starts()
        return min(starts[min(line, len(starts)) - 1] + column - 1, len(self.text))

    def line(self, number: int) -> str:
        """Return the text of a line, counted from 1, without its end; empty outside the file."""
        starts = self._line_starts()
        if not 1 <= number <= len(starts):
            return ""
        if number != self._shown[0]:
            end = starts[number] if number < len(starts) else len(self.text)
            # Bytes that are not UTF-8 are kept as lone surrogates (see text.decode), which no
            # terminal can show.
            text = re.sub(
                "[\ud800-\udfff]", "\ufffd", self.text[starts[number - 1] : end].rstrip("\r\n")
            )
            self._shown = number, text
        return self._shown[1]
