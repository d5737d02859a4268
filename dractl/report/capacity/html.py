"""``devices -o html`` and ``fit -o html``: one picture of the cluster, in one file that loads
nothing from elsewhere.

If there are many nodes, nodes with the same devices in the same states share a card, so that the
file stays small. A device's state is shown by a letter as well as a colour, and every device can be
reached by keyboard.
"""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from html import escape

from dractl.alignment import Use
from dractl.capacity import (
    DeviceRow,
    Fit,
    Inventory,
    MaxCopies,
    PluginRow,
    Problem,
    StrandedDevices,
)
from dractl.capacity.aligned_counts import AlignedCounts
from dractl.facts.resources import word_of
from dractl.program import program_name
from dractl.report.alignment.html import STYLE, fleet_section
from dractl.report.capacity.text import (
    alignments,
    count_copies,
    describe_aligned_counts,
    describe_demand,
    short_name,
)
from dractl.report.page import bullets, page, table, texts

_MAX_SEPARATE_NODES = 60  # with more nodes than this, equal nodes share a card
# The maximum number of cards. If nodes that share cards by _alike need more, nodes with the same
# numbers of devices share a card, and nodes beyond the maximum are only counted.
_MAX_CARDS = 300
_LETTERS = {
    "copy": ("+", "a copy fits here"),
    "free": ("·", "free"),
    "unknown": ("?", "free, or held by a claim that you are not allowed to read"),
    "held": ("H", "held"),
    "shared": ("S", "partly held"),
    "blocked": ("B", "blocked by shared counters"),
    "tainted": ("T", "tainted"),
    "incomplete": ("I", "pool cannot be used"),
    "stale": ("O", "old generation"),
    "gone": ("G", "gone"),
}


def devices(
    stock: Inventory,
    plugins: Sequence[PluginRow],
    problems: Sequence[Problem],
    fits: Sequence[Fit] = (),
    hidden: str = "",
    about: str = "",
    uses: Sequence[Use] = (),
) -> str:
    """Return the cluster's devices by node and PCIe root. ``fits`` are shapes, and each node shows
    how many further copies of them it takes. ``hidden`` is a note if some claims are unreadable.
    """
    counts = {state: sum(row.state == state for row in stock.devices) for state in _LETTERS}
    title = (
        f"{len(stock.devices)} devices, {counts['free']} free, {counts['held'] + counts['shared']}"
        " held"
    )
    parted = [amounts for pool in stock.pools for _, amounts in pool.counters]
    if parted:
        whole = sum(all(amount.consumed == "0" for amount in amounts) for amounts in parted)
        title += f"; the partitions are of {len(parted)}, {whole} of them untouched"
    if counts["unknown"]:
        title += f", {counts['unknown']} unknown"
    note = [f"<p>{escape(hidden)}</p>"] if hidden else []
    cards = _cards(stock.devices, _by_node(fits))
    parts = [
        *note,
        *_problems(problems),
        *fleet_section(uses),
        *_shapes(fits),
        *_plugins(plugins),
        *cards,
    ]
    return _page("Devices", title, parts, stock, about)


def fit(
    result: Fit,
    stock: Inventory,
    stops: Sequence[str],
    stranded: Sequence[StrandedDevices],
    most: MaxCopies | None,
    aligned: AlignedCounts | None = None,
    about: str = "",
) -> str:
    """Return the page with the places of the copies; ``stock`` is the cluster with the copies in
    it.
    """
    more = count_copies(result)
    if result.undecided:
        more = f"at least {more}, undecided"
    title = f"{describe_demand(result)}: {more}"
    if most is not None and most.fits > result.fits:
        title += f"; {most.fits} in the best order of placing"
    parts = []
    near = alignments(result)
    if aligned is not None:
        near.append(f"{aligned.first} of {result.fits} with the best alignment")
        near += describe_aligned_counts(aligned)
    if near:
        parts.append(f"<section><h2>Alignment</h2>{bullets(near)}</section>")
    unused = ""
    if stops:
        head = "The next copy" if result.undecided else "The next copy stays pending"
        parts.append(f"<section><h2>{head}</h2>{bullets(stops)}</section>")
    if stranded:
        rows = [(s.node, s.pcie_root or "", s.driver, str(len(s.devices)), s.why) for s in stranded]
        left = sum(len(s.devices) for s in stranded)
        table = _table(("node", "root", "driver", "devices", "why"), rows)
        count = "1 free device is" if left == 1 else f"{left} free devices are"
        unused = (
            f"<section><details><summary>{count} unusable for this"
            f" shape</summary>{table}</details></section>"
        )
    taken = frozenset(device for node in result.nodes for device in node.devices)
    return _page(
        "Fit",
        title,
        [*parts, *_cards(stock.devices, _by_node([result]), taken), unused],
        stock,
        about,
        taken,
    )


