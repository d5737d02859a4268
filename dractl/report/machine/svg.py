"""``discover -o svg``: the boxes of a machine as a picture for tickets and documents.

It has no script and loads no font or image. It scales to the given width, follows the reader's
light or dark scheme, and every device can be reached with the Tab key.
"""

from html import escape

from msgspec import Struct

from dractl.drivers.publication import NOTHING, Publication
from dractl.report.canvas import Canvas
from dractl.report.machine import boxes as boxes, text as words
from dractl.report.machine.boxes import Box, Card, Counted
from dractl.report.page import DARK, FONT, MONO, PALETTE
from dractl.report.plain import wrap
from dractl.topology.levels import LEVELS, endpoints
from dractl.topology.machine import Machine

WIDTH = 548  # width of a NUMA node's box
_PAD, _GAP = 16, 8
_HEAD = 26  # a box's title
_LINE = 16
_UNEQUAL = 1.5  # two columns if all boxes together are this many times as high as the highest box
_MIN_BOX_WIDTH = 160  # minimum width of a box, at any depth
# An average character's width at 12 px (mono: 11 px), in a wide font
_BOLD, _PLAIN, _MONO = (8.0, 6.9, 6.7)
_CANVAS = Canvas()

_STYLE = f"""
svg.dractl {{ {PALETTE}
  font: 12px {FONT}; background: var(--paper); max-width: 100%; height: auto; }}
@media (prefers-color-scheme: dark) {{ svg.dractl {{ {DARK} }} }}
svg.dractl text {{ fill: var(--ink); }} svg.dractl .soft {{ fill: var(--soft); }}
svg.dractl .bold {{ font-weight: 600; }} svg.dractl .warn {{ fill: var(--warn); }}
svg.dractl .mono {{ font-family: {MONO}; font-size: 11px; }}
svg.dractl .box {{ fill: var(--box); stroke: var(--edge); }} svg.dractl .root {{ fill: var(--paper); }}
svg.dractl .device > rect:first-of-type {{ fill: var(--card); stroke: var(--edge); }}
svg.dractl .device:focus {{ outline: none; }}
svg.dractl .device:focus > rect:first-of-type {{ stroke: var(--ink); stroke-width: 2; }}
""".strip()

COLORS = {"gpu": "gpu", "accelerator": "gpu", "nic": "nic", "rdma": "nic", "nvme": "nvme"}
"""The palette's name for each kind of device; all other kinds are ``other``."""


class _Drawn(Struct, frozen=True):
    """Parts of the picture, and their height."""

    parts: list[str]
    height: float


def render(machine: Machine, publication: Publication = NOTHING) -> str:
    """Return a complete SVG document."""
    picture = boxes.picture(machine, publication, _CANVAS)
    sizes = [_box(box, 0, 0, WIDTH).height for box in picture.boxes]
    columns = 2 if sum(sizes) > _UNEQUAL * max(sizes, default=0) else 1
    width = 2 * _PAD + columns * WIDTH + (columns - 1) * _PAD
    out: list[str] = []
    y = float(_PAD)
    for i, line in enumerate(words.host_lines(machine)):
        for part in wrap(line, int((width - 2 * _PAD) / _BOLD), ""):
            out.append(_text(part, _PAD, y + 12, "soft" if i else "bold"))
            y += 18
    y += 6
    heights = [y] * columns
    for box in picture.boxes:
        column = heights.index(min(heights))
        x = _PAD + column * (WIDTH + _PAD)
        drawn = _box(box, x, heights[column], WIDTH)
        out += drawn.parts
        heights[column] += drawn.height + _PAD
    y = max(heights)
    names = words.labels(machine, endpoints(machine), publication)
    for line in _footer(machine, picture, publication, names):
        for i, part in enumerate(wrap(line, int((width - 2 * _PAD) / _PLAIN), "    ")):
            out.append(_text(part.strip(), _PAD + (16 if i else 0), y + 8, "soft"))
            y += 18
    size = f'viewBox="0 0 {width} {y + 8:g}" width="{width}" height="{y + 8:g}"'
    title = f"PCI topology of {machine.host.name or words.host_product(machine) or 'a node'}"
    head = [
        f'<svg class="dractl" xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect width="{width}" height="{y + 8:g}" fill="var(--paper)"/>',
    ]
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + "\n".join([*head, *out, "</svg>"]) + "\n"


def _footer(
    machine: Machine, picture: boxes.Picture, publication: Publication, names: dict[str, str]
) -> list[str]:
    lines = [f"Between NUMA nodes: {', '.join(picture.between)}"] if picture.between else []
    lines += [f"{name}: {LEVELS[name]}" for name in picture.levels()]
    lines += [f"Links between GPUs: {line}" for line in words.fabric_lines(machine, names)]
    lines += [f"NVCX complex: {line}" for line in words.complex_lines(machine, names)]
    lines += [f"{driver} publishes nothing: {why}" for driver, why in publication.silent.items()]
    return lines


