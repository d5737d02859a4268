"""explain as one page of HTML that needs nothing else: the funnel as bars, the node that comes nearest as a picture."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dractl.explain.answer import DeviceStatus, Explanation, Fix, FunnelStage, NodeAnswer

_STYLE = """
:root { --ink: #1b1f24; --dim: #5c6670; --line: #d5dae0; --paper: #fff; --bad: #b3261e; --good: #1a7f37;
  --held: #b26a00; --bar: #3b6ea8; --soft: #f3f5f7 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --dim: #9aa4ad; --line: #3a424a; --paper: #15191d;
  --bad: #ff8a80; --good: #6fdd8b; --held: #ffb74d; --bar: #6ea8e0; --soft: #1e242a } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2rem auto;
  max-width: 62rem; padding: 0 1rem }
h1 { font-size: 1.3rem; margin: 0 }
h2 { font-size: 1rem; margin: 1.6rem 0 .4rem }
.verdict { font-size: 1.05rem; margin: .3rem 0 1rem }
.bad { color: var(--bad) } .good { color: var(--good) } .dim { color: var(--dim) }
table { border-collapse: collapse; width: 100% }
td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
td.n { text-align: right; white-space: nowrap }
.bar { background: var(--soft); height: .8rem; width: 14rem }
.bar i { background: var(--bar); display: block; height: 100% }
code { font: 13px ui-monospace, monospace; background: var(--soft); padding: 0 .25rem }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink) }
"""
_COLOURS = {
    "free": "--good",
    "held": "--held",
    "unavailable": "--dim",
    "tainted": "--bad",
    "hidden": "--dim",
    "unpublished": "--dim",
}
_BOX, _GAP, _HEAD, _COLUMNS = 128, 10, 24, 4


def render(explanations: Sequence[Explanation]) -> str:
    """The page: a section for each subject."""
    title = escape(explanations[0].subject.title if len(explanations) == 1 else f"{len(explanations)} subjects")
    body = "\n".join(part for e in explanations for part in _section(e))
    return (
        f"<!doctype html>\n<html lang=en><head><meta charset=utf-8><title>{title}</title>"
        f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>"
    )


def _section(e: Explanation) -> Iterator[str]:
    assumed = " (assumed)" if e.release_assumed else ""
    yield f"<h1>{escape(e.subject.title)} <small class=dim>Kubernetes {e.release}{assumed}</small></h1>"
    mark, look = ("✓", "good") if e.fits else ("✗", "bad")
    yield f"<p class=verdict><b class={look}>{mark}</b> {escape(e.headline)}</p>"
    yield from (f"<p class=dim>{escape(note)}</p>" for note in e.notes)
    if e.funnel:
        yield from _funnel(e.funnel)
    if e.devices:
        yield from _picture(e)
    if e.reasons:
        yield from _reasons(e)
    if len(e.nodes) > 1:
        yield from _nodes(e.nodes)
    if not e.fits:
        yield from _fixes(e.fixes)
    if e.scheduler_message:
        yield f"<h2>What the scheduler says</h2><p><code>{escape(e.scheduler_message)}</code></p>"


def _funnel(stages: Sequence[FunnelStage]) -> Iterator[str]:
    most = max((s.of for s in stages), default=0) or 1
    yield "<h2>Devices</h2><table>"
    for s in stages:
        look = " bad" if s.kept == 0 else ""
        yield (
            f"<tr><td>{escape(s.request)}</td><td>{escape(s.stage)}</td>"
            f"<td><div class=bar><i style='width:{100 * s.kept / most:.1f}%'></i></div></td>"
            f"<td class='n{look}'>{s.kept} of {s.of}</td><td class=dim>{escape(s.detail)}</td></tr>"
        )
    yield "</table>"


def _picture(e: Explanation) -> Iterator[str]:
    """The node's devices in the boxes of their PCIe roots, or NUMA nodes where no root is published."""
    name = e.subject.name if e.subject.kind == "Node" else e.conflict.node if e.conflict else ""
    if not name:
        name = next((n for r in e.reasons for n in r.nodes), "")
    places: dict[str, list[DeviceStatus]] = {}
    for device in e.devices:
        numa = f"NUMA {device.numa}" if device.numa is not None else ""
        place = " · ".join(filter(None, (device.root, numa))) or "elsewhere"
        places.setdefault(place, []).append(device)
    yield f"<h2>Node {escape(name)}</h2>"
    yield _svg(places)
    shown = {d.status for d in e.devices}
    legend = " ".join(f"<span style='color:var({c})'>■</span> {s}" for s, c in _COLOURS.items() if s in shown)
    yield f"<p class=dim>{legend}; a thick frame: a request would take it</p>"