def change(
    title: str,
    parts: Sequence[str],
    stocks: Mapping[str, Inventory],
    taken: frozenset[str],
    about: str = "",
) -> str:
    """Return the page with the cluster before and after a change. ``stocks`` has the devices of
    each state by its heading, and the state after the change comes last. The devices ``taken`` are
    those that the subject of the change gets.
    """
    last = list(stocks.values())[-1]
    pictures = [
        card
        for heading, stock in stocks.items()
        for card in _cards(stock.devices, {}, taken if stock is last else frozenset(), heading)
    ]
    return _page("Plan", title, [*parts, *pictures], last, about, taken)


def shapes(fits: Sequence[Fit], stock: Inventory, about: str = "") -> str:
    """Return the page that shows how many copies of each shape fit, and where; ``stock`` is the
    cluster without any copies.
    """
    title = f"{len(fits)} shapes: how many more copies of each fit alone"
    return _page(
        "Fit", title, [*_shapes(fits), *_cards(stock.devices, _by_node(fits))], stock, about
    )


def _shapes(fits: Sequence[Fit]) -> Iterable[str]:
    if fits:
        rows: list[tuple[str, ...]] = [
            (
                describe_demand(fit) if fit.subject.shape is not None else short_name(fit),
                _kind_and_namespace(fit),
                f"{'at least ' if fit.undecided else ''}{fit.fits}",
                str(_nodes(fit)),
                "; ".join(alignments(fit)),
            )
            for fit in fits
        ]
        head: tuple[str, ...] = ("shape", "of", "more copies", "on nodes", "alignment")
        shown = [index for index in range(len(head)) if any(row[index] for row in rows)]
        head = tuple(head[index] for index in shown)
        rows = [tuple(row[index] for index in shown) for row in rows]
        yield f"<section><h2>What still fits</h2>{_table(head, rows)}</section>"


def _kind_and_namespace(result: Fit) -> str:
    """Return the kind and the namespace of an object; "" for a shape."""
    return " in ".join(result.subject.name.split("/")[:-1])


def _nodes(result: Fit) -> int:
    return sum(node.fits > 0 for node in result.nodes)


