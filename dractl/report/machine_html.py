"""``discover -o html``: the picture, the matrix and the notes in one file that can be put in a ticket.

Pointing at a device colours every other by its distance. Nothing is loaded from elsewhere.
"""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING

from dractl.report import machine_svg
from dractl.report import machine_text as words
from dractl.topology.levels import LEVELS, endpoints, nearest

if TYPE_CHECKING:
    from dractl.drivers.view import View
    from dractl.topology.machine import Machine

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #59636e; --paper: #ffffff; --box: #f3f5f8; --edge: #c3cad3;
  --pix: #1a8f3c; --pxb: #0a7ea4; --phb: #7d6b00; --node: #d4730a; --sys: #c01f3a; --nv: #7a3fd0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9aa4b2; --paper: #14171c; --box: #1e232b;
  --edge: #414a57; --pix: #4cc96f; --pxb: #46b8dd; --phb: #d9c24a; --node: #f39a4b; --sys: #f0657c; --nv: #b08cf5; } }
body { margin: 0; padding: 20px; color: var(--ink); background: var(--paper);
  font: 14px ui-sans-serif, system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; }
h1 { font-size: 18px; margin: 0 0 12px; } h2 { font-size: 15px; margin: 28px 0 8px; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 12px; }
th, td { padding: 3px 8px; text-align: left; border: 1px solid var(--edge); white-space: nowrap; }
th { background: var(--box); } .PIX { color: var(--pix); } .PXB { color: var(--pxb); } .PHB { color: var(--phb); }
.NODE { color: var(--node); } .SYS { color: var(--sys); } .NV { color: var(--nv); font-weight: 600; } .X { color:
var(--soft); }
tr.at td, tr.at th { background: var(--box); } dt { font-weight: 600; } dd { margin: 0 0 8px; }
svg .device { cursor: default; } svg.dractl .device.at > rect:first-of-type { stroke: var(--ink); stroke-width: 2; }
svg .device.lit > rect:first-of-type { stroke: var(--lit); stroke-width: 2; }
p { color: var(--soft); max-width: 70em; }
""".strip()

# Distances by the two addresses; classes do the colouring.
_SCRIPT = """
const levels = JSON.parse(document.getElementById("levels").textContent);
const colors = { PIX: "--pix", PXB: "--pxb", PHB: "--phb", NODE: "--node", SYS: "--sys", NV: "--nv", XGMI: "--nv" };
const devices = [...document.querySelectorAll(".device")], rows = [...document.querySelectorAll("tr[data-bdf]")];
function point(bdf) {
  for (const row of rows) row.classList.toggle("at", row.dataset.bdf === bdf);
  for (const device of devices) {
    const level = bdf && (levels[bdf] || {})[device.dataset.bdf];
    device.classList.toggle("at", device.dataset.bdf === bdf);
    device.classList.toggle("lit", Boolean(level));
    if (level) device.style.setProperty("--lit", `var(${colors[level.replace(/[0-9?#]/g, "")]})`);
  }
}
for (const place of [...devices, ...rows]) {
  place.addEventListener("mouseenter", () => point(place.dataset.bdf));
  place.addEventListener("mouseleave", () => point(null));
}
""".strip()


def render(machine: Machine, view: View | None = None) -> str:
    """A complete HTML document; ``view`` adds what drivers would publish."""
    best: dict[str, dict[str, str]] = {}
    for (a, b), level in nearest(machine).items():
        best.setdefault(a, {})[b] = level
    # "</" cannot occur in addresses and levels; escaped all the same, because it would end the element.
    data = json.dumps(best).replace("</", "<\\/")
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">',
        f"<title>dractl discover</title><style>{_STYLE}</style></head><body>",
        "<h1>PCI topology of this node</h1>",
        "<p>Point at a device to see how far the others are; hold still for its details.</p>",
        f'<div class="wide">{machine_svg.picture(machine)}</div>',
        *_matrix(machine, best),
        *_dra(view),
        *_notes(machine),
        f'<script type="application/json" id="levels">{data}</script>',
        f"<script>{_SCRIPT}</script></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _matrix(machine: Machine, best: dict[str, dict[str, str]]) -> list[str]:
    devices = endpoints(machine)
    if len(devices) < 2:
        return []
    labels = words.labels(machine, devices)
    heads = "".join(f'<th title="{d.bdf}">{labels[d.bdf]}</th>' for d in devices)
    lines = ["<h2>Distances</h2>", '<div class="wide"><table>', f"<tr><th></th>{heads}</tr>"]
    for a in devices:
        cells = "".join(_cell(best.get(a.bdf, {}).get(b.bdf, "X")) for b in devices)
        lines.append(f'<tr data-bdf="{a.bdf}"><th title="{a.bdf}">{labels[a.bdf]}</th>{cells}</tr>')
    return [*lines, "</table></div>"]


def _cell(level: str) -> str:
    plain = "NV" if level.startswith(("NV", "XGMI")) else level.rstrip("?")
    return f'<td class="{plain}" title="{escape(LEVELS.get(level, LEVELS["NV#"]))}">{escape(level)}</td>'


def _dra(view: View | None) -> list[str]:
    if view is None or not view.devices:
        return []
    lines = ["<h2>Devices that drivers would publish</h2>", f"<p>{escape(words.dra_drivers(view))}</p>", "<table>"]
    for place, drivers in words.dra_places(view):
        for driver, names in drivers:
            cells = (place, driver, " ".join(names))
            lines.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    said = [*(alignment.text for alignment in view.alignments), *view.warnings]
    return [*lines, "</table>", "<ul>", *(f"<li>{escape(text)}</li>" for text in said), "</ul>"]


def _notes(machine: Machine) -> list[str]:
    if not machine.notes:
        return []
    lines = [f"<dt>{escape(note.about)}</dt><dd>{escape(note.message)}</dd>" for note in machine.notes]
    return ["<h2>Notes</h2>", "<dl>", *lines, "</dl>"]
