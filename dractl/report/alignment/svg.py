"""Alignments as a picture: the devices of two kinds, and a line for each pair, coloured by its level."""

from collections.abc import Sequence
from html import escape

from dractl.alignment import Alignment
from dractl.report.alignment.text import format_levels
from dractl.report.page import FONT, PALETTE

_ROW, _BOX, _GAP, _HEAD, _PAD = 24, 118, 84, 46, 14
_COLOURS = {"NODE": "--nvme", "numa": "--nvme", "SYS": "--bad", "unknown": "--soft"}
_DASHES = {"NODE": "6 3", "numa": "6 3", "SYS": "2 4", "unknown": "1 6"}
_WIDTH = 2 * _BOX + _GAP


def render(panels: Sequence[tuple[str, Alignment]], *, alone: bool = True) -> str:
    """The panels beside each other, each with a title. ``alone``: the file has no page with colours around it."""
    height = _HEAD + max(len(side) for _, found in panels for side in _sides(found)) * _ROW + _PAD
    width = len(panels) * (_WIDTH + 3 * _PAD) - _PAD
    style = f":root {{ {PALETTE} }}" if alone else ""
    parts = [
        _panel(title, found, number * (_WIDTH + 3 * _PAD) + _PAD)
        for number, (title, found) in enumerate(panels)
    ]
    size = "" if alone else ' style="max-width: none"'
    back = f'<rect width="{width}" height="{height}" fill="var(--paper)"/>' if alone else ""
    box = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg"{size} {box} role="img" font-family=\'{FONT}\' font-size="12">'
        f"<style>{style}</style>{back}{''.join(parts)}</svg>"
    )


def _sides(found: Alignment) -> tuple[list[str], list[str]]:
    """The devices of each kind in their order; of one kind with itself twice the same."""
    first = list(dict.fromkeys(pair.a for pair in found.pairs))
    second = list(dict.fromkeys(pair.b for pair in found.pairs))
    if found.kinds[0] == found.kinds[1]:
        first = second = list(dict.fromkeys([*first, *second]))
    return first, second


def _panel(title: str, found: Alignment, left: int) -> str:
    first, second = _sides(found)
    rows = [
        {name: _HEAD + n * _ROW + _ROW // 2 for n, name in enumerate(side)}
        for side in (first, second)
    ]
    share = "" if found.share is None else f"{int(100 * found.share[0])} % of the best: "
    parts = [
        f'<text x="{left}" y="16" font-weight="600" fill="var(--ink)">{escape(title)}</text>',
        f'<text x="{left}" y="33" fill="var(--soft)">{escape(share + format_levels(found.levels))}</text>',
    ]
    for pair in found.pairs:
        level = pair.level or "unknown"
        dash = f' stroke-dasharray="{_DASHES[level]}"' if level in _DASHES else ""
        parts.append(
            f'<line x1="{left + _BOX}" y1="{rows[0][pair.a]}" x2="{left + _BOX + _GAP}" y2="{rows[1][pair.b]}" '
            f'stroke="var({_COLOURS.get(level, "--good")})" stroke-width="2"{dash}>'
            f"<title>{escape(f'{pair.a} {pair.b} {level}')}</title></line>"
        )
    for side, names, colour in ((0, first, "--gpu"), (1, second, "--nic")):
        x = left + side * (_BOX + _GAP)
        shade = "--gpu" if found.kinds[side] == "gpu" else colour
        for name in names:
            y = rows[side][name]
            parts.append(
                f'<rect x="{x}" y="{y - 9}" width="{_BOX}" height="18" rx="3" fill="var(--box)" stroke="var({shade})"/>'
                f'<text x="{x + 6}" y="{y + 4}" font-size="11" fill="var(--ink)">'
                f"{escape(name.rpartition('/')[2][:17])}</text>"
            )
    return "".join(parts)