def _by_node(fits: Sequence[Fit]) -> dict[str, tuple[tuple[str, int], ...]]:
    """Return the shapes that fit on each node, each with its number of copies."""
    shapes_by_node: dict[str, tuple[tuple[str, int], ...]] = {}
    for fit in fits:
        for node in fit.nodes:
            shapes_by_node[node.name] = (
                *shapes_by_node.get(node.name, ()),
                (short_name(fit), node.fits),
            )
    return shapes_by_node


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of at most 200 rows."""
    more = f"<p>and {len(rows) - 200} more</p>" if len(rows) > 200 else ""
    return table(texts(rows[:200]), head) + more


def _problems(problems: Sequence[Problem]) -> Iterable[str]:
    if problems:
        items = "".join(
            f"<li><b>{escape(p.code)}</b> {escape(p.message)}</li>" for p in problems[:50]
        )
        more = f"<p>and {len(problems) - 50} more</p>" if len(problems) > 50 else ""
        yield f"<section><h2>To clean up</h2><ul>{items}</ul>{more}</section>"


def _plugins(plugins: Sequence[PluginRow]) -> Iterable[str]:
    if plugins:
        rows = [(p.node, p.resource, str(p.allocatable), str(p.requested)) for p in plugins]
        table = _table(("node", "resource", "allocatable", "requested"), rows)
        yield f"<section><h2>Device plugins</h2>{table}</section>"


def _cards(
    rows: Sequence[DeviceRow],
    fits: Mapping[str, tuple[tuple[str, int], ...]],
    taken: frozenset[str] = frozenset(),
    heading: str = "Nodes",
) -> Iterable[str]:
    nodes: dict[str, list[DeviceRow]] = {name: [] for name in fits}
    for row in rows:
        nodes.setdefault(row.node or "any node", []).append(row)
    groups: list[list[str]] = [[name] for name in sorted(nodes)]
    for alike in (_alike, _count_devices_by_state):
        if len(groups) > (_MAX_SEPARATE_NODES if alike is _alike else _MAX_CARDS):
            groups = _group_alike(nodes, fits, taken, alike)
    shown = groups[:_MAX_CARDS]
    cards = "".join(_card(names, nodes[names[0]], fits.get(names[0], ()), taken) for names in shown)
    left = len(nodes) - sum(map(len, shown))
    more = (
        f"<p>and {left} more nodes, none like another: "
        f"{program_name()} devices -o wide lists them all</p>"
        if left
        else ""
    )
    yield (
        f'<section><h2>{escape(heading)}</h2><p class="count" role="status"></p><div'
        f' class="nodes">{cards}</div>{more}</section>'
    )


def _group_alike(
    nodes: Mapping[str, list[DeviceRow]],
    fits: Mapping[str, tuple[tuple[str, int], ...]],
    taken: frozenset[str],
    alike: Callable[[Sequence[DeviceRow], frozenset[str]], Hashable],
) -> list[list[str]]:
    """Group the names of nodes that have the same number of copies and the same ``alike`` key."""
    groups: dict[Hashable, list[str]] = {}
    for name, rows in sorted(nodes.items()):
        groups.setdefault((alike(rows, taken), fits.get(name)), []).append(name)
    return list(groups.values())


def _alike(rows: Sequence[DeviceRow], taken: frozenset[str]) -> Hashable:
    """Return a key that is equal for the same devices in the same states in the same places."""
    return tuple((row.id.driver, row.pcie_root, _state(row, taken), row.model) for row in rows)


def _count_devices_by_state(rows: Sequence[DeviceRow], taken: frozenset[str]) -> Hashable:
    """Return a key that is equal for nodes with the same number of devices in each state, wherever
    the devices are.
    """
    return frozenset(
        Counter((row.id.driver, _state(row, taken), row.model) for row in rows).items()
    )


def _state(row: DeviceRow, taken: frozenset[str]) -> str:
    """Return the state in which a device is drawn; ``taken`` devices are drawn as devices of a
    further copy.
    """
    return "copy" if str(row.id) in taken else row.state


def _card(
    names: Sequence[str],
    rows: Sequence[DeviceRow],
    fits: Sequence[tuple[str, int]],
    taken: frozenset[str],
) -> str:
    roots: dict[str, list[DeviceRow]] = {}
    for row in rows:
        roots.setdefault(row.pcie_root or "no PCIe root", []).append(row)
    several = len({row.id.driver for row in rows}) > 1
    first = next(iter(rows), None)
    lines = "".join(
        f'<div class="root"><span class="name">{escape(root)}</span><span class="row">'
        + "".join(_driver(members, taken, first, named=several) for members in _by_driver(at_root))
        + "</span></div>"
        for root, at_root in sorted(roots.items())
    )
    kept = [row for row in rows if str(row.id) not in taken]  # the copies do not exist yet
    like = f" <small>and {len(names) - 1} like it</small>" if len(names) > 1 else ""
    badges = "".join(
        f'<span class="fits">{escape(shape)} <b>{count}</b></span>' for shape, count in fits
    )
    copies = (
        f'<p class="shapes" title="further copies that fit here">{badges}</p>' if badges else ""
    )
    return (
        f'<article class="node" data-nodes="{len(names)}" title="{escape(", ".join(names[:50]))}">'
        f"<h3>{escape(names[0])}{like}</h3>{copies}{lines}{_holders(names, kept)}</article>"
    )


def _by_driver(rows: Iterable[DeviceRow]) -> Iterable[list[DeviceRow]]:
    by_driver: dict[str, list[DeviceRow]] = {}
    for row in rows:
        by_driver.setdefault(row.id.driver, []).append(row)
    return by_driver.values()


def _driver(
    rows: Sequence[DeviceRow], taken: frozenset[str], first: DeviceRow | None, *, named: bool
) -> str:
    """Return the devices of one driver at one root. If ``named``, since the node has several
    drivers, begin with the word for these devices (gpu, nic).
    """
    driver = rows[0].id.driver
    name = (
        word_of(driver)
        or re.split(r"[^a-z]", rows[0].id.device, maxsplit=1)[0]
        or driver.partition(".")[0]
    )
    label = f'<span class="kind">{escape(name[:12])}</span>' if named else ""
    squares = "".join(_square(row, taken, first=row is first) for row in rows)
    return f'<span class="driver">{label}{squares}</span>'


def _holders(names: Sequence[str], rows: Sequence[DeviceRow]) -> str:
    """Return the holders of the node's devices."""
    held: dict[str, list[str]] = {}
    for row in rows:
        for holder in row.holders:
            held.setdefault(holder.pod or f"claim {holder.claim}, used by no pod", []).append(
                row.id.device
            )
    if not held:
        return ""
    lines = [
        f"<li>{escape(who)}: {escape(', '.join(dict.fromkeys(devices)))}</li>"
        for who, devices in held.items()
    ]
    more = f"<li>and {len(lines) - 12} more</li>" if len(lines) > 12 else ""
    place = f"{escape(names[0])} is " if len(names) > 1 else ""
    who = escape(next(iter(held))) + (f" +{len(held) - 1}" if len(held) > 1 else "")
    return (
        f"<details><summary>{place}held by"
        f" {who}</summary><ul>{''.join(lines[:12])}{more}</ul></details>"
    )


