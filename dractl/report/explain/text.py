"""explain for people: the verdict, the funnel, the conflict and the fixes, on one screen."""

from collections.abc import Container, Iterator, Sequence

from dractl.cluster.shell import NextStep
from dractl.explain.answer import (
    AllocatedDevice,
    Conflict,
    ConstraintGroup,
    DeviceStatus,
    ExpectedNode,
    Explanation,
    Fix,
    FunnelStage,
    NodeAnswer,
    Reason,
)
from dractl.model.order import natural
from dractl.program import program_name
from dractl.report.alignment.text import alignment_lines
from dractl.report.canvas import Canvas
from dractl.report.explain import opening as explain_opening
from dractl.report.explain.marks import mark_answer
from dractl.report.plain import plural, printable, wrap
from dractl.views import age

MAX_EXPECTED_NODES = 4
"""Maximum number of NodePools in the section about nodes that an autoscaler would launch."""

_EVERYTHING = 1 << 30
_NODES = 8  # maximum lines about nodes on one screen
_REASONS = 5
# Maximum width of names of nodes and requests; longer ones get a line of their own
_NAME, _HEADING = (32, 24)
_ROOM = 36  # minimum width of a message beside its subject


def render(
    explanations: Sequence[Explanation],
    canvas: Canvas,
    *,
    now: float | None = None,
    every: bool = False,
) -> str:
    """Return each answer in full. ``now`` (seconds since 1970) is used for ages. With ``every``,
    nothing is left out, and each node has its own funnel.
    """
    texts = (
        "\n".join(line.rstrip() for line in _lines(e, canvas, now, every)) for e in explanations
    )
    return canvas.plain("\n\n".join(texts)) + "\n"


def clean_text(text: str, canvas: Canvas) -> str:
    """Return a text from the cluster as one line without characters that would affect the
    terminal.
    """
    return canvas.plain(" ".join(printable(text).split()))


def _wrap(text: str, width: int) -> list[str]:
    return wrap(text, max(width, 30))


def hang_text(first: str, text: str, canvas: Canvas, *, hanging: int) -> Iterator[str]:
    """Yield the lines of ``text`` after ``first``; all lines but the first are indented by
    ``hanging`` columns.
    """
    lines = _wrap(clean_text(text, canvas), canvas.width - hanging)
    yield first + lines[0]
    for line in lines[1:]:
        yield " " * hanging + line


def _lines(e: Explanation, canvas: Canvas, now: float | None, every: bool) -> Iterator[str]:
    yield from _answer(e, canvas, now, every)
    if e.reasons:
        yield ""
        code = _first_named_reason(e).code
        title, command = f"More about {code}:", f"{program_name()} rule {code}"
        whole = f"{title} {command}"
        yield from (whole,) if len(whole) <= canvas.width else (title, f"  {command}")


def _first_named_reason(e: Explanation) -> Reason:
    """Return the reason with which the headline begins: a root cause, or else the first reason."""
    begin = (reason for reason in e.reasons if e.headline.startswith(reason.message))
    return next(begin, e.reasons[0])


def _answer(e: Explanation, canvas: Canvas, now: float | None, every: bool) -> Iterator[str]:
    yield from _title(e, canvas, now)
    cause, *below = explain_opening.lines(e)
    yield from hang_text(f"{mark_answer(e).paint(canvas)} ", cause, canvas, hanging=2)
    for line in below:
        yield from hang_text("  ", line, canvas, hanging=4)
    yield from _selector(e, canvas)
    for note in e.notes:
        if note in e.headline:
            continue
        yield from hang_text("  note: ", note, canvas, hanging=8)
    if e.subject.kind == "Node":
        yield from _inventory(e, canvas)
        yield from _next_steps(e, canvas)
        return
    if e.fits:
        yield from _allocations(e, canvas, _EVERYTHING if every else 3)
        yield from _alignment(e, canvas)
        yield from _next_steps(e, canvas)
        return
    yield from _obstacles(e, canvas)
    if e.funnel:
        yield ""
        yield from _funnel(e.funnel, canvas)
    if e.conflict is not None and _names_node(e, e.conflict.node):
        yield from _conflict(e.conflict, canvas, _EVERYTHING if every else _NODES)
    tabled_codes: set[str] = set()
    if len({_first_reason(node) for node in e.nodes}) > 1:
        tabled_codes = {reason.code for node in e.nodes for reason in node.reasons}
        yield ""
        yield from _nodes(e.nodes, canvas, _EVERYTHING if every else _NODES)
    reasons = _list_unshown_reasons(e, tabled_codes)
    yield from _list_further_obstacles(reasons, canvas, _EVERYTHING if every else _REASONS)
    for node in e.nodes if every else ():
        if node.funnel:
            yield ""
            yield canvas.paint(node.name, "1") + (
                f" and {len(node.like)} like it" if node.like else ""
            )
            yield from _funnel(node.funnel, canvas)
    if e.is_driver_at_fault:
        yield from _next_steps(e, canvas)
    yield from _plan(e, canvas)
    if not e.unchecked:
        yield from _fixes(
            e.fixes, canvas, "by a new allocation" if not e.unread else "with what you can read"
        )
    yield from _list_expected_nodes(e.expected_nodes, canvas)
    if not e.is_driver_at_fault:
        yield from _next_steps(e, canvas)


