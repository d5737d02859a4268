"""explain for people: the verdict, the funnel, the conflict, the way out, on one screen; of many subjects a table."""

from collections import Counter
from collections.abc import Iterator, Sequence

from dractl.explain.answer import (
    SEVERITY,
    AllocatedDevice,
    Conflict,
    ConstraintGroup,
    DeviceStatus,
    Explanation,
    Fix,
    FunnelStage,
    NodeAnswer,
    Reason,
)
from dractl.explain.reasons.phrases import age
from dractl.model.order import natural
from dractl.program import program_name
from dractl.report.alignment.text import alignment_lines
from dractl.report.canvas import Canvas
from dractl.report.explain import opening as explain_opening
from dractl.report.plain import plural, printable, wrap

_EVERYTHING = 1 << 30
_NODES = 8  # lines of nodes that one screen holds
_REASONS = 5
_NAME, _HEADING = (
    32,
    24,
)  # columns that names of nodes and of requests get before they go on a line of their own
_ROOM = 36  # columns that a message needs beside what it is about


def render(
    explanations: Sequence[Explanation],
    canvas: Canvas,
    *,
    now: float | None = None,
    every: bool = False,
) -> str:
    """Each answer in full. ``now`` (seconds since 1970) gives ages; with ``every`` nothing is left out, and each node
    has its own funnel."""
    texts = (
        "\n".join(line.rstrip() for line in _lines(e, canvas, now, every)) for e in explanations
    )
    return canvas.plain("\n\n".join(texts)) + "\n"


def table(
    answers: Sequence[Explanation], canvas: Canvas, *, now: float | None = None, screen: int = 0
) -> str:
    """A line for each answer with its first reason, one for the first fix of those that have it in common, and a
    summary. On a terminal of ``screen`` lines none is wider than the canvas, the codes of the reasons are left out
    where there is little room, and empty lines where the table would not fit on it with the prompt; then fixes, those
    for the fewest pods first, if each subject still has its line."""
    answers = _by_fix(answers)
    cut = screen > 0
    ages = [age(e.age, now) for e in answers]
    codes = [e.reasons[0].code if e.reasons else e.verdict for e in answers]
    titles = [canvas.plain(_short_title(e)) for e in answers]
    names = max(len("SUBJECT"), *map(len, titles))
    aged = max(map(len, ages)) and max(len("AGE"), *map(len, ages)) + 2
    coded = max(len("REASON"), *map(len, codes)) + 2
    if cut and canvas.width - names - aged - coded - 4 < _ROOM * 2:
        codes, coded = [""] * len(codes), 0
    beside = canvas.width - names - aged - coded - 4
    below = cut and beside < _ROOM - 12  # a narrow terminal
    head = f"  {'SUBJECT':<{names}}  {'AGE' if aged else '':<{aged}}{'REASON' if coded else '':<{coded}}"
    lines = [canvas.paint(head.rstrip() if below else f"{head}WHY", "1")]
    same = 0  # answers above that have the fix of the next one
    fixed: dict[int, int] = {}  # lines of fixes, and for how many pods each is
    for number, (e, title, waits, code) in enumerate(
        zip(answers, titles, ages, codes, strict=True), 1
    ):
        why = _clean(e.reasons[0].short if e.reasons else e.headline, canvas)
        left = f"{_mark(e, canvas)} {title:<{names}}  {waits:<{aged}}{code:<{coded}}"
        if below:
            lines += [left.rstrip(), "    " + canvas.cut(why, canvas.width - 4)]
        else:
            lines.append(f"{left}{canvas.cut(why, beside) if cut else why}")
        if not e.fixes:
            continue
        if number < len(answers) and _first_fix(answers[number]) == _first_fix(e):
            same += 1
            continue
        fixed[len(lines)] = same + 1 + len(e.alike)
        lines.append(_row_of_fix(e.fixes[0], same + 1, canvas, cut=cut))
        same = 0
    most = _of_most(answers)
    lines += [_row_of_fix(most, 1, canvas, cut=cut, most=True)] if most is not None else []
    counts: Counter[str] = Counter()
    for e in answers:
        counts["fit" if e.fits else e.verdict] += 1 + len(e.alike)
    told = ", ".join(
        f"{counts[verdict]} {_TOLD.get(verdict, verdict)}"
        for verdict in (*SEVERITY, "fit")
        if counts[verdict]
    )
    summary = _wrap(
        f"{plural(counts.total(), 'subject')} for {_release(answers[0])}: {told}", canvas.width
    )
    over = len(lines) + len(summary) + 1 - screen if cut else 0
    if 0 < over < len(fixed):
        fewest = sorted(fixed, key=lambda line: (fixed[line], -line))[: over + 1]
        lines = [line for number, line in enumerate(lines) if number not in fewest]
        summary += [f"{len(fewest)} more fixes: -v shows each subject in full"]
    for note in dict.fromkeys(
        f"{blind.what} may not be read: {blind.effect}" for e in answers for blind in e.unread
    ):
        summary += _wrapped("  note: ", note, canvas, hanging=8)
    between = [""] if not cut or len(lines) + len(summary) + 2 <= screen else []
    return canvas.plain("\n".join([*lines, *between, *summary])) + "\n"


