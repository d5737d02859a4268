"""The character of the source for each character of a scalar's value.

The scanners treat the text as libyaml does (src/scanner.c: yaml_parser_scan_block_scalar,
_scan_flow_scalar, _scan_plain_scalar); go-yaml is a port of it. A scanner's result is compared with
the parser's value. If the two are equal, places are exact; otherwise each is the place of the whole
scalar.
"""

import re

from msgspec import Struct

_BREAKS = "\n\r\x85\u2028\u2029"
_BLANKS = " \t"
_PROPERTIES = re.compile(r"(?:[&!][^\s\x85\u2028\u2029]*(?:\s|#[^\r\n]*)*)+")
_BLOCK_HEADER = re.compile(
    r"[|>](?:([-+])([1-9])?|([1-9])([-+])?)?[ \t]*(?:#[^\n\r\x85\u2028\u2029]*)?"
)
_ESCAPES = {
    **dict(zip("0abtnvfre", "\0\a\b\t\n\v\f\r\x1b", strict=True)),
    **{char: char for char in " \"'/\\\t"},
    **dict(zip("N_LP", "\x85\xa0\u2028\u2029", strict=True)),
}
_MAX_INDENT = 400  # with a larger indentation, places are those of the whole scalar
_ESCAPE_DIGITS = {"x": 2, "u": 4, "U": 8}


class Piece(Struct, frozen=True):
    """One character of a value and its place in the source."""

    char: str
    place: int


def value_start(text: str, start: int, end: int) -> int:
    """Return the start of the scalar itself, after its anchor and tag."""
    match = _PROPERTIES.match(text, start, end)
    return match.end() if match is not None and match.end() < end else start


def offsets(text: str, start: int, end: int, style: str, value: str) -> list[int]:
    """Return the offset in ``text`` of each code point of ``value``, and of its end.

    ``text[start:end]`` is the scalar with its quotes or block header; ``style`` is its indicator,
    ``""`` if plain. A line break that folding turned into a space is placed at the end of the line,
    and an escape at its own beginning.
    """
    start = value_start(text, start, end)
    for pieces in _readings(text, start, end, style, value):
        if len(pieces) == len(value) and "".join(piece.char for piece in pieces) == value:
            return [*(piece.place for piece in pieces), _value_end(pieces, start, end, style)]
    return [start] * (len(value) + 1)


def _readings(text: str, start: int, end: int, style: str, value: str) -> list[list[Piece]]:
    if style in ("|", ">"):
        return _block(text, start, end, literal=style == "|", wanted=len(value))
    return [_flow(text, start, end, style)]


def _value_end(pieces: list[Piece], start: int, end: int, style: str) -> int:
    if style in ("'", '"'):
        return end - 1
    if style in ("|", ">") and pieces:
        return pieces[-1].place + 1
    return end if style == "" else start


def _line_break(text: str, place: int) -> tuple[Piece, int]:
    """Return a line break as the scanner reads it (most become a newline), and the offset of the
    next line.
    """
    if text.startswith("\r\n", place):
        return Piece("\n", place), place + 2
    char = text[place]
    return Piece(char if char in "\u2028\u2029" else "\n", place), place + 1


def _fold_breaks(leading: Piece | None, trailing: list[Piece]) -> list[Piece]:
    """Return those line breaks between two lines of a flow scalar that remain in its value."""
    if leading is None:  # the line break is escaped
        return trailing
    if leading.char != "\n":
        return [leading, *trailing]
    return trailing or [Piece(" ", leading.place)]


def _flow(text: str, start: int, end: int, style: str) -> list[Piece]:
    pieces: list[Piece] = []
    place, stop = (start + 1, end - 1) if style else (start, end)
    while place < stop:
        char = text[place]
        if char not in _BLANKS and char not in _BREAKS:
            if style == '"' and char == "\\" and place + 1 < stop:
                if text[place + 1] in _BREAKS:
                    _, place = _line_break(text, place + 1)
                    place, trailing = _indentation(text, place, stop)
                    pieces += trailing
                    continue
                piece, place = _escape(text, place)
                pieces.append(piece)
                continue
            pieces.append(Piece(char, place))
            place += 2 if style == "'" and char == "'" else 1
            continue
        blanks: list[Piece] = []
        while place < stop and text[place] in _BLANKS:
            blanks.append(Piece(text[place], place))
            place += 1
        if place < stop and text[place] in _BREAKS:
            leading, place = _line_break(text, place)
            place, trailing = _indentation(text, place, stop)
            pieces += _fold_breaks(leading, trailing)
        else:
            pieces += blanks
    return pieces