def _svg(places: dict[str, list[DeviceStatus]]) -> str:
    parts: list[str] = []
    y = 0
    width = _COLUMNS * (_BOX + _GAP) + _GAP
    for place, devices in sorted(places.items()):
        rows = (len(devices) + _COLUMNS - 1) // _COLUMNS
        height = _HEAD + rows * (34 + _GAP) + 4
        parts.append(
            f"<rect x='1' y='{y + 1}' width='{width}' height='{height}' rx='6' fill='none' stroke='var(--line)'/>"
            f"<text x='10' y='{y + 17}'>{escape(place)}</text>"
        )
        for i, device in enumerate(devices):
            left = _GAP + (i % _COLUMNS) * (_BOX + _GAP)
            top = y + _HEAD + (i // _COLUMNS) * (34 + _GAP)
            parts.append(_device(device, left, top))
        y += height + _GAP
    return f"<svg width='{width + 2}' height='{y}' role='img' aria-label='devices of the node'>{''.join(parts)}</svg>"


def _device(device: DeviceStatus, left: int, top: int) -> str:
    name = device.device.rpartition("/")[2]
    told = [device.device, device.status, *(f"claim {h.claim}" for h in device.holders), *device.taints]
    if device.requests:
        told.append(f"wanted by {', '.join(device.requests)}")
    stroke = 3 if device.requests else 1
    return (
        f"<g><title>{escape('; '.join(told))}</title>"
        # Quoted, all of them: an unquoted value before `/>` takes the slash, and the texts end up inside the box.
        f"<rect x='{left}' y='{top}' width='{_BOX}' height='34' rx='4' fill='var(--soft)' "
        f"stroke='var({_COLOURS[device.status]})' stroke-width='{stroke}'/>"
        f"<text x='{left + 8}' y='{top + 15}'>{escape(name[:16])}</text>"
        f"<text x='{left + 8}' y='{top + 29}' style='fill:var(--dim);font-size:10px'>{device.status}</text></g>"
    )


def _reasons(e: Explanation) -> Iterator[str]:
    yield "<h2>Reasons</h2><table>"
    for r in e.reasons:
        nodes = ", ".join(r.nodes[:4]) + (f" and {len(r.nodes) - 4} more" if len(r.nodes) > 4 else "")
        selector = f"<br><code>{escape(r.selector)}</code>" if r.selector else ""
        cells = f"<td>{escape(r.message)}{selector}</td><td class=dim>{escape(nodes)}</td>"
        yield f"<tr><td><code>{r.code}</code></td>{cells}</tr>"
    yield "</table>"


def _nodes(nodes: Sequence[NodeAnswer]) -> Iterator[str]:
    yield "<h2>Nodes</h2><table>"
    for n in nodes:
        like = f" and {len(n.like)} like it" if n.like else ""
        message = n.reasons[0].message if n.reasons else ""
        yield f"<tr><td>{escape(n.name)}{like}</td><td>{n.verdict}</td><td>{escape(message)}</td></tr>"
    yield "</table>"


def _fixes(fixes: Sequence[Fix]) -> Iterator[str]:
    if not fixes:
        yield "<h2>No small change was found after which it fits</h2>"
        return
    yield "<h2>Would fit if <small class=dim>each checked by allocating again</small></h2><table>"
    for f in fixes:
        effect = f" <span class=dim>({escape(f.effect)})</span>" if f.effect else ""
        where = escape(", ".join(f.nodes[:4]))
        yield f"<tr><td class=n>{f.rank}</td><td>{escape(f.title)}{effect}</td><td>{where}</td></tr>"
    yield "</table>"
