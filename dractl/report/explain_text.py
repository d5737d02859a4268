"""explain for people: the verdict, the funnel, the conflict, the way out, on one screen."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dractl.explain.answer import Conflict, Explanation, Fix, FunnelStage, NodeAnswer, Reason

_ASCII = str.maketrans({"✗": "x", "✓": "v", "×": "x", "→": "->", "←": "<-", "·": "|", "…": "~", "–": "-", "•": "*"})
_INDENT = "  "
_NODES = 8  # lines of nodes that one screen holds
_REASONS = 5


@dataclass(frozen=True, slots=True)
class Style:
    """How the text may look: ``paint(text, ansi)`` colours or does not; ``width`` in columns; ``now`` for ages."""

    paint: Callable[[str, str], str]
    unicode: bool = True
    width: int = 100
    now: float | None = None
    detailed: bool = False  # the funnel of every node


def render(explanations: Sequence[Explanation], style: Style, *, listed: bool) -> str:
    """All answers; when they are a list with several entries, a line each comes first."""
    parts: list[str] = []
    if listed and len(explanations) > 1:
        parts.append("\n".join(_overview(e, style) for e in explanations))
        shown = [e for e in explanations if not e.fits or e.subject.kind == "Node"]
    else:
        shown = list(explanations)
    parts += ["\n".join(line.rstrip() for line in _lines(e, style)) for e in shown]
    text = "\n\n".join(parts) + "\n"
    return text if style.unicode else text.translate(_ASCII)


def _overview(e: Explanation, style: Style) -> str:
    mark = style.paint("✓", "32") if e.fits else style.paint("✗", "31")
    code = e.reasons[0].code if e.reasons else e.verdict
    left = f"{mark} {e.subject.title:<36} {code:<20} "
    room = style.width - (len(e.subject.title.ljust(36)) + max(len(code), 20) + 4)
    return left + _cut(e.reasons[0].message if e.reasons else e.headline, max(room, 20))


def _cut(text: str, width: int, *, keep: bool = False) -> str:
    text = text if keep else " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def _lines(e: Explanation, style: Style) -> Iterator[str]:
    yield _title(e, style)
    mark = style.paint("✓", "1;32") if e.fits else style.paint("✗", "1;31")
    yield from _wrapped(f"{mark} ", e.headline, style, hanging=2)
    for note in e.notes:
        yield from _wrapped("  note: ", note, style, hanging=8)
    if e.subject.kind == "Node":
        yield from _inventory(e, style)
        return
    if e.fits:
        yield from _allocations(e, style)
        return
    if e.funnel:
        yield ""
        yield from _funnel(e.funnel, style)
    if e.conflict is not None:
        yield from _conflict(e.conflict)
    if len({_said(node) for node in e.nodes}) > 1:
        yield ""
        yield from _nodes(e.nodes, style)
    else:
        yield from _also(e.reasons[1:], style)
    if style.detailed:
        yield from _every_funnel(e.nodes, style)
    yield from _fixes(e.fixes, style)


def _also(reasons: Sequence[Reason], style: Style) -> Iterator[str]:
    """What else stands in the way, where the nodes do not tell it."""
    for reason in reasons[:_REASONS]:
        yield from _wrapped("  also: ", reason.message, style, hanging=8)
    if len(reasons) > _REASONS:
        yield f"  and {len(reasons) - _REASONS} more reasons (-o json has all)"


def _every_funnel(nodes: Sequence[NodeAnswer], style: Style) -> Iterator[str]:
    for node in nodes:
        if node.funnel:
            yield ""
            yield style.paint(node.name, "1") + (f" and {len(node.like)} like it" if node.like else "")
            yield from _funnel(node.funnel, style)


def _title(e: Explanation, style: Style) -> str:
    claims = [f"{claim}" if claim else f"{name} (not created)" for name, claim in e.subject.pod_claims.items()]
    left = style.paint(e.subject.title, "1")
    plain = e.subject.title
    if e.age and style.now is not None:
        plain, left = f"{plain}  {_age(e.age, style.now)}", f"{left}  {_age(e.age, style.now)}"
    if claims:
        told = f"  claim {', '.join(claims[:3])}"
        plain, left = plain + told, left + told
    release = f"Kubernetes {e.release}" + (" (assumed)" if e.release_assumed else "")
    gap = style.width - len(plain) - len(release)
    return f"{left}{' ' * gap}{release}" if gap >= 2 else f"{left}  {release}"


def _age(created: str, now: float) -> str:
    from datetime import datetime

    try:
        seconds = now - datetime.fromisoformat(created).timestamp()
    except ValueError:
        return ""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{int(seconds // size)}{unit}"
    return f"{max(int(seconds), 0)}s"


def _wrapped(first: str, text: str, style: Style, *, hanging: int) -> Iterator[str]:
    lines = textwrap.wrap(text, max(style.width - hanging, 30), break_long_words=False, break_on_hyphens=False) or [""]
    yield first + lines[0]
    for line in lines[1:]:
        yield " " * hanging + line


def _funnel(stages: Sequence[FunnelStage], style: Style) -> Iterator[str]:
    """A line a stage: what is asked, the devices left, and what the others have instead."""
    first = max(len(s.request) for s in stages) + 12
    seen = None
    for stage in stages:
        left = f"    {stage.stage}"
        if stage.request != seen:
            seen = stage.request
            left = f"{f'  request {stage.request}':<{first}}{stage.stage}"
        count = f"{stage.kept} of {stage.of}"
        line = f"{_cut(left, 48, keep=True):<48}  {count:>12}"
        if stage.kept == 0:
            line = line[: -len(count)] + style.paint(count, "31")
        yield from _beside(line, f"({stage.detail})" if stage.detail else "", style, 65)


def _beside(line: str, detail: str, style: Style, column: int) -> Iterator[str]:
    """``detail`` to the right of ``line`` where it fits there, else below it."""
    if len(detail) <= style.width - column:
        yield f"{line}   {detail}".rstrip()
        return
    yield line
    yield from _wrapped("        ", detail, style, hanging=8)


def _conflict(conflict: Conflict) -> Iterator[str]:
    yield f"  constraint   {'; '.join(conflict.constraints)} over {', '.join(conflict.requests)}"
    scores = [place.score for place in conflict.places]
    best = scores.index(max(scores)) if len(scores) > 1 else -1
    wide = max((len(place.value) for place in conflict.places), default=0)
    for position, place in enumerate(conflict.places[:_NODES]):
        held = []
        for (request, free), (_, total) in zip(place.free, place.all, strict=True):
            held.append(f"{free} {request}" + (f" (+{total - free} in use)" if total > free else ""))
        near = "    ← nearest" if position == best else ""
        yield f"    {conflict.node}   {place.value:<{wide}}   {' · '.join(held)}{near}"
    if len(conflict.places) > _NODES:
        yield f"    and {len(conflict.places) - _NODES} more"


def _said(node: NodeAnswer) -> tuple[str, str]:
    """Code and message of a node's first reason."""
    if not node.reasons:
        return ("fits" if node.verdict == "allocatable" else node.verdict, "")
    return node.reasons[0].code, node.reasons[0].message.partition("; held by")[0]