def _indentation(text: str, place: int, stop: int) -> tuple[int, list[Piece]]:
    """Skip blank lines and indentation, and return the breaks of the blank lines."""
    breaks: list[Piece] = []
    while place < stop and (text[place] in _BLANKS or text[place] in _BREAKS):
        if text[place] in _BREAKS:
            piece, place = _line_break(text, place)
            breaks.append(piece)
        else:
            place += 1
    return place, breaks


def _escape(text: str, place: int) -> tuple[Piece, int]:
    letter = text[place + 1]
    digits = _ESCAPE_DIGITS.get(letter)
    if digits is None:
        return Piece(_ESCAPES.get(letter, letter), place), place + 2
    try:
        char = chr(int(text[place + 2 : place + 2 + digits], 16))
    except (ValueError, OverflowError):
        char = "\ufffd"
    return Piece(char, place), place + 2 + digits


def _block(text: str, start: int, end: int, *, literal: bool, wanted: int) -> list[list[Piece]]:
    """Return the possible readings of a block scalar, the most likely first, since its indentation
    may be explicit and relative to its parent's.
    """
    header = _BLOCK_HEADER.match(text, start)
    if header is None:
        return []
    chomping = header[1] or header[4] or ""
    place = header.end()
    if place >= end or text[place] not in _BREAKS:
        return [[]]
    _, place = _line_break(text, place)
    indents: list[int] = []
    deepest = 0
    for line in re.finditer(
        r"( *)([^\n\r\x85\u2028\u2029]*)(?:\r\n|[\n\r\x85\u2028\u2029]|\Z)", text[place:end]
    ):
        deepest = max(deepest, len(line[1]))
        if line[2] and len(line[1]) not in indents:
            indents.append(len(line[1]))
    explicit = header[2] or header[3]
    if explicit:
        indents = list(range(int(explicit), min(deepest, _MAX_INDENT) + int(explicit) + 1))
    readings = []
    for indent in indents or [max(deepest, 1)]:  # the scalar has only blank lines
        reading = _block_lines(text, place, end, indent, literal=literal, chomping=chomping)
        readings.append(reading)
        if len(reading) == wanted and not explicit:
            break
    return readings


def _block_lines(
    text: str, place: int, end: int, indent: int, *, literal: bool, chomping: str
) -> list[Piece]:
    pieces: list[Piece] = []
    leading: Piece | None = None
    leading_blank = False
    breaks = _block_breaks(text, place, end, indent)
    place, trailing, column = breaks.place, breaks.pieces, breaks.column
    while place < end and column == indent:
        blank = text[place] in _BLANKS
        if (
            not literal
            and leading is not None
            and leading.char == "\n"
            and not leading_blank
            and not blank
        ):
            if not trailing:
                pieces.append(Piece(" ", leading.place))
        elif leading is not None:
            pieces.append(leading)
        pieces += trailing
        leading_blank, leading, trailing = blank, None, []
        while place < end and text[place] not in _BREAKS:
            pieces.append(Piece(text[place], place))
            place += 1
        if place >= end:
            break
        leading, place = _line_break(text, place)
        breaks = _block_breaks(text, place, end, indent)
        place, trailing, column = breaks.place, breaks.pieces, breaks.column
    if chomping != "-" and leading is not None:
        pieces.append(leading)
    if chomping == "+":
        pieces += trailing
    return pieces


class _Breaks(Struct, frozen=True):
    """Line breaks between two lines of a block scalar."""

    place: int
    """The offset after them and after the indentation of the next line."""
    pieces: list[Piece]
    column: int
    """The indentation of the next line."""


def _block_breaks(text: str, place: int, end: int, indent: int) -> _Breaks:
    breaks: list[Piece] = []
    while True:
        column = 0
        while column < indent and place < end and text[place] == " ":
            place += 1
            column += 1
        if place >= end or text[place] not in _BREAKS:
            return _Breaks(place, breaks, column)
        piece, place = _line_break(text, place)
        breaks.append(piece)