def _square(row: DeviceRow, taken: frozenset[str], *, first: bool) -> str:
    state = _state(row, taken)
    letter, words = _LETTERS[state]
    held = row.holders if state != "copy" else ()
    holders = ", ".join(dict.fromkeys(holder.pod or holder.claim for holder in held))
    left = ", ".join(
        f"{a.name} {a.remaining} of {a.total} left" for a in row.capacity if a.consumed != "0"
    )
    facts = [
        str(row.id),
        row.model or "",
        words,
        left,
        f"held by {holders}" if holders else "",
        *row.taints,
    ]
    label = escape("; ".join(filter(None, facts)))
    return (
        f'<span class="d {state}" tabindex="{0 if first else -1}" role="img" aria-label="{label}"'
        f' title="{label}" data-driver="{escape(row.id.driver)}"'
        f' data-model="{escape(row.model or "")}" data-state="{state}">{letter}</span>'
    )


def _page(
    kind: str,
    title: str,
    parts: Iterable[str],
    stock: Inventory,
    about: str,
    taken: frozenset[str] = frozenset(),
) -> str:
    drivers = sorted({row.id.driver for row in stock.devices})
    models = sorted({row.model for row in stock.devices if row.model})
    present = {_state(row, taken) for row in stock.devices}
    legend = "".join(
        f'<span><span class="d {state}">{letter}</span> {words}</span>'
        for state, (letter, words) in _LETTERS.items()
        if state in present
    )
    selects = (
        _select("driver", drivers) + _select("model", models) + _select("state", sorted(present))
    )
    search = (
        '<label>search <input type="search" name="search" placeholder="node, device, pod"></label>'
    )
    top = [
        f"<h1>{escape(title)}</h1>",
        f"<p class=soft>{escape(about)}</p>",
        f'<form class="filters screen">{selects}{search}</form>',
        *(() if taken else _models(stock.devices)),
    ]
    top.append(f'<div class="legend">{legend}</div>')
    return page(
        f"dractl: {kind}",
        [*top, *parts, '<output class="about" aria-live="polite"></output>'],
        _STYLE + STYLE,
        _SCRIPT,
    )


def _models(rows: Sequence[DeviceRow]) -> Iterator[str]:
    """Yield the totals by model; none if there is only one model."""
    groups: dict[str, list[DeviceRow]] = {}
    for row in rows:
        groups.setdefault(row.model or row.id.driver, []).append(row)
    if len(groups) < 2:
        return
    lines = [
        (
            model,
            str(len(rows_of_model)),
            str(_count_in_state(rows_of_model, "free")),
            str(_count_in_state(rows_of_model, "held", "shared")),
        )
        for model, rows_of_model in sorted(groups.items())
    ]
    yield _table(("model", "devices", "free", "held"), lines)


