"""``discover -o html``: the boxes, the matrix and the notes of a machine in one page that can be
put in a ticket.

If the reader points at a device, or reaches it with the Tab key, every other device shows its
distance from it. The page loads nothing from elsewhere.
"""

import json
from collections.abc import Set as AbstractSet
from html import escape

from dractl.drivers.publication import NOTHING, Publication
from dractl.report.canvas import Canvas
from dractl.report.machine import boxes as boxes, text as words
from dractl.report.machine.boxes import Box, Card, Counted
from dractl.report.machine.matrix import devices_of
from dractl.report.machine.svg import COLORS
from dractl.report.page import bullets, page, prose, table, texts
from dractl.topology.levels import LEVELS, nearest, rank
from dractl.topology.machine import Machine

_CANVAS = Canvas()

_STYLE = """
h3, h4, h5 { display: inline; }
.picture { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 460px), 1fr)); gap: 12px;
  align-items: start; margin-top: 12px; }
.box { border: 1px solid var(--edge); border-radius: 6px; padding: 6px 8px 8px; background: var(--box); }
.box.root { background: var(--paper); } .box .box, .device, .rest, .legend { margin-top: 6px; }
.head { display: flex; flex-wrap: wrap; gap: 0 10px; font-size: 12px; }
.head > .within { margin-left: auto; }
.device { border: 1px solid var(--edge); border-left: 6px solid var(--other); border-radius: 5px; padding: 4px 8px;
  background: var(--card); font-size: 13px; }
.device.gpu { border-left-color: var(--gpu); } .device.nic { border-left-color: var(--nic); }
.device.nvme { border-left-color: var(--nvme); }
.device .line { display: flex; flex-wrap: wrap; gap: 0 10px; align-items: baseline; }
.device .link, .device .level { margin-left: auto; white-space: nowrap; } .device .link + .level { margin-left: 0; }
.level:empty { display: none; }
.level { border: 1px solid var(--ink); border-radius: 4px; padding: 0 5px; font-weight: 600; }
.device.at, .device:focus { outline: 2px solid var(--ink); outline-offset: 1px; }
.part { padding-left: 16px; } .rest { font-size: 12px; }
.matrix { font-size: 12px; }
.matrix th, .matrix td { white-space: nowrap; padding: 3px 8px; border: 1px solid var(--edge); }
.near { background: color-mix(in srgb, var(--good) 28%, transparent); }
.mid { background: color-mix(in srgb, var(--nvme) 28%, transparent); }
.far { background: color-mix(in srgb, var(--bad) 28%, transparent); }
.matrix th { background: var(--box); } tr.at > * { background: var(--box); font-weight: 600; }
@media print {
  .picture { grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr)); }
  .box.root, .device { break-inside: avoid; }
  .matrix { font-size: calc(min(12px, 620px / var(--columns) / 2.4)); width: 100%; }
  .matrix th, .matrix td { padding: 2px 1px; text-align: center; }
  .matrix th[scope=col] { writing-mode: vertical-rl; padding: 4px 1px; }
}
"""

# Shows how far each device is from the one that the reader points at, by the addresses of both.
_SCRIPT = """
const levels = JSON.parse(document.getElementById("levels").textContent);
const devices = [...document.querySelectorAll(".device")], rows = [...document.querySelectorAll("tr[data-bdf]")];
const details = document.getElementById("details");
function point(bdf) {
  for (const row of rows) row.classList.toggle("at", row.dataset.bdf === bdf);
  for (const device of devices) {
    device.classList.toggle("at", device.dataset.bdf === bdf);
    device.querySelector(".level").textContent = bdf && (levels[bdf] || {})[device.dataset.bdf] || "";
    if (device.dataset.bdf === bdf) details.textContent = device.dataset.details.replaceAll("\\n", " \\u00b7 ");
  }
  if (!bdf) details.textContent = "";
}
const focused = () => document.activeElement.dataset.bdf || null;
for (const place of [...devices, ...rows]) {
  place.addEventListener("mouseenter", () => point(place.dataset.bdf));
  place.addEventListener("mouseleave", () => point(focused()));
  place.addEventListener("focus", () => point(place.dataset.bdf));
  place.addEventListener("blur", () => point(null));
}
""".strip()


def render(machine: Machine, publication: Publication = NOTHING) -> str:
    """Return a complete HTML document."""
    best: dict[str, dict[str, str]] = {}
    for (a, b), level in nearest(machine).items():
        best.setdefault(a, {})[b] = level
    # "</" cannot occur in addresses and levels, but is escaped nevertheless, because it would end
    # the element.
    data = json.dumps(best).replace("</", "<\\/")
    node = machine.host.name or words.host_product(machine) or "this node"
    labels = words.labels(machine, devices_of(machine), publication)
    parts = [
        f"<h1>PCI topology of {escape(node)}</h1>",
        *(f'<p class="soft">{prose(line)}</p>' for line in words.host_lines(machine)),
        *_picture(machine, publication, {level for row in best.values() for level in row.values()}),
        *_matrix(machine, best, labels),
        *_list("Links between GPUs", words.fabric_lines(machine, labels)),
        *_list("NVCX complexes", words.complex_lines(machine, labels)),
        *_list("RDMA NICs nearest to each GPU", words.rail_lines(machine, labels)),
        *_section_of_published(machine, publication),
        *_pairs("Not published", words.lines_of_unpublished(publication)),
        *_pairs("Notes", words.note_lines(machine, publication)),
        '<div class="about" id="details" role="status"></div>',
        f'<script type="application/json" id="levels">{data}</script>',
    ]
    return page(f"{node}: PCI topology", parts, _STYLE, _SCRIPT)