_TOLD = {"error": "in error", "unallocatable": "without a place"}
"""Verdicts in the words of a summary."""


def _first_fix(e: Explanation) -> str:
    return e.fixes[0].title if e.fixes else ""


def _by_fix(answers: Sequence[Explanation]) -> list[Explanation]:
    """The answers in their order, but those with the same first fix and verdict one after the other."""
    together: dict[object, list[Explanation]] = {}
    for number, e in enumerate(answers):
        together.setdefault((e.verdict, _first_fix(e)) if e.fixes else number, []).append(e)
    return [e for those in together.values() for e in those]


def _row_of_fix(fix: Fix, subjects: int, canvas: Canvas, *, cut: bool, most: bool = False) -> str:
    """A fix, with the pods that fit after it where several wait for it (``most``: more than after any other), or the
    number of subjects above that have it first."""
    whom = f" for {'both' if subjects == 2 else f'all {subjects}'}" if subjects > 1 else ""
    if fix.relief is not None:
        whom = f" for {'most, ' if most else ''}{fix.relief.fits} of {plural(fix.relief.of, 'pod')}"
    text = _clean(fix.title + (f" ({fix.effect})" if fix.effect else ""), canvas)
    left = f"    fix{whom}: "
    return left + (canvas.cut(text, canvas.width - len(left)) if cut else text)


def _of_most(answers: Sequence[Explanation]) -> Fix | None:
    """The fix after which most pods fit, unless it is the first of an answer."""
    fixes = [fix for e in answers for fix in e.fixes if fix.relief is not None]
    best = max(fixes, key=_fitting, default=None)
    shown = (
        any(_fitting(e.fixes[0]) == _fitting(best) for e in answers if e.fixes)
        if best is not None
        else True
    )
    return None if shown else best


def _fitting(fix: Fix) -> int:
    return fix.relief.fits if fix.relief is not None else 0


_SHORT = {
    "deployment": "deploy",
    "statefulset": "sts",
    "daemonset": "ds",
    "replicaset": "rs",
    "resourceclaim": "claim",
}


def _short_title(e: Explanation) -> str:
    """The subject with its kind as people type it; of equal replicas, the workload and their number."""
    kind, space, name = (e.workload or e.subject.title).partition(" ")
    number = f" ×{1 + len(e.alike)}" if e.alike else ""
    return f"{_SHORT.get(kind, kind)}{space}{name}{number}"


def _clean(text: str, canvas: Canvas) -> str:
    """A text of the cluster on one line that the terminal shows as it is."""
    return canvas.plain(" ".join(printable(text).split()))


def _wrap(text: str, width: int) -> list[str]:
    return wrap(text, max(width, 30))


def _wrapped(first: str, text: str, canvas: Canvas, *, hanging: int) -> Iterator[str]:
    lines = _wrap(_clean(text, canvas), canvas.width - hanging)
    yield first + lines[0]
    for line in lines[1:]:
        yield " " * hanging + line


