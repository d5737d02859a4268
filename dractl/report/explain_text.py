"""explain for people: the verdict, the funnel, the conflict, the way out, on one screen."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dractl.explain.answer import Conflict, Explanation, Fix, FunnelStage, NodeAnswer, Reason

_ASCII = str.maketrans({"✗": "x", "✓": "v", "×": "x", "→": ">", "←": "<", "·": "|", "…": "~", "–": "-", "•": "*"})
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
        shown = [e for e in explanations if not e.fits]
    else:
        shown = list(explanations)
    parts += ["\n".join(_lines(e, style)) for e in shown]
    text = "\n\n".join(parts) + "\n"
    return text if style.unicode else text.translate(_ASCII)


def _overview(e: Explanation, style: Style) -> str:
    mark = style.paint("✓", "32") if e.fits else style.paint("✗", "31")
    code = e.reasons[0].code if e.reasons else e.verdict
    left = f"{mark} {e.subject.title:<36} {code:<20} "
    room = style.width - (len(e.subject.title.ljust(36)) + max(len(code), 20) + 4)
    return left + _cut(e.reasons[0].message if e.reasons else e.headline, max(room, 20))


def _cut(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def _lines(e: Explanation, style: Style) -> Iterator[str]:
    yield _title(e, style)
    mark = style.paint("✓", "1;32") if e.fits else style.paint("✗", "1;31")
    yield from _wrapped(f"{mark} ", e.headline, style, hanging=2)
    for note in e.notes:
        yield from _wrapped("  note: ", note, style, hanging=8)
    if e.fits:
        yield from _allocations(e, style)
        return
    if e.funnel:
        yield ""
        yield from _funnel(e.funnel, style)
    if e.conflict is not None:
        yield from _conflict(e.conflict)
    more = [r for r in e.reasons[1:] if r.message]
    if more:
        yield ""
        yield style.paint("Also", "1")
        for reason in more[:_REASONS]:
            yield from _wrapped("  ", _with_nodes(reason), style, hanging=4)
        if len(more) > _REASONS:
            yield f"  and {len(more) - _REASONS} more reasons (-o json has all)"
    if len(e.nodes) > 1:
        yield ""
        yield from _nodes(e.nodes, style)
    yield from _fixes(e.fixes, style)


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
    seen = None
    for stage in stages:
        if stage.request != seen:
            seen = stage.request
            left = f"  request {stage.request:<10} {stage.stage}"
        else:
            left = f"    {stage.stage}"
        count = f"{stage.kept}"
        detail = f"({stage.detail})" if stage.detail else ""
        if stage.kept == 0:
            count = style.paint(f"{stage.kept:>4}", "31")
        line = f"{left:<50} {count:>4} of {stage.of:<5}"
        room = style.width - 64
        lines = textwrap.wrap(detail, room, break_long_words=False, break_on_hyphens=False) if detail else []
        yield (line + (" " + lines[0] if lines else "")).rstrip()
        for more in lines[1:3]:
            yield " " * 64 + more


def _conflict(conflict: Conflict) -> Iterator[str]:
    over = ", ".join(conflict.requests)
    yield f"  constraint         {'; '.join(conflict.constraints)} over {over}"
    best = max((p.score for p in conflict.places), default=(0, 0))
    for place in conflict.places[:_NODES]:
        held = []
        for (request, free), (_, total) in zip(place.free, place.all, strict=True):
            held.append(f"{free} {request}" + (f" ({total - free} in use)" if total > free else ""))
        near = "    ← nearest" if place.score == best and len(conflict.places) > 1 else ""
        yield f"    {conflict.node}   {place.value:<14} {' · '.join(held)}{near}"
    if len(conflict.places) > _NODES:
        yield f"    and {len(conflict.places) - _NODES} more"


def _with_nodes(reason: Reason) -> str:
    if not reason.nodes:
        return reason.message
    names = ", ".join(reason.nodes[:3]) + (f" and {len(reason.nodes) - 3} more" if len(reason.nodes) > 3 else "")
    return f"{names}: {reason.message}"


def _nodes(nodes: Sequence[NodeAnswer], style: Style) -> Iterator[str]:
    """One line a node, those with the same first reason together."""
    groups: dict[str, list[NodeAnswer]] = {}
    for node in nodes:
        groups.setdefault(node.reasons[0].code if node.reasons else node.verdict, []).append(node)
    yield style.paint("Nodes", "1")
    for code, those in list(groups.items())[:_NODES]:
        names = ", ".join(n.name for n in those[:4]) + (f" and {len(those) - 4} more" if len(those) > 4 else "")
        message = those[0].reasons[0].message if those[0].reasons else ""
        text = f"{names}: {message}" if message else names
        yield f"  {code:<22} " + _cut(text, style.width - 26)


def _fixes(fixes: Sequence[Fix], style: Style) -> Iterator[str]:
    yield ""
    if not fixes:
        yield "No small change was found after which it fits."
        return
    head, note = "Would fit if", "each checked by allocating again"
    yield style.paint(head, "1") + note.rjust(style.width - len(head))
    for fix in fixes:
        where = ", ".join(fix.nodes[:3]) + (f" and {len(fix.nodes) - 3} more" if len(fix.nodes) > 3 else "")
        text = f"{fix.title}" + (f" ({fix.effect})" if fix.effect else "")
        room = style.width - 5 - 24
        lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
        yield f"  {fix.rank:<2} {lines[0]:<{room}} {where}".rstrip()
        for line in lines[1:]:
            yield f"     {line}"


def _allocations(e: Explanation, style: Style) -> Iterator[str]:
    shown = [n for n in e.nodes if n.allocation][:3]
    for node in shown:
        yield ""
        yield f"  {style.paint(node.name, '1')}"
        for a in node.allocation:
            yield f"    {a.claim.rpartition('/')[2]} {a.request:<14} {a.driver}/{a.pool}/{a.device}"