def _box(box: Box, x: float, y: float, width: float) -> _Drawn:
    """Return a box at ``x``, ``y`` and everything in it."""
    tag = box.tag
    room = int((width - 2 * _GAP - len(box.title) * _BOLD - len(tag) * _PLAIN - 24) / _PLAIN)
    beside = len(box.detail) <= room
    title = [(box.title, "bold"), (box.detail if beside else "", "soft")]
    parts = [_texts(title, x + _GAP, y + 18)]
    if tag:
        tip = escape("\n".join(f"{name}: {LEVELS[name]}" for name in box.levels))
        end = x + width - _GAP
        parts.append(
            f'<text class="soft" x="{end:g}" y="{y + 18:g}"'
            f' text-anchor="end"><title>{tip}</title>{escape(tag)}</text>'
        )
    at = y + _HEAD
    if not beside:
        for line in wrap(box.detail, int((width - 20) / _PLAIN), ""):
            parts.append(_text(line.strip(), x + _GAP, at + 10, "soft"))
            at += _LINE
        at += 4
    for item in box.inside:
        drawn = _item(item, x + _GAP, at, max(width - 2 * _GAP, _MIN_BOX_WIDTH))
        parts += drawn.parts
        at += drawn.height + 6
    height = at - y + (2 if box.inside else 4)
    frame = (
        f'<rect class="box {box.kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        ' rx="6"/>'
    )
    return _Drawn([frame, *parts], height)


def _item(item: Box | Card | Counted, x: float, y: float, width: float) -> _Drawn:
    if isinstance(item, Box):
        return _box(item, x, y, width)
    if isinstance(item, Card):
        return _card(item, x, y, width)
    lines = wrap(item.text, int((width - 20) / _PLAIN), "  ")
    texts = [
        _text(line.strip(), x + (20 if i else 10), y + 12 + i * _LINE, "soft")
        for i, line in enumerate(lines)
    ]
    return _Drawn(texts, _LINE * len(lines))


def _card(card: Card, x: float, y: float, width: float) -> _Drawn:
    """Return a card: name and link in the first line, address and product in the second, then the
    parts of the device, and the reason if it is not published.
    """
    left, right = x + 14, x + width - 8
    taken = len(card.label) * _BOLD + len(card.published) * _MONO + len(card.link) * _PLAIN + 40
    names = _CANVAS.cut(card.names, int((right - left - taken) / _PLAIN))
    title = [(card.label, "bold"), (card.published, "mono"), (names, "")]
    texts = [_texts(title, left, y + 17)] if any(text for text, _ in title) else []
    if card.link:
        style = "warn bold" if card.slow else "soft"
        texts.append(
            f'<text class="{style}" x="{right:g}" y="{y + 17:g}"'
            f' text-anchor="end">{escape(card.link)}</text>'
        )
    row = y + 17 + (_LINE if texts else 0)
    texts.append(_text(card.device.bdf, left, row, "mono"))
    indent = left + len(card.device.bdf) * _MONO + 10
    lines = wrap(card.text, int((right - indent) / _PLAIN), "")
    lines += [
        line for part in card.parts for line in wrap(part, int((right - indent) / _PLAIN), "  ")
    ]
    why = f"not published: {card.why_not}" if card.why_not else ""
    for i, line in enumerate(lines):
        texts.append(_text(line.strip(), indent, row + i * _LINE, ""))
    row += max(0, len(lines) - 1) * _LINE
    for line in wrap(why, int((right - indent) / _PLAIN), "") if why else []:
        row += _LINE
        texts.append(_text(line, indent, row, "warn"))
    height = row + 9 - y
    place = f'x="{x:g}" y="{y:g}" height="{height:g}"'
    color = COLORS.get(card.device.kind, "other")
    opening = (
        f'<g class="device" tabindex="0" role="group" aria-label="{escape(card.title)}" '
        f'data-bdf="{card.device.bdf}"><title>{escape(card.details)}</title>'
    )
    return _Drawn(
        [
            opening,
            f'<rect {place} width="{width:g}" rx="5"/>',
            f'<rect {place} width="6" rx="2" style="fill: var(--{color})"/>',
            *texts,
            "</g>",
        ],
        height,
    )


def _text(text: str, x: float, y: float, style: str) -> str:
    return f'<text class="{style}" x="{x:g}" y="{y:g}">{escape(text)}</text>'


def _texts(parts: list[tuple[str, str]], x: float, y: float) -> str:
    """Return the texts with their styles, one after another, since the reader's font determines
    their positions.
    """
    spans = [
        f'<tspan class="{style}" dx="{_GAP if i else 0}">{escape(text)}</tspan>'
        for i, (text, style) in enumerate(part for part in parts if part[0])
    ]
    return f'<text x="{x:g}" y="{y:g}">{"".join(spans)}</text>'