def _mark(e: Explanation, canvas: Canvas) -> str:
    if e.waits:
        return canvas.paint("…", "1;33")
    return canvas.paint("✓", "1;32") if e.fits else canvas.paint("✗", "1;31")


def _lines(e: Explanation, canvas: Canvas, now: float | None, every: bool) -> Iterator[str]:
    yield from _answer(e, canvas, now, every)
    if e.reasons:
        yield ""
        yield f"More about {e.reasons[0].code}: {program_name()} rule {e.reasons[0].code}"


def _answer(e: Explanation, canvas: Canvas, now: float | None, every: bool) -> Iterator[str]:
    yield from _title(e, canvas, now)
    cause, *below = explain_opening.lines(e)
    yield from _wrapped(f"{_mark(e, canvas)} ", cause, canvas, hanging=2)
    for line in below:
        yield from _wrapped("  ", line, canvas, hanging=4)
    yield from _selector(e, canvas)
    for note in e.notes:
        if note in e.headline:
            continue
        yield from _wrapped("  note: ", note, canvas, hanging=8)
    if e.subject.kind == "Node":
        yield from _inventory(e, canvas)
        yield from _next(e, canvas)
        return
    if e.fits:
        yield from _allocations(e, canvas, _EVERYTHING if every else 3)
        yield from _alignment(e, canvas)
        yield from _next(e, canvas)
        return
    if e.funnel:
        yield ""
        yield from _funnel(e.funnel, canvas)
    if e.conflict is not None and _named(e, e.conflict.node):
        yield from _conflict(e.conflict, canvas, _EVERYTHING if every else _NODES)
    if len({_said(node) for node in e.nodes}) > 1:
        yield ""
        yield from _nodes(e.nodes, canvas, _EVERYTHING if every else _NODES)
    else:
        others = [reason for reason in e.reasons[1:] if reason.message not in e.headline]
        yield from _also(others, canvas, _EVERYTHING if every else _REASONS)
    for node in e.nodes if every else ():
        if node.funnel:
            yield ""
            yield canvas.paint(node.name, "1") + (
                f" and {len(node.like)} like it" if node.like else ""
            )
            yield from _funnel(node.funnel, canvas)
    if not e.unchecked:
        yield from _fixes(
            e.fixes, canvas, "by a new allocation" if not e.unread else "with what may be read"
        )
    yield from _next(e, canvas)


def _named(e: Explanation, node: str) -> bool:
    """True unless the headline names other nodes than this one."""
    first = e.reasons[0] if e.reasons else None
    return first is None or (first.code != "mixed" and (not first.nodes or node in first.nodes))


def _selector(e: Explanation, canvas: Canvas) -> Iterator[str]:
    """The selector that is the first reason, as it is written, with a mark below the part that decided."""
    reason = e.reasons[0] if e.reasons else None
    if reason is None or not reason.selector or not reason.evaluated:
        return
    part, room = reason.evaluated[0], canvas.width - 4
    text = canvas.plain(printable(reason.selector))
    yield ""
    for at in range(0, len(text), room):
        yield f"    {text[at : at + room]}"
        start, end = (min(max(place - at, 0), room) for place in (part.start, part.end))
        if start < end:
            yield f"    {' ' * start}{canvas.paint('^' * (end - start), '31')}"


def _title(e: Explanation, canvas: Canvas, now: float | None) -> Iterator[str]:
    """The subject, how long it has waited, and its claims; the release on the right."""
    waits = printable(" ".join(filter(None, (e.phase, age(e.age, now)))))
    head = f"{e.title}  {waits}".rstrip()
    claims = printable(", ".join(_claim(e, name) for name in e.subject.pod_claims))
    told = f"claim {claims}" if claims else ""
    release = _release(e)
    beside = (
        f"{head}  {told}" if told and len(f"{head}  {told}  {release}") <= canvas.width else head
    )
    bold = canvas.paint(e.title, "1") + beside[len(e.title) :]
    gap = canvas.width - len(beside) - len(release)
    yield f"{bold}{' ' * gap}{release}" if gap >= 2 else bold
    if told and beside == head:
        yield from _wrapped("  ", told, canvas, hanging=4)
    if gap < 2:
        yield f"  {release}"