def _list_expected_nodes(nodes: Sequence[ExpectedNode], canvas: Canvas) -> Iterator[str]:
    """Yield a section about the nodes that an autoscaler would launch, a line or two for each."""
    if not nodes:
        return
    yield ""
    yield canvas.paint("Will a node come", "1")
    for node in nodes[:MAX_EXPECTED_NODES]:
        mark = {"comes": "yes", "never": "no", "unknown": "unknown"}[node.verdict]
        pool = f"NodePool {node.pool}: " if node.pool else ""
        yield from hang_text("  ", f"{mark}: {pool}{node.reason}", canvas, hanging=7)
        if node.fix and not any(other.verdict == "comes" for other in nodes):
            yield from hang_text("       ", f"to get one: {node.fix}", canvas, hanging=11)
    if len(nodes) > MAX_EXPECTED_NODES:
        yield f"  and {len(nodes) - MAX_EXPECTED_NODES} more NodePools"


def _obstacles(e: Explanation, canvas: Canvas) -> Iterator[str]:
    """Yield a line for each obstacle on the nearest node, if there are several."""
    heading, *obstacles = explain_opening.obstacle_lines(e) or [""]
    if not obstacles:
        return
    yield ""
    yield canvas.paint(heading, "1")
    for number, obstacle in enumerate(obstacles, 1):
        yield from hang_text(f"  {number}  ", obstacle, canvas, hanging=5)


def _names_node(e: Explanation, node: str) -> bool:
    """Return True if the headline is about ``node``: it names this node, or it names no node and
    the nodes do not have mixed causes.
    """
    first = e.reasons[0] if e.reasons else None
    return first is None or (first.code != "mixed" and (not first.nodes or node in first.nodes))


def _selector(e: Explanation, canvas: Canvas) -> Iterator[str]:
    """Yield the selector of the first reason as it is written, with marks below the part that
    decided.
    """
    reason = e.reasons[0] if e.reasons else None
    if reason is None or not reason.selector or not reason.evaluations:
        return
    part, room = reason.evaluations[0], canvas.width - 4
    text = canvas.plain(printable(reason.selector))
    yield ""
    for at in range(0, len(text), room):
        yield f"    {text[at : at + room]}"
        start, end = (min(max(place - at, 0), room) for place in (part.start, part.end))
        if start < end:
            yield f"    {' ' * start}{canvas.paint('^' * (end - start), '31')}"


def _title(e: Explanation, canvas: Canvas, now: float | None) -> Iterator[str]:
    """Yield the subject, how long it has waited, and its claims, with the release on the right."""
    waits = printable(" ".join(filter(None, (e.phase, age(e.age, now)))))
    head = f"{e.title}  {waits}".rstrip()
    claims = printable(", ".join(_claim(e, name) for name in e.subject.pod_claims))
    claim_text = f"claim {claims}" if claims else ""
    release = release_title(e)
    beside = (
        f"{head}  {claim_text}"
        if claim_text and len(f"{head}  {claim_text}  {release}") <= canvas.width
        else head
    )
    bold = canvas.paint(e.title, "1") + beside[len(e.title) :]
    gap = canvas.width - len(beside) - len(release)
    yield f"{bold}{' ' * gap}{release}" if gap >= 2 else bold
    if claim_text and beside == head:
        yield from hang_text("  ", claim_text, canvas, hanging=4)
    if gap < 2:
        yield f"  {release}"


def _claim(e: Explanation, name: str) -> str:
    claim, template = e.subject.pod_claims[name], e.subject.templates.get(name)
    origin = f"from template {template}" if template else ""
    note = origin if claim else ", ".join(filter(None, ("not created", origin)))
    return f"{claim or name} ({note})" if note else f"{claim}"


def release_title(e: Explanation) -> str:
    """Return the release and its origin: ``Kubernetes 1.36 (from kubelets)``."""
    origin = e.release_from or ("default" if e.release_assumed else "")
    return f"Kubernetes {e.release}" + (f" ({origin})" if origin else "")


