"""explain as one page of HTML that loads nothing else: the funnel as bars, and the node that is
nearest to a fit as a picture.
"""

from collections.abc import Iterator, Sequence
from html import escape

from dractl.cluster.origin import NO_ORIGIN, Origin
from dractl.cluster.shell import NextStep
from dractl.explain.answer import DeviceStatus, Explanation, Fix, FunnelStage, NodeAnswer
from dractl.explain.fleet.groups import Group
from dractl.facts.resources import word_of
from dractl.model.abbreviation import abbreviate
from dractl.model.order import natural
from dractl.program import invocation
from dractl.report.alignment import html as alignment_html, svg as alignment_svg
from dractl.report.alignment.text import title as alignment_title
from dractl.report.explain import groups as explain_groups, opening as explain_opening
from dractl.report.explain.marks import NO, mark_answer
from dractl.report.page import cell, page, prose, table
from dractl.views import age

_STYLE = """
body { max-width: 62rem; } table { width: 100%; }
.verdict { font-size: 16px; margin: 4px 0 12px; }
.bar { background: var(--box); height: 12px; width: 14rem; }
@media (max-width: 44rem) { .bar { width: 8rem; margin-top: 4px; }
  td:has(.bar) { margin-left: auto; } td:has(.bar) + td.n { min-width: 3.5rem; } }
.bar i { background: var(--gpu); display: block; height: 100%; }
svg { max-width: 100%; height: auto; } svg text { font-size: 12px; fill: var(--ink); }
svg text.n { font-size: 11px; } svg text.s { font-size: 10px; fill: var(--soft); }
.places { display: flex; flex-wrap: wrap; gap: 10px; margin-bottom: 6px; }
pre { overflow-x: auto; font-size: 12px; margin: 4px 0; }
.group { border-left: 4px solid var(--good); background: var(--box); padding: 8px 12px;
  margin: 0 0 18px; }
.group.no { border-color: var(--bad); }
.share { display: flex; height: 12px; max-width: 28rem; margin: 6px 0; background: var(--edge); }
header { margin-bottom: 16px; }
section + section { border-top: 2px solid var(--edge); margin-top: 40px; padding-top: 24px; }
.contents { margin-bottom: 32px; } .contents table { width: auto; } a { color: var(--gpu); }
.share .on { background: var(--gpu); } .share .more { background: var(--good); }
"""
_COLOURS = {
    "free": "--good",
    "held": "--nvme",
    "unavailable": "--soft",
    "tainted": "--bad",
    "hidden": "--soft",
    "unpublished": "--soft",
}
_BOX, _GAP, _HEAD, _WIDTH, _MIN_WIDTH = 128, 10, 24, 900, 200
_LONGEST = 60  # maximum characters of a device's name; DNS labels have at most 63


def render(
    explanations: Sequence[Explanation],
    groups: Sequence[Group] = (),
    otherwise: str = "",
    now: float | None = None,
    origin: Origin = NO_ORIGIN,
) -> str:
    """Return the page: its origin, the groups, then a section for each subject, or ``otherwise`` if
    there is none. ``now`` (seconds since 1970) is used for ages.
    """
    title = (
        explanations[0].subject.title if len(explanations) == 1 else f"{len(explanations)} subjects"
    )
    parts = [
        *(part for group in groups for part in _group(group)),
        *(_contents(explanations) if len(explanations) > 1 else ()),
        *(p for number, e in enumerate(explanations) for p in _section(e, number, now)),
    ]
    body = parts or [f"<p>{prose(otherwise)}</p>"]
    return page(title, [*header_lines(origin), *body], _STYLE + alignment_html.STYLE)


def header_lines(origin: Origin) -> Iterator[str]:
    """Yield the origin of the objects, and the command, since others read the page in a ticket."""
    command = invocation()
    yield f"<header class=soft><p>{escape(origin.title)}</p>"
    yield f"<p><code>{escape(command)}</code></p>" if command else ""
    yield "</header>"