def _claim(e: Explanation, name: str) -> str:
    claim, template = e.subject.pod_claims[name], e.subject.templates.get(name)
    origin = f"from template {template}" if template else ""
    told = origin if claim else ", ".join(filter(None, ("not created", origin)))
    return f"{claim or name} ({told})" if told else f"{claim}"


def _release(e: Explanation) -> str:
    origin = e.release_from or ("default" if e.release_assumed else "")
    return f"Kubernetes {e.release}" + (f" ({origin})" if origin else "")


def _also(reasons: Sequence[Reason], canvas: Canvas, most: int) -> Iterator[str]:
    """Further obstacles that the nodes do not show."""
    for reason in reasons[:most]:
        yield from _wrapped("  also: ", f"{reason.message} [{reason.code}]", canvas, hanging=8)
    if len(reasons) > most:
        yield f"  and {len(reasons) - most} more reasons (-v shows all)"


def _funnel(stages: Sequence[FunnelStage], canvas: Canvas) -> Iterator[str]:
    """A line a stage: what is asked, the devices left, and what the others have instead."""
    headings = [_clean(stage.heading or f"request {stage.request}", canvas) for stage in stages]
    wide = max((len(heading) for heading in headings if len(heading) <= _HEADING), default=0)
    rows: list[tuple[str, FunnelStage | None, str]] = []  # what is asked, the numbers, their unit
    for position, (stage, heading) in enumerate(zip(stages, headings, strict=True)):
        asked = _clean(stage.stage, canvas)
        where = f" on {plural(stage.nodes, 'node')}" if stage.nodes else ""
        if position and headings[position - 1] == heading:
            rows.append((f"    {asked}", stage, ""))
        elif len(heading) <= _HEADING and wide + 4 + len(asked) <= canvas.width:
            rows.append((f"  {heading:<{wide}}  {asked}", stage, f" {_noun(stage)}{where}"))
        else:
            rows += [(f"  {heading}", None, ""), (f"    {asked}", stage, f" {_noun(stage)}{where}")]
    limit = max(30, min(56, canvas.width - 24))
    column = max(
        (len(left) for left, numbers, _ in rows if numbers and len(left) <= limit), default=limit
    )
    counted = max(len(_count(numbers, what)) for _, numbers, what in rows if numbers)
    for left, numbers, what in rows:
        if numbers is None:
            yield left
            continue
        above = len(left) + len(what[: len(" devices")].rstrip()) + 2 + counted > canvas.width
        if above:
            yield left
        count = _count(numbers, what)
        line = f"{'' if above else left:<{column}}  "
        used = len(line) + counted
        colour = "31" if not numbers.kept else "32" if what or numbers.kept == numbers.of else "33"
        line += ("" if what else " " * (counted - len(count))) + canvas.paint(count, colour)
        unit = what if used + len(what) <= canvas.width else what[: len(" devices")].rstrip()
        detail = f"({_clean(numbers.detail, canvas)})" if numbers.detail else ""
        if not detail or used + len(unit) + 3 + len(detail) <= canvas.width:
            yield f"{line}{unit}   {detail}"
        else:
            yield f"{line}{unit}"
            yield from _wrapped("        ", detail, canvas, hanging=8)


def _noun(stage: FunnelStage) -> str:
    return "device" if stage.kept == 1 else "devices"


def _count(stage: FunnelStage, unit: str) -> str:
    """How many are left: at the first stage of a request, which has a ``unit``, of nothing, since the rest are devices
    of other kinds."""
    return str(stage.kept) if unit and stage.kept else f"{stage.kept} of {stage.of}"


