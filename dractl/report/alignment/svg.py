"""Alignments as a picture: lines between the devices of two kinds, a triangle of cells for the
devices of one.

The colour shows whether a pair is as near as in the best allocation that the node can give. The
pattern of the line, or a text in the cell, shows the level.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from msgspec import Struct

from dractl.alignment import Alignment
from dractl.alignment.quality import compare_levels
from dractl.report.alignment.text import format_levels
from dractl.report.page import FONT, PALETTE

_ROW, _BOX, _GAP, _HEAD, _PAD = 24, 118, 84, 46, 14
_CELL = 38
_MAX_NAME = 17  # characters of a device in a box
_LETTER = 5.8  # width of a letter of the legend
_PATTERNS = {"NODE": "6 3", "numa": "6 3", "SYS": "2 4", "unknown": "1 6"}
_NEAR, _PARTLY, _FAR, _UNKNOWN = "--good", "--nvme", "--bad", "--soft"
_MEANINGS = {
    _NEAR: "as near as the best that the node can give",
    _PARTLY: "some of them as near as the best",
    _FAR: "farther than the best",
    _UNKNOWN: "not compared",
}


class _Panel(Struct, frozen=True):
    """A drawn alignment: its size, and the colours and patterns that the legend explains."""

    width: int
    height: int
    elements: str
    colours: tuple[str, ...]
    patterns: tuple[str, ...] = ()


def render(panels: Sequence[tuple[str, Alignment]], *, alone: bool = True) -> str:
    """Return the panels beside each other, each with a title, above a legend. ``alone`` is True if
    the picture is a file of its own, without a page that defines the colours.
    """
    left, drawn, elements = _PAD, [], []
    for title, alignment in panels:
        panel = _panel(title, alignment)
        elements.append(f'<g transform="translate({left} 0)">{panel.elements}</g>')
        left += panel.width + 3 * _PAD
        drawn.append(panel)
    bottom = max(panel.height for panel in drawn)
    rows = [*_legend(drawn)]
    width = max(left - 2 * _PAD, *(_PAD + _row_width(row) for row in rows))
    elements += [_legend_row(row, bottom + 20 + 18 * number) for number, row in enumerate(rows)]
    height = bottom + 18 * len(rows) + _PAD
    style = f":root {{ {PALETTE} }}" if alone else ""
    size = "" if alone else ' style="max-width: none"'
    back = f'<rect width="{width}" height="{height}" fill="var(--paper)"/>' if alone else ""
    box = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg"{size} {box} role="img" '
        f"font-family='{FONT}' font-size=\"12\">"
        f"<style>{style}</style>{back}{''.join(elements)}</svg>"
    )


def _panel(title: str, alignment: Alignment) -> _Panel:
    share = "" if alignment.share is None else f"{int(100 * alignment.share[0])} % of the best: "
    head = (
        f'<text x="0" y="16" font-weight="600" fill="var(--ink)">{escape(title)}</text>'
        f'<text x="0" y="33" fill="var(--soft)">'
        f"{escape(share + format_levels(alignment.levels))}</text>"
    )
    colours = _colours(alignment)
    of_one_kind = alignment.kinds[0] == alignment.kinds[1]
    body = _triangle(alignment, colours) if of_one_kind else _lines(alignment, colours)
    used = tuple(colour for colour in _MEANINGS if colour in colours.values())
    return _Panel(body.width, body.height, head + body.elements, used, body.patterns)


def _colours(alignment: Alignment) -> Mapping[str, str]:
    """Return the colour of each level that pairs have."""
    parts = compare_levels(alignment)
    return {level: _colour(parts.get(level)) for level in alignment.levels}


def _colour(part: float | None) -> str:
    """Return the colour of a level, by the share of its pairs that are as near as in the best
    allocation.
    """
    if part is None:
        return _UNKNOWN
    if part == 1:
        return _NEAR
    return _PARTLY if part else _FAR


def _lines(alignment: Alignment, colours: Mapping[str, str]) -> _Panel:
    """Draw the devices of two kinds in columns, and a line for each pair."""
    sides = (
        list(dict.fromkeys(pair.a for pair in alignment.pairs)),
        list(dict.fromkeys(pair.b for pair in alignment.pairs)),
    )
    heights = [
        {name: _HEAD + number * _ROW + _ROW // 2 for number, name in enumerate(side)}
        for side in sides
    ]
    parts = []
    for pair in alignment.pairs:
        level = pair.level or "unknown"
        parts.append(
            f'<line x1="{_BOX}" y1="{heights[0][pair.a]}" x2="{_BOX + _GAP}" '
            f'y2="{heights[1][pair.b]}" {_stroke(colours[level], level)}>'
            f"<title>{escape(f'{pair.a} {pair.b} {level}')}</title></line>"
        )
    for names, kind, left in zip(sides, alignment.kinds, (0, _BOX + _GAP), strict=True):
        parts += [_device(name, kind, left, _HEAD + _ROW * n) for n, name in enumerate(names)]
    levels = tuple(dict.fromkeys(pair.level or "unknown" for pair in alignment.pairs))
    height = _HEAD + _ROW * max(map(len, sides))
    return _Panel(2 * _BOX + _GAP, height, "".join(parts), (), levels)


def _stroke(colour: str, level: str) -> str:
    pattern = f' stroke-dasharray="{_PATTERNS[level]}"' if level in _PATTERNS else ""
    return f'stroke="var({colour})" stroke-width="2"{pattern}'


def _device(name: str, kind: str, left: int, top: int) -> str:
    shade = "--gpu" if kind == "gpu" else "--nic"
    return (
        f'<rect x="{left}" y="{top + 3}" width="{_BOX}" height="18" rx="3" '
        f'fill="var(--box)" stroke="var({shade})"/>'
        f'<text x="{left + 6}" y="{top + 16}" font-size="11" fill="var(--ink)">'
        f"{escape(name.rpartition('/')[2][:_MAX_NAME])}</text>"
    )


def _triangle(alignment: Alignment, colours: Mapping[str, str]) -> _Panel:
    """Draw the devices of one kind along the diagonal: each is at the end of its row, and above its
    column.
    """
    names = list(dict.fromkeys(name for pair in alignment.pairs for name in (pair.a, pair.b)))
    places = {name: number for number, name in enumerate(names)}
    parts = [
        _device(name, alignment.kinds[0], place * _CELL, _HEAD + _ROW * place)
        for name, place in places.items()
    ]
    for pair in alignment.pairs:
        level = pair.level or "unknown"
        column, row = sorted((places[pair.a], places[pair.b]))
        left, top = column * _CELL, _HEAD + _ROW * row
        parts.append(
            f'<g><rect x="{left + 1}" y="{top + 3}" width="{_CELL - 3}" height="18" rx="2" '
            f'fill="none" stroke="var({colours[level]})" stroke-width="2"/>'
            f'<text x="{left + _CELL // 2}" y="{top + 16}" text-anchor="middle" font-size="10" '
            f'fill="var(--ink)">{escape("?" if pair.level is None else level)}</text>'
            f"<title>{escape(f'{pair.a} {pair.b} {level}')}</title></g>"
        )
    width = max((len(names) - 1) * _CELL, 0) + _BOX
    return _Panel(width, _HEAD + _ROW * len(names), "".join(parts), ())


# -- the legend --


class _Entry(Struct, frozen=True):
    """A colour, or the pattern of a level, and its meaning."""

    text: str
    colour: str = "--ink"
    level: str = ""


def _legend(panels: Sequence[_Panel]) -> Iterator[list[_Entry]]:
    """Yield the rows of the legend: colours, and patterns of lines where there are several."""
    used = {colour for panel in panels for colour in panel.colours}
    yield [_Entry(text, colour) for colour, text in _MEANINGS.items() if colour in used]
    levels = dict.fromkeys(level for panel in panels for level in panel.patterns)
    if len({_PATTERNS.get(level) for level in levels}) > 1:
        yield [_Entry(level, level=level) for level in levels]


def _entry_width(entry: _Entry) -> int:
    return 26 + int(_LETTER * len(entry.text)) + 16


def _row_width(row: Sequence[_Entry]) -> int:
    return sum(map(_entry_width, row))


def _legend_row(row: Sequence[_Entry], top: int) -> str:
    left, parts = _PAD, []
    for entry in row:
        parts.append(
            f'<line x1="{left}" y1="{top}" x2="{left + 20}" y2="{top}" '
            f"{_stroke(entry.colour, entry.level)}/>"
            f'<text x="{left + 26}" y="{top + 4}" font-size="11" fill="var(--soft)">'
            f"{escape(entry.text)}</text>"
        )
        left += _entry_width(entry)
    return "".join(parts)