def _contents(explanations: Sequence[Explanation]) -> Iterator[str]:
    """Yield a list of the subjects, with links to their sections."""
    rows = []
    for number, e in enumerate(explanations):
        mark = mark_answer(e)
        code = e.reasons[0].code if e.reasons else e.verdict
        link = f"<a href='#subject-{number}'>{escape(e.title)}</a>"
        first = f"<td class='{mark.look}'>{mark.text}</td>"
        rows.append(f"{first}<td>{link}</td><td class=w>{escape(code)}</td>")
    yield f"<nav class=contents><h1>{len(explanations)} subjects</h1>{table(rows)}</nav>"


def _group(group: Group) -> Iterator[str]:
    """Yield a box with the sentences of the text report, and a bar with the share of pods that are
    on nodes and of further pods that fit.
    """
    sentences = explain_groups.sentences(group)
    mark = explain_groups.mark_group(group)
    shares = (("on", group.placed, "on nodes"), ("more", group.fits, "more fit"))
    bars = "".join(
        f"<i class={name} style='width:{100 * count / max(group.replicas, 1):.1f}%' "
        f"title='{count} {words}'></i>"
        for name, count, words in shares
    )
    yield f"<div class='group{' no' * (mark == NO)}'>"
    yield f"<p class=verdict><b class={mark.look}>{mark.text}</b> "
    yield f"<b>{escape(explain_groups.title(group))}</b>: {escape(sentences[0])}</p>"
    yield f"<div class=share>{bars}</div>"
    yield from (f"<p>{prose(line)}</p>" for line in sentences[1:])
    yield "</div>"


def _section(e: Explanation, number: int, now: float | None) -> Iterator[str]:
    origin = e.release_from or ("default" if e.release_assumed else "")
    waits = " ".join(filter(None, (e.phase, age(e.age, now))))
    subtitle = (
        f"{waits} " * bool(waits) + f"Kubernetes {e.release}" + (f" ({origin})" if origin else "")
    )
    yield f"<section id='subject-{number}'>"
    yield f"<h1>{escape(e.title)} <small class=soft>{escape(subtitle)}</small></h1>"
    mark = mark_answer(e)
    cause, *below = explain_opening.paragraphs(e)
    yield f"<p class=verdict><b class={mark.look}>{mark.text}</b> {escape(cause)}</p>"
    yield from (f"<p>{prose(line)}</p>" for line in below)
    yield from (f"<p class=soft>{prose(note)}</p>" for note in e.notes)
    heading, *obstacles = explain_opening.obstacle_lines(e) or [""]
    if obstacles:
        lines = "".join(f"<li>{prose(obstacle)}</li>" for obstacle in obstacles)
        yield f"<h2>{escape(heading)}</h2><ol>{lines}</ol>"
    if e.funnel:
        yield from _funnel(e.funnel)
    if e.devices:
        yield from _picture(e)
    if e.reasons:
        yield from _reasons(e)
    if len(e.nodes) > 1:
        yield from _nodes(e.nodes)
    if e.alignment:
        yield from alignment_html.alignment_section(e.alignment)
        panels = [(alignment_title(alignment), alignment) for alignment in e.alignment]
        yield f"<div class=wide>{alignment_svg.render(panels, alone=False)}</div>"
    has_steps = bool(e.next) or e.is_without_fix
    if has_steps and e.is_driver_at_fault:
        yield from _next_steps(e)
    if e.plan is not None:
        yield f"<h2>Move other pods</h2><ul>{_step(e.plan)}</ul>"
    if e.fixes and not e.fits and not e.unchecked:
        yield from _fixes(e.fixes)
    if has_steps and not e.is_driver_at_fault:
        yield from _next_steps(e)
    if e.scheduler_message:
        yield f"<h2>What the scheduler says</h2><p><code>{escape(e.scheduler_message)}</code></p>"
    yield "</section>"