def _conflict(conflict: Conflict, canvas: Canvas, most: int) -> Iterator[str]:
    told = f"{'; '.join(conflict.constraints)} over {', '.join(conflict.requests)}"
    yield from _wrapped("  constraint   ", told, canvas, hanging=15)
    scores = [place.score for place in conflict.places]
    best = scores.index(max(scores)) if len(scores) > 1 else -1
    values = [_value(place, canvas) for place in conflict.places]
    wide = max(map(len, values), default=0)
    dot = f" {canvas.glyph('·', '|')} "
    for position, (place, value) in enumerate(zip(conflict.places[:most], values, strict=False)):
        held = []
        for (request, free), (_, total) in zip(place.free, place.all, strict=True):
            held.append(
                f"{free} {request}" + (f" (+{total - free} in use)" if total > free else "")
            )
        left = f"    {conflict.node}   {value:<{wide}}"
        right = dot.join(held) + ("    ← nearest" if position == best else "")
        if len(left) + 3 + len(right) <= canvas.width:
            yield f"{left}   {right.replace('← nearest', canvas.paint('← nearest', '1;33'))}"
        else:
            yield left
            yield from _wrapped("        ", right, canvas, hanging=8)
    if len(conflict.places) > most:
        yield f"    and {len(conflict.places) - most} more"


def _value(place: ConstraintGroup, canvas: Canvas) -> str:
    """``pci0000:17`` speaks for itself; of a number it is said what it counts: ``numaNode 0``."""
    value = _clean(place.value, canvas)
    return f"{place.attribute.rpartition('/')[2]} {value}" if value.isdigit() else value


def _said(node: NodeAnswer) -> tuple[str, str]:
    """Code and message of a node's first reason."""
    if not node.reasons:
        return ("fits" if node.verdict == "allocatable" else node.verdict, "")
    return node.reasons[0].code, node.reasons[0].short


def _nodes(nodes: Sequence[NodeAnswer], canvas: Canvas, most: int) -> Iterator[str]:
    """Nodes with the same first reason together, the reason beside them, or below where there is no room."""
    groups: dict[tuple[str, str], list[str]] = {}
    for node in sorted(nodes, key=lambda node: natural(node.name)):
        groups.setdefault(_said(node), []).extend((node.name, *node.like))
    shown = [
        (_names(names), code, message) for (code, message), names in list(groups.items())[:most]
    ]
    wide = min(max(len(names) for names, _, _ in shown), _NAME)
    coded = max(len(code) for _, code, _ in shown)
    for names, code, message in shown:
        left = f"  {names:<{wide}}  {code:<{coded}}  "
        if canvas.width - len(left) >= _ROOM:
            yield from _wrapped(left, message, canvas, hanging=len(left))
        elif len(left.rstrip()) > canvas.width:
            yield f"  {names}"
            yield from _wrapped("      ", f"{code}: {message}".rstrip(": "), canvas, hanging=6)
        else:
            yield left
            if message:
                yield from _wrapped("      ", message, canvas, hanging=6)
    if len(groups) > most:
        yield f"  and {len(groups) - most} more groups of nodes (-v shows all)"


def _names(names: Sequence[str]) -> str:
    """``gpu-a, gpu-b +3``: as many names as there is room for, at least one."""
    shown = 1
    while shown < len(names) and len(", ".join(names[: shown + 1])) <= _NAME - 4:
        shown += 1
    return ", ".join(names[:shown]) + (f" +{len(names) - shown}" if len(names) > shown else "")


def _fixes(fixes: Sequence[Fix], canvas: Canvas, how: str) -> Iterator[str]:
    if not fixes:
        return
    yield ""
    head, note = "To make it fit", f"each verified {how}"
    yield canvas.paint(head, "1") + note.rjust(canvas.width - len(head))
    places = [_names(fix.nodes) for fix in fixes]
    wide = min(max(map(len, places)), _NAME)
    room = canvas.width - 7 - wide
    for fix, place in zip(fixes, places, strict=True):
        text = _clean(fix.title + (f" ({fix.effects})" if fix.effects else ""), canvas)
        left = f"  {canvas.paint(str(fix.rank), '1')}{' ' * (3 - len(str(fix.rank)))}"
        if len(text) <= room:
            yield f"{left}{text:<{room}}  {place}"
            continue
        # A longer text has the whole width, and the nodes stand after its end.
        *lines, last = _wrap(text, canvas.width - 5)
        for line in lines:
            yield left + line
            left = "     "
        if len(last) <= room:
            yield f"{left}{last:<{room}}  {place}"
        else:
            yield left + last
            yield f"     {'':<{room}}  {place}"


