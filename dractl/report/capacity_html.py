"""``devices -o html`` and ``fit -o html``: one picture of the cluster, in one file that loads nothing from elsewhere.

Nodes with the same devices in the same states share a card where there are many. A device's state is its letter as
well as its colour; every device can be reached by keyboard.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dractl.capacity import DeviceRow, Fit, Inventory, Most, PluginRow, Problem, Stranded

_MANY = 60  # nodes from which equal ones share a card
_LETTERS = {
    "copy": ("+", "a copy fits here"),
    "free": ("·", "free"),
    "held": ("H", "held"),
    "shared": ("S", "partly held"),
    "blocked": ("B", "blocked by shared counters"),
    "tainted": ("T", "tainted"),
    "incomplete": ("I", "pool cannot be used"),
    "stale": ("O", "old generation"),
    "gone": ("G", "gone"),
}


def devices(stock: Inventory, plugins: Sequence[PluginRow], problems: Sequence[Problem]) -> str:
    """The cluster's devices by node and PCIe root."""
    counts = {state: sum(row.state == state for row in stock.devices) for state in _LETTERS}
    title = f"{len(stock.devices)} devices, {counts['free']} free, {counts['held'] + counts['shared']} held"
    return _page("Devices", title, [*_problems(problems), *_plugins(plugins), *_cards(stock.devices, {})], stock)


def fit(found: Fit, stock: Inventory, stops: Sequence[str], stranded: Sequence[Stranded], most: Most | None) -> str:
    """Where the copies fit; ``stock`` is the cluster with the copies in it."""
    more = "1 more copy fits" if found.fits == 1 else f"{found.fits} more copies fit"
    title = f"{found.subject.name}: {more}"
    if most is not None and most.fits > found.fits:
        title += f"; {most.fits} in the best order of placing"
    parts = []
    unused = ""
    if stops:
        lines = "".join(f"<li>{escape(text)}</li>" for text in stops)
        parts.append(f"<section><h2>The next copy stays pending</h2><ul>{lines}</ul></section>")
    if stranded:
        rows = "".join(
            f"<tr><td>{escape(s.node)}</td><td>{escape(s.pcie_root or '')}</td><td>{escape(s.driver)}</td>"
            f"<td>{len(s.devices)}</td><td>{escape(s.why)}</td></tr>"
            for s in stranded[:200]
        )
        head = "<tr><th>node</th><th>root</th><th>driver</th><th>devices</th><th>why</th></tr>"
        left = sum(len(s.devices) for s in stranded)
        unused = (
            f"<section><details><summary>{left} free devices are unusable for this shape</summary>"
            f'<div class="scroll"><table>{head}{rows}</table></div></details></section>'
        )
    fits = {node.name: node.fits for node in found.nodes}
    taken = frozenset(device for node in found.nodes for device in node.devices)
    return _page("Fit", title, [*parts, *_cards(stock.devices, fits, taken), unused], stock, taken)


def _problems(problems: Sequence[Problem]) -> Iterable[str]:
    if problems:
        items = "".join(f"<li><b>{escape(p.code)}</b> {escape(p.message)}</li>" for p in problems[:50])
        more = f"<p>and {len(problems) - 50} more</p>" if len(problems) > 50 else ""
        yield f"<section><h2>To clean up</h2><ul>{items}</ul>{more}</section>"


def _plugins(plugins: Sequence[PluginRow]) -> Iterable[str]:
    if plugins:
        rows = "".join(
            f"<tr><td>{escape(p.node)}</td><td>{escape(p.resource)}</td><td>{p.allocatable}</td><td>{p.requested}</td></tr>"
            for p in plugins[:100]
        )
        head = "<tr><th>node</th><th>resource</th><th>allocatable</th><th>requested</th></tr>"
        yield f'<section><h2>Device plugins</h2><div class="scroll"><table>{head}{rows}</table></div></section>'


def _cards(rows: Sequence[DeviceRow], fits: Mapping[str, int], taken: frozenset[str] = frozenset()) -> Iterable[str]:
    nodes: dict[str, list[DeviceRow]] = {name: [] for name in fits}
    for row in rows:
        nodes.setdefault(row.node or "any node", []).append(row)
    groups: dict[object, list[str]] = {}
    for name, members in sorted(nodes.items()):
        key: object = name
        if len(nodes) > _MANY:
            key = tuple((r.id.driver, r.pcie_root, r.state, r.model) for r in members), fits.get(name)
        groups.setdefault(key, []).append(name)
    cards = "".join(
        _card(names, nodes[names[0]], fits.get(names[0]) if fits else None, taken) for names in groups.values()
    )
    yield f'<section><h2>Nodes</h2><div class="nodes">{cards}</div></section>'