def _list_unshown_reasons(e: Explanation, tabled_codes: Container[str]) -> list[Reason]:
    """Return the reasons that the headline, the list of obstacles and the table of nodes leave
    out.
    """
    listed = {obstacle.have for obstacle in e.obstacles} if len(e.obstacles) > 1 else set()
    return [
        reason
        for reason in e.reasons[1:]
        if reason.message not in e.headline
        and reason.message not in listed
        and reason.code not in tabled_codes
    ]


def _list_further_obstacles(reasons: Sequence[Reason], canvas: Canvas, most: int) -> Iterator[str]:
    """Yield further obstacles that the section about nodes does not show."""
    for reason in reasons[:most]:
        yield from hang_text("  also: ", f"{reason.message} [{reason.code}]", canvas, hanging=8)
    if len(reasons) > most:
        yield f"  and {len(reasons) - most} more reasons (-v shows all)"


def _funnel(stages: Sequence[FunnelStage], canvas: Canvas) -> Iterator[str]:
    """Yield a line for each stage: its name, the devices that remain, and the reasons for losing
    the others.
    """
    headings = [clean_text(stage.heading or f"request {stage.request}", canvas) for stage in stages]
    wide = max((len(heading) for heading in headings if len(heading) <= _HEADING), default=0)
    rows: list[tuple[str, FunnelStage | None, str]] = []  # the demand, the numbers, and their unit
    for position, (stage, heading) in enumerate(zip(stages, headings, strict=True)):
        asked = clean_text(stage.stage, canvas)
        place = f" on {plural(stage.nodes, 'node')}" if stage.nodes else ""
        if position and headings[position - 1] == heading:
            rows.append((f"    {asked}", stage, ""))
        elif len(heading) <= _HEADING and wide + 4 + len(asked) <= canvas.width:
            rows.append((f"  {heading:<{wide}}  {asked}", stage, f" {_noun(stage)}{place}"))
        else:
            rows += [(f"  {heading}", None, ""), (f"    {asked}", stage, f" {_noun(stage)}{place}")]
    limit = max(30, min(56, canvas.width - 24))
    column = max(
        (len(left) for left, numbers, _ in rows if numbers and len(left) <= limit), default=limit
    )
    counted = max(len(_count(numbers, unit_text)) for _, numbers, unit_text in rows if numbers)
    for left, numbers, unit_text in rows:
        if numbers is None:
            yield left
            continue
        above = len(left) + len(unit_text[: len(" devices")].rstrip()) + 2 + counted > canvas.width
        if above:
            yield left
        count = _count(numbers, unit_text)
        line = f"{'' if above else left:<{column}}  "
        used = len(line) + counted
        colour = "32" if unit_text or numbers.kept == numbers.of else "33"
        if not numbers.kept:
            colour = "31"
        line += ("" if unit_text else " " * (counted - len(count))) + canvas.paint(count, colour)
        unit = (
            unit_text
            if used + len(unit_text) <= canvas.width
            else unit_text[: len(" devices")].rstrip()
        )
        detail = f"({clean_text(numbers.detail, canvas)})" if numbers.detail else ""
        if not detail or used + len(unit) + 3 + len(detail) <= canvas.width:
            yield f"{line}{unit}   {detail}"
        else:
            yield f"{line}{unit}"
            yield from hang_text("        ", detail, canvas, hanging=8)


def _noun(stage: FunnelStage) -> str:
    return "device" if stage.kept == 1 else "devices"


def _count(stage: FunnelStage, unit: str) -> str:
    """Return the number of devices that remain. The first stage of a request (the one with a
    ``unit``) has no total, since that would include devices of other kinds.
    """
    return str(stage.kept) if unit and stage.kept else f"{stage.kept} of {stage.of}"


def _conflict(conflict: Conflict, canvas: Canvas, most: int) -> Iterator[str]:
    constraint_text = f"{'; '.join(conflict.constraints)} over {', '.join(conflict.requests)}"
    yield from hang_text("  constraint   ", constraint_text, canvas, hanging=15)
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
            yield from hang_text("        ", right, canvas, hanging=8)
    if len(conflict.places) > most:
        yield f"    and {len(conflict.places) - most} more"


def _value(place: ConstraintGroup, canvas: Canvas) -> str:
    """Return a value as text: ``pci0000:17`` by itself, but a number with its attribute, ``numaNode
    0``.
    """
    value = clean_text(place.value, canvas)
    return f"{place.attribute.rpartition('/')[2]} {value}" if value.isdigit() else value


def _first_reason(node: NodeAnswer) -> tuple[str, str]:
    """Return the code and the message of a node's first reason."""
    if not node.reasons:
        return ("fits" if node.verdict == "allocatable" else node.verdict, "")
    return node.reasons[0].code, node.reasons[0].brief