def _nodes(nodes: Sequence[NodeAnswer], style: Style) -> Iterator[str]:
    """Nodes with the same first reason together, the reason beside them."""
    groups: dict[tuple[str, str], list[str]] = {}
    for node in nodes:
        groups.setdefault(_said(node), []).extend((node.name, *node.like))
    shown = list(groups.items())[:_NODES]
    names = [", ".join(those[:2]) + (f" +{len(those) - 2}" if len(those) > 2 else "") for _, those in shown]
    wide = min(max(len(n) for n in names), 32)
    for ((code, message), _), name in zip(shown, names, strict=True):
        line = f"  {_cut(name, 32):<{wide}}  {code:<20} "
        yield (line + _cut(message, style.width - len(line))).rstrip()
    if len(groups) > _NODES:
        yield f"  and {len(groups) - _NODES} more groups of nodes (-o json has all)"


def _fixes(fixes: Sequence[Fix], style: Style) -> Iterator[str]:
    yield ""
    if not fixes:
        yield "No small change was found after which it fits."
        return
    head, note = "Would fit if", "each checked by allocating again"
    yield style.paint(head, "1") + note.rjust(style.width - len(head))
    places = [", ".join(f.nodes[:3]) + (f" +{len(f.nodes) - 3}" if len(f.nodes) > 3 else "") for f in fixes]
    wide = min(max(map(len, places)), 34)
    room = style.width - 6 - wide
    for fix, place in zip(fixes, places, strict=True):
        text = fix.title + (f" ({fix.effect})" if fix.effect else "")
        lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
        yield f"  {fix.rank:<2} {lines[0]:<{room}} {_cut(place, wide)}".rstrip()
        for line in lines[1:]:
            yield f"     {line}"


def _inventory(e: Explanation, style: Style) -> Iterator[str]:
    """A node's devices, and its drivers."""
    yield from _also(e.reasons, style)
    if e.devices:
        yield ""
    wide = max((len(d.device) for d in e.devices), default=0)
    for device in e.devices:
        told = [f"claim {h.claim}" + (f" (pod {h.pod})" if h.pod else ", used by nobody") for h in device.holders]
        told += [f"taint {t}" for t in device.taints] + ([device.detail] if device.detail else [])
        colour = {"free": "32", "held": "33"}.get(device.status, "31")
        line = f"  {device.device:<{wide}}  {style.paint(f'{device.status:<11}', colour)} "
        yield line + _cut(", ".join(told), max(style.width - wide - 16, 30))
    if e.drivers:
        yield ""
    for driver in e.drivers:
        restart = (
            "nothing is in use: it can be restarted"
            if driver.restartable
            else f"{driver.held} of {driver.devices} in use"
        )
        yield f"  driver {driver.driver}: {restart}"


def _allocations(e: Explanation, style: Style) -> Iterator[str]:
    shown = [n for n in e.nodes if n.allocation][:3]
    for node in shown:
        yield ""
        yield f"  {style.paint(node.name, '1')}"
        for a in node.allocation:
            yield f"    {a.claim.rpartition('/')[2]} {a.request:<14} {a.driver}/{a.pool}/{a.device}"