def _next(e: Explanation, canvas: Canvas) -> Iterator[str]:
    """Next steps, each with its command."""
    if not e.next:
        return
    yield ""
    waits = any(reason.code == "own-replicas" for reason in e.reasons)
    sought = bool(e.nodes) and not (
        e.fixes or e.fits or e.verdict == "failing" or e.unread or e.unchecked or waits
    )
    yield canvas.paint(
        "dractl found no change that makes it fit. Look at" if sought else "Next", "1"
    )
    for step in e.next:
        yield from _wrapped("  ", step.text, canvas, hanging=4)
        if step.command:
            yield f"      {canvas.paint(_clean(step.command, canvas), '36')}"


def _inventory(e: Explanation, canvas: Canvas) -> Iterator[str]:
    """A node's devices, and its drivers."""
    yield from _also(
        [reason for reason in e.reasons if reason.message not in e.headline], canvas, _REASONS
    )
    if e.devices:
        yield ""
    wide = max((len(d.device) for d in e.devices), default=0)
    status = max((len(d.status) for d in e.devices), default=0)
    for device in e.devices:
        left = f"  {device.device:<{wide}}  {device.status:<{status}}  "
        colour = {"free": "32", "held": "33"}.get(device.status, "31")
        painted = (
            f"  {device.device:<{wide}}  {canvas.paint(f'{device.status:<{status}}', colour)}  "
        )
        told = _told(device)
        if canvas.width - len(left) >= min(_ROOM, len(told)):
            yield from _wrapped(painted, told, canvas, hanging=len(left))
        else:
            yield painted
            yield from _wrapped("      ", told, canvas, hanging=6)
    if e.drivers:
        yield ""
    for driver in e.drivers:
        restart = (
            "no device in use: safe to restart"
            if driver.restartable
            else f"{driver.held} of {driver.devices} in use"
        )
        yield f"  driver {driver.driver}: {restart}"


def _told(device: DeviceStatus) -> str:
    told = [
        f"claim {h.claim}" + (f" (pod {h.pod})" if h.pod else ", unused") for h in device.holders
    ]
    told += [f"taint {t}" for t in device.taints] + ([device.detail] if device.detail else [])
    return ", ".join(told)


def _allocations(e: Explanation, canvas: Canvas, most: int) -> Iterator[str]:
    for node in [n for n in e.nodes if n.allocation][:most]:
        yield ""
        yield f"  {canvas.paint(node.name, '1')}"
        requests = [_request(e, allocated) for allocated in node.allocation]
        wide = max(map(len, requests))
        for request, a in zip(requests, node.allocation, strict=True):
            device = f"{a.driver}/{a.pool}/{a.device}"
            if len(f"    {request:<{wide}}  {device}") <= canvas.width:
                yield f"    {request:<{wide}}  {device}"
            else:
                yield f"    {request}"
                yield f"      {device}"


def _alignment(e: Explanation, canvas: Canvas) -> Iterator[str]:
    """How near the devices are to each other, and how near they could be."""
    if e.alignment:
        yield ""
        yield f"  {canvas.paint('Alignment', '1')}"
    for heading, text in alignment_lines(e.alignment):
        if heading:
            yield from _wrapped(f"    {heading}  ", text, canvas, hanging=6 + len(heading))
        else:
            yield from (
                _wrapped("      ", text, canvas, hanging=8)
                if "  " not in text
                else [f"      {text}"]
            )


def _request(e: Explanation, allocated: AllocatedDevice) -> str:
    """Claim and request; an extended resource as the pod has it."""
    claim = allocated.claim.rpartition("/")[2]
    own = (
        claim in e.subject.pod_claims.values()
    )  # the scheduler makes another one for extended resources
    return (
        not own and e.subject.extended.get(allocated.request)
    ) or f"{claim}  {allocated.request}"