def _nodes(nodes: Sequence[NodeAnswer], canvas: Canvas, most: int) -> Iterator[str]:
    """Yield the nodes grouped by their first reason. The reason is beside them, or below if there
    is no room.
    """
    groups: dict[tuple[str, str], list[str]] = {}
    for node in sorted(nodes, key=lambda node: natural(node.name)):
        groups.setdefault(_first_reason(node), []).extend((node.name, *node.like))
    shown = [
        (_names(names), code, message) for (code, message), names in list(groups.items())[:most]
    ]
    wide = min(max(len(names) for names, _, _ in shown), _NAME)
    coded = max(len(code) for _, code, _ in shown)
    for names, code, message in shown:
        left = f"  {names:<{wide}}  {code:<{coded}}  "
        if canvas.width - len(left) >= _ROOM:
            yield from hang_text(left, message, canvas, hanging=len(left))
        elif len(left.rstrip()) > canvas.width:
            yield f"  {names}"
            yield from hang_text("      ", f"{code}: {message}".rstrip(": "), canvas, hanging=6)
        else:
            yield left
            if message:
                yield from hang_text("      ", message, canvas, hanging=6)
    if len(groups) > most:
        yield f"  and {len(groups) - most} more groups of nodes (-v shows all)"


def _names(names: Sequence[str]) -> str:
    """Return ``gpu-a, gpu-b +3``: as many names as there is room for, but at least one."""
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
        text = clean_text(fix.title + (f" ({fix.effects})" if fix.effects else ""), canvas)
        left = f"  {canvas.paint(str(fix.rank), '1')}{' ' * (3 - len(str(fix.rank)))}"
        if len(text) <= room:
            yield f"{left}{text:<{room}}  {place}"
            continue
        # A text that is too long for the room beside the nodes gets the whole width, and the nodes
        # follow at its end.
        *lines, last = _wrap(text, canvas.width - 5)
        for line in lines:
            yield left + line
            left = "     "
        if len(last) <= room:
            yield f"{left}{last:<{room}}  {place}"
        else:
            yield left + last
            yield f"     {'':<{room}}  {place}"


def _plan(e: Explanation, canvas: Canvas) -> Iterator[str]:
    """Yield the step that finds out which other pods have to move."""
    if e.plan is not None:
        yield ""
        yield canvas.paint("Move other pods", "1")
        yield from _step(e.plan, canvas)


def _step(step: NextStep, canvas: Canvas) -> Iterator[str]:
    """Yield a next step with its command."""
    yield from hang_text("  ", step.text, canvas, hanging=4)
    if step.command:
        yield f"      {canvas.paint(clean_text(step.command, canvas), '36')}"


def _next_steps(e: Explanation, canvas: Canvas) -> Iterator[str]:
    """Yield the next steps, each with its command."""
    if not e.next:
        return
    yield ""
    heading = "No small change makes it fit. Next" if e.is_without_fix else "Next"
    yield canvas.paint(heading, "1")
    for step in e.next:
        yield from _step(step, canvas)


def _inventory(e: Explanation, canvas: Canvas) -> Iterator[str]:
    """Yield a node's devices, and its drivers."""
    yield from _list_further_obstacles(
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
        description = _describe_device(device)
        if canvas.width - len(left) >= min(_ROOM, len(description)):
            yield from hang_text(painted, description, canvas, hanging=len(left))
        else:
            yield painted
            yield from hang_text("      ", description, canvas, hanging=6)
    if e.drivers:
        yield ""
    for driver in e.drivers:
        restart = (
            "no device in use: safe to restart"
            if driver.restartable
            else f"{driver.held} of {driver.devices} in use"
        )
        yield f"  driver {driver.driver}: {restart}"


def _describe_device(device: DeviceStatus) -> str:
    facts = [
        f"claim {h.claim}" + (f" (pod {h.pod})" if h.pod else ", unused") for h in device.holders
    ]
    facts += [f"taint {t}" for t in device.taints] + ([device.detail] if device.detail else [])
    return ", ".join(facts)


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
    """Yield how near the devices are to each other, and how near they could be."""
    if e.alignment:
        yield ""
        yield f"  {canvas.paint('Alignment', '1')}"
    for heading, text in alignment_lines(e.alignment):
        if heading:
            yield from hang_text(f"    {heading}  ", text, canvas, hanging=6 + len(heading))
        else:
            yield from (
                hang_text("      ", text, canvas, hanging=8)
                if "  " not in text
                else [f"      {text}"]
            )


def _request(e: Explanation, allocated: AllocatedDevice) -> str:
    """Return the claim and the request; an extended resource is named as in the pod."""
    claim = allocated.claim.rpartition("/")[2]
    # The claim that the scheduler makes for extended resources is not among the pod's claims.
    is_claim_of_pod = claim in e.subject.pod_claims.values()
    return (
        not is_claim_of_pod and e.subject.extended.get(allocated.request)
    ) or f"{claim}  {allocated.request}"