def _funnel(stages: Sequence[FunnelStage]) -> Iterator[str]:
    rows, last, most = [], "", 1
    for s in stages:
        heading = s.heading or f"request {s.request}"
        first = heading != last
        # The first stage's count, since s.of also counts devices of other kinds.
        most = max(s.kept, 1) if first else most
        bar = f"<td><div class=bar><i style='width:{100 * s.kept / most:.1f}%'></i></div></td>"
        count = cell(
            str(s.kept) if first and s.kept else f"{s.kept} of {s.of}",
            "n bad" if s.kept == 0 else "n",
        )
        detail = f"<br><small class=soft>{escape(s.detail)}</small>" if s.detail else ""
        rows.append(
            cell(heading if first else "") + f"<td>{escape(s.stage)}{detail}</td>" + bar + count
        )
        last = heading
    yield f"<h2>Devices</h2>{table(rows, kind='rows')}"


def _picture(e: Explanation) -> Iterator[str]:
    """Yield the node's devices in boxes for their PCIe roots; if no root is published, in boxes for
    NUMA nodes.
    """
    name = e.conflict.node if e.conflict else ""
    if e.subject.kind == "Node":
        name = e.subject.name
    if not name:
        name = next((n for r in e.reasons for n in r.nodes), "")
    yield f"<h2>Node {escape(name)}</h2>"
    yield f"<div class=places>{''.join(_pictures(_places(e.devices)))}</div>"
    shown = {d.status for d in e.devices}
    legend = " ".join(
        f"<span style='color:var({c})'>■</span> {s}" for s, c in _COLOURS.items() if s in shown
    )
    thick = (
        "; a thick frame: free, and a request would take it"
        if any(map(_can_be_taken, e.devices))
        else ""
    )
    yield f"<p class=soft>{legend}{thick}</p>"


def _places(devices: Sequence[DeviceStatus]) -> dict[str, list[DeviceStatus]]:
    """Group the devices by PCIe root, or by NUMA node if they have no root. The heading of a root
    names the NUMA nodes that any of its devices publishes, since not every driver publishes them.
    """
    places: dict[str, list[DeviceStatus]] = {}
    for device in devices:
        place = device.root or (f"NUMA {device.numa}" if device.numa is not None else "elsewhere")
        places.setdefault(place, []).append(device)
    named: dict[str, list[DeviceStatus]] = {}
    for place, those in sorted(places.items()):
        numa = sorted({device.numa for device in those if device.numa is not None})
        named[
            f"{place} · NUMA {', '.join(numa)}" if numa and not place.startswith("NUMA") else place
        ] = those
    return named