def _count_in_state(rows: Sequence[DeviceRow], *states: str) -> int:
    return sum(row.state in states for row in rows)


def _select(name: str, values: Sequence[str]) -> str:
    options = "".join(f"<option>{escape(value)}</option>" for value in values)
    return (
        f'<label>{name} <select name="{name}"><option'
        f' value="">all</option>{options}</select></label>'
    )


_STYLE = """
.filters, .legend { display: flex; flex-wrap: wrap; gap: 6px 18px; margin: 10px 0; }
.filters select, .filters input { font: inherit; max-width: 16rem; }
.count { color: var(--soft); }
.nodes { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr)); gap: 12px; }
.node { border: 1px solid var(--edge); border-radius: 6px; padding: 8px 10px; min-width: 0; }
.node h3 { margin: 0 0 4px; } .node small { color: var(--soft); font-weight: normal; }
.shapes { display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 0 0 6px; font-size: 12px; }
.root { display: flex; gap: 10px; align-items: baseline; margin: 2px 0; }
.root .name { color: var(--soft); font: 12px/1.4 ui-monospace, monospace; flex: 0 0 7rem; }
.row { display: flex; flex-wrap: wrap; gap: 3px 10px; } .driver { display: flex; flex-wrap: wrap; gap: 3px; }
.kind { color: var(--soft); font: 12px/21px ui-monospace, monospace; margin-right: 2px; }
.d { display: inline-block; width: 21px; height: 21px; text-align: center; border-radius: 3px;
  font: 600 12px/18px ui-monospace, monospace; border: 1.5px solid #0003; color: #10151a; }
.d:focus { outline: 3px solid #0969da; outline-offset: 1px; } .d.off { opacity: .15; }
.free { background: var(--paper); border-color: var(--gpu); color: var(--ink); } .held { background: #7aa7d9; }
.copy { background: #b7dfb0; border-color: #2f6f3e; }
.shared { background: linear-gradient(135deg, #7aa7d9 50%, #fff 50%); } .blocked { background: #c9c3dd; }
.unknown { background: repeating-linear-gradient(45deg, #d5d9de 0 4px, #fff 4px 8px); }
.tainted { background: #f0b429; } .incomplete { background: #d9a6a0; } .stale, .gone { background: #b08968; }
details { margin-top: 6px; font-size: 12px; }
@media print { .node, .row { break-inside: avoid; } .count { display: none; } }
"""
# Filters dim the other devices and hide nodes without any; arrow keys go from device to device, Tab
# from node to node.
_SCRIPT = """
const form = document.querySelector('.filters'), about = document.querySelector('.about');
function filter() {
  const want = Object.entries(Object.fromEntries(new FormData(form))).filter(([, v]) => v);
  for (const count of document.querySelectorAll('.count')) show(want, count);
}
function show(want, count) {
  const found = (card, d, text) =>
    `${card.title} ${d.title}`.toLowerCase().includes(text.toLowerCase());
  let devices = 0, nodes = 0;
  for (const card of count.parentElement.querySelectorAll('.node')) {
    let own = 0;
    for (const d of card.querySelectorAll('.d')) {
      const off = want.some(([k, v]) => k === 'search' ? !found(card, d, v) : d.dataset[k] !== v);
      d.classList.toggle('off', off);
      own += !off;
    }
    card.hidden = want.length > 0 && !own;
    devices += own * card.dataset.nodes;
    nodes += card.hidden ? 0 : +card.dataset.nodes;
  }
  const plural = (number, noun) => `${number} ${noun}${number === 1 ? '' : 's'}`;
  count.textContent = `${plural(devices, 'device')} on ${plural(nodes, 'node')}` + (want.length ? ' match' : '');
}
form.addEventListener('input', filter);
form.addEventListener('submit', (e) => e.preventDefault());
filter();
for (const kind of ['focusin', 'mouseover'])
  document.addEventListener(kind, (e) => {
    const d = e.target.closest('.nodes .d');
    if (d) about.textContent = d.getAttribute('aria-label');
  });
document.addEventListener('keydown', (e) => {
  const d = e.target.closest('.nodes .d'), step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
  if (!d || !step) return;
  const all = [...d.closest('.node').querySelectorAll('.d')], next = all[all.indexOf(d) + step];
  if (next) { next.focus(); e.preventDefault(); }
});
"""