def _card(names: Sequence[str], rows: Sequence[DeviceRow], fits: int | None, taken: frozenset[str]) -> str:
    roots: dict[str, list[DeviceRow]] = {}
    for row in rows:
        roots.setdefault(row.pcie_root or "no PCIe root", []).append(row)
    lines = "".join(
        f'<div class="root"><span class="name">{escape(root)}</span><span class="row">'
        + "".join(_square(row, taken) for row in members)
        + "</span></div>"
        for root, members in sorted(roots.items())
    )
    name = escape(names[0]) + (f" <small>and {len(names) - 1} like it</small>" if len(names) > 1 else "")
    copies = "" if fits is None else f'<span class="fits">{fits} {"fits" if fits == 1 else "fit"}</span>'
    return f'<article class="node" title="{escape(", ".join(names[:50]))}"><h3>{name}{copies}</h3>{lines}</article>'


def _square(row: DeviceRow, taken: frozenset[str]) -> str:
    state = "copy" if str(row.id) in taken else row.state
    letter, words = _LETTERS[state]
    holders = ", ".join(dict.fromkeys(holder.pod or holder.claim for holder in row.holders))
    facts = [str(row.id), row.model or "", words, f"held by {holders}" if holders else "", *row.taints]
    label = escape("; ".join(filter(None, facts)))
    return (
        f'<span class="d {state}" tabindex="0" role="img" aria-label="{label}" title="{label}" '
        f'data-driver="{escape(row.id.driver)}" data-model="{escape(row.model or "")}" data-state="{state}">'
        f"{letter}</span>"
    )


def _page(kind: str, title: str, parts: Iterable[str], stock: Inventory, taken: frozenset[str] = frozenset()) -> str:
    drivers = sorted({row.id.driver for row in stock.devices})
    models = sorted({row.model for row in stock.devices if row.model})
    present = {"copy" if str(row.id) in taken else row.state for row in stock.devices}
    legend = "".join(
        f'<span><span class="d {state}">{letter}</span> {words}</span>'
        for state, (letter, words) in _LETTERS.items()
        if state in present
    )
    selects = _select("driver", drivers) + _select("model", models) + _select("state", sorted(present))
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>dractl: {escape(kind)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        f'<form class="filters">{selects}</form><div class="legend">{legend}</div>{"".join(parts)}'
        f"<script>{_SCRIPT}</script></body></html>\n"
    )


def _select(name: str, values: Sequence[str]) -> str:
    options = "".join(f"<option>{escape(value)}</option>" for value in values)
    return f'<label>{name} <select name="{name}"><option value="">all</option>{options}</select></label>'


_STYLE = """
:root { color-scheme: light dark; --line: #8884; --ink: #1b1f24; --paper: #fff; --quiet: #57606a; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --quiet: #9da7b1; } }
body { font: 15px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 1.2rem; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; } h2 { font-size: 1.05rem; margin-top: 1.6rem; }
.filters, .legend { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; margin: .6rem 0; }
.filters select { font: inherit; max-width: 16rem; }
.nodes { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: .8rem; }
.node { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .7rem; }
.node h3 { font-size: .95rem; margin: 0 0 .4rem; overflow-wrap: anywhere; }
.node small { color: var(--quiet); font-weight: normal; } .fits { float: right; font-weight: 600; }
.root { display: flex; gap: .6rem; align-items: baseline; margin: .15rem 0; }
.root .name { color: var(--quiet); font: 12px/1.4 ui-monospace, monospace; min-width: 7.5rem; overflow-wrap: anywhere; }
.row { display: flex; flex-wrap: wrap; gap: 3px; }
.d { display: inline-block; width: 1.35em; height: 1.35em; line-height: 1.3em; text-align: center; border-radius: 3px;
  font: 600 12px/1.3 ui-monospace, monospace; border: 1.5px solid #0003; color: #10151a; }
.d:focus { outline: 3px solid #0969da; outline-offset: 1px; } .d.off { opacity: .12; }
.free { background: #fff; border-color: #1f6feb; border-width: 2px; } .held { background: #7aa7d9; }
.copy { background: #b7dfb0; border-color: #2f6f3e; }
.shared { background: linear-gradient(135deg, #7aa7d9 50%, #fff 50%); } .blocked { background: #c9c3dd; }
.tainted { background: #f0b429; } .incomplete { background: #d9a6a0; } .stale, .gone { background: #b08968; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; }
td, th { text-align: left; padding: .2rem .7rem .2rem 0; border-bottom: 1px solid var(--line); }
"""
_SCRIPT = """
const form = document.querySelector('.filters');
form.addEventListener('change', () => {
  const want = Object.fromEntries(new FormData(form));
  for (const d of document.querySelectorAll('.nodes .d'))
    d.classList.toggle('off', Object.entries(want).some(([k, v]) => v && d.dataset[k] !== v));
});
"""