def _pictures(places: dict[str, list[DeviceStatus]]) -> Iterator[str]:
    """Yield a picture of each place, with boxes of the same width in all of them."""
    longest = max(len(_name(device)) for devices in places.values() for device in devices)
    box = max(_BOX, min(longest, _LONGEST) * 7 + 16)
    columns = max(1, (_WIDTH - _GAP) // (box + _GAP))
    columns = min(columns, max(map(len, places.values())))
    width = max(columns * (box + _GAP) + _GAP, _MIN_WIDTH)
    for place, devices in places.items():
        rows = (len(devices) + columns - 1) // columns
        height = _HEAD + rows * (34 + _GAP) + 4
        boxes = (
            _device(
                device,
                _GAP + (i % columns) * (box + _GAP),
                _HEAD + (i // columns) * (34 + _GAP),
                box,
            )
            for i, device in enumerate(devices)
        )
        size = f"width='{width + 2}' height='{height + 2}' viewBox='0 0 {width + 2} {height + 2}'"
        yield (
            f"<svg {size} role='img' aria-label='devices of {escape(place, quote=True)}'>"
            f"<rect x='1' y='1' width='{width}' height='{height}' rx='6' fill='none'"
            " stroke='var(--edge)'/>"
            f"<text x='10' y='17'>{escape(place)}</text>{''.join(boxes)}</svg>"
        )


def _can_be_taken(device: DeviceStatus) -> bool:
    """Return True if a request wants the device and can get it."""
    return device.status == "free" and bool(device.requests)


def _name(device: DeviceStatus) -> str:
    return device.device.rpartition("/")[2]


def _device(device: DeviceStatus, left: int, top: int, box: int) -> str:
    name = _name(device)
    facts = [
        device.device,
        device.status,
        *(f"claim {h.claim}" for h in device.holders),
        *device.taints,
    ]
    if device.requests:
        facts.append(f"wanted by {', '.join(device.requests)}")
    stroke = 3 if _can_be_taken(device) else 1
    whose = [(h.pod or h.claim).rpartition("/")[2] for h in device.holders]
    word = word_of(device.device.partition("/")[0])
    status = " ".join(filter(None, (word, device.status, *whose)))[: (box - 16) // 6]
    return (
        f"<g><title>{escape('; '.join(facts))}</title>"
        # All attributes are quoted: an unquoted value before `/>` includes the slash, and the texts
        # would end up inside the box.
        f"<rect x='{left}' y='{top}' width='{box}' height='34' rx='4' fill='var(--box)' "
        f"stroke='var({_COLOURS[device.status]})' stroke-width='{stroke}'/>"
        f"<text class='n mono' x='{left + 8}' y='{top + 15}'>{escape(name[:_LONGEST])}</text>"
        f"<text class='s' x='{left + 8}' y='{top + 29}'>{escape(status)}</text></g>"
    )


def _reasons(e: Explanation) -> Iterator[str]:
    rows = []
    for r in e.reasons:
        selector = f"<br><code>{escape(r.selector)}</code>" if r.selector else ""
        message = (
            f"<td>{escape(r.message)}{selector}</td><td class=soft>{_node_names(r.nodes)}</td>"
        )
        rows.append(f"<td class=w><code>{r.code}</code></td>{message}")
    yield f"<h2>Reasons</h2>{table(rows, kind='rows')}"


def _node_names(names: Sequence[str], most: int = 4) -> str:
    """Return names with hyphens at which no line breaks."""
    return abbreviate([f"<span class=w>{escape(name)}</span>" for name in names], most)


def _nodes(nodes: Sequence[NodeAnswer]) -> Iterator[str]:
    rows = []
    for n in sorted(nodes, key=lambda node: natural(node.name)):
        like = f" and {len(n.like)} like it" if n.like else ""
        name = f"<td><span class=w>{escape(n.name)}</span>{like}</td>"
        rows.append(name + cell(n.verdict) + cell(n.reasons[0].message if n.reasons else ""))
    yield f"<h2>Nodes</h2>{table(rows, kind='rows')}"


def _fixes(fixes: Sequence[Fix]) -> Iterator[str]:
    rows = []
    for f in fixes:
        effect = f" <span class=soft>({escape(f.effects)})</span>" if f.effects else ""
        if f.steps:
            commands = escape("\n".join(map(str, f.steps)))
            effect += f"<details><summary>commands</summary><pre>{commands}</pre></details>"
        rows.append(
            f"{cell(str(f.rank), 'n')}<td>{escape(f.title)}{effect}</td>"
            f"<td>{_node_names(f.nodes)}</td>"
        )
    yield (
        "<h2>To make it fit <small class=soft>each verified by a new allocation</small></h2>"
        + table(rows, kind="rows")
    )


def _next_steps(e: Explanation) -> Iterator[str]:
    """Yield the next steps, each with its command."""
    words = ["No small change makes it fit."] if e.is_without_fix else []
    yield f"<h2>{' '.join([*words, 'Next'] if e.next else words)}</h2>"
    steps = "".join(map(_step, e.next))
    yield f"<ul>{steps}</ul>" if steps else ""


def _step(step: NextStep) -> str:
    command = f"<pre>{escape(step.command)}</pre>" if step.command else ""
    return f"<li>{escape(step.text)}{command}</li>"