def _picture(machine: Machine, publication: Publication, distances: AbstractSet[str]) -> list[str]:
    """Return the picture and its legend, which also explains the levels of the matrix,
    ``distances``.
    """
    picture = boxes.picture(machine, publication, _CANVAS)
    hint = (
        "Point at a device, or go to it with Tab, to show its distance to the others, and its"
        " details below."
    )
    lines = [
        '<div class="picture">',
        *(part for box in picture.boxes for part in _box(box, 3)),
        "</div>",
    ]
    if picture.between:
        lines.append(
            f'<p class="soft legend">Between NUMA nodes: {escape(", ".join(picture.between))}</p>'
        )
    shown = {
        *picture.levels(),
        *("NV#" if level.startswith("NV") else level for level in distances),
    }
    legend = "; ".join(f"{name}: {text}" for name, text in LEVELS.items() if name in shown)
    return [
        f'<p class="soft screen">{hint}</p>',
        *lines,
        f'<p class="soft legend">{prose(legend)}</p>',
    ]


def _box(box: Box, heading: int) -> list[str]:
    level = min(heading, 5)
    within = f'<span class="soft within">{escape(box.tag)}</span>' if box.tag else ""
    detail = escape(box.detail).replace(",", ",<wbr>")
    head = f'<h{level}>{escape(box.title)}</h{level}><span class="soft">{detail}</span>{within}'
    lines = [f'<section class="box {box.kind}"><div class="head">{head}</div>']
    for item in box.inside:
        lines += _box(item, heading + 1) if isinstance(item, Box) else _card(item)
    return [*lines, "</section>"]


def _card(card: Card | Counted) -> list[str]:
    if not isinstance(card, Card):
        return [f'<div class="soft rest">{escape(card.text)}</div>']
    link_style = "link warn strong" if card.slow else "link soft"
    spans = [
        f'<span class="strong">{escape(card.label)}</span>' if card.label else "",
        f'<span class="mono">{escape(card.published)}</span>' if card.published else "",
        f"<span>{escape(card.names)}</span>" if card.names else "",
        f'<span class="{link_style}">{escape(card.link)}</span>' if card.link else "",
        '<span class="level"></span>',
    ]
    kind = COLORS.get(card.device.kind, "other")
    opening = (
        f'<div class="device {kind}" tabindex="0" role="group" aria-label="{escape(card.title)}" '
        f'data-bdf="{card.device.bdf}" data-details="{escape(card.details)}">'
    )
    return [
        opening,
        f'<div class="line">{"".join(spans)}</div>',
        f'<div><span class="mono">{card.device.bdf}</span> {escape(card.text)}</div>',
        *(f'<div class="part">{escape(part)}</div>' for part in card.parts),
        f'<div class="warn">not published: {escape(card.why_not)}</div>' if card.why_not else "",
        "</div>",
    ]


def _matrix(machine: Machine, best: dict[str, dict[str, str]], labels: dict[str, str]) -> list[str]:
    devices = devices_of(machine)
    if len(devices) < 2:
        return []
    heads = "".join(
        f'<th scope="col" title="{d.bdf}">{escape(labels[d.bdf])}</th>' for d in devices
    )
    columns = len(devices) + 1  # the number of columns by which the width of paper is divided
    lines = [
        "<h2>Distances</h2>",
        f'<div class="wide" tabindex="0"><table class="matrix" style="--columns: {columns}">',
        f"<tr><td></td>{heads}</tr>",
    ]
    for a in devices:
        cells = "".join(_cell(best.get(a.bdf, {}).get(b.bdf, "X")) for b in devices)
        head = f'<th scope="row" title="{a.bdf}">{escape(labels[a.bdf])}</th>'
        lines.append(f'<tr data-bdf="{a.bdf}">{head}{cells}</tr>')
    return [*lines, "</table></div>"]


def _cell(level: str) -> str:
    far = ("", *["near"] * 4, *["mid"] * 2, *["far"] * 2)[rank(level)]
    return (
        f'<td class="{far}" title="{escape(LEVELS.get(level, LEVELS["NV#"]))}">{escape(level)}</td>'
    )


def _section_of_published(machine: Machine, publication: Publication) -> list[str]:
    if not publication.devices:
        return []
    places = words.names_by_place(publication)
    rows = [
        (place, driver, " ".join(names)) for place, drivers in places for driver, names in drivers
    ]
    return [
        "<h2>Devices that drivers would publish</h2>",
        f"<p>{escape(words.driver_list(publication))}</p>",
        table(texts(rows)),
        bullets(words.alignment_lines(machine, publication)),
    ]


def _list(title: str, items: list[str]) -> list[str]:
    return [f"<h2>{title}</h2>", bullets(items)] if items else []


def _pairs(title: str, pairs: list[tuple[str, str]]) -> list[str]:
    lines = (f"<dt>{escape(about)}</dt><dd>{prose(message)}</dd>" for about, message in pairs)
    return [f"<h2>{title}</h2>", "<dl>", *lines, "</dl>"] if pairs else []
