"""``plan`` as text: the moves with their commands, and the warnings to read before them."""

from collections.abc import Iterator, Sequence

from dractl.planning import Plan, Step
from dractl.planning.commands import Batch, list_batches
from dractl.report.canvas import Canvas
from dractl.report.explain.text import hang_text
from dractl.report.plain import add_remark, plural, printable

_MAX_NAMED_NODES = 4
_SUBJECT_PODS = 3


def headline(plan: Plan) -> str:
    """Return the plan's result in one sentence."""
    match plan.verdict:
        case "fits":
            return f"{plan.subject} fits: nothing has to move"
        case "none":
            return f"{plan.subject} does not fit, whatever moves"
        case "undecided":
            return f"no plan was found for {plan.subject}, and not everything was looked at"
    parts = [f"end {plural(plan.ended, 'pod')}"] if plan.ended else []
    parts += [f"move {plural(plan.moved, 'pod')}"] if plan.moved else []
    return f"{plan.subject} fits after these steps: {', '.join(parts)}"


def render(plan: Plan, canvas: Canvas, release: str, reasons: Sequence[str]) -> str:
    """Return the report; ``reasons`` say why there is no plan."""
    return "".join(f"{line}\n" for line in _lines(plan, canvas, release, reasons))


def _lines(plan: Plan, canvas: Canvas, release: str, reasons: Sequence[str]) -> Iterator[str]:
    good = plan.verdict in ("fits", "plan")
    mark = canvas.paint("✓", "1;32") if good else canvas.paint("✗", "1;31")
    mark = canvas.plain(mark)
    *above, last = hang_text(f"{mark} ", headline(plan), canvas, hanging=2)
    yield from above
    yield add_remark(last, f"Kubernetes {release}", canvas.width)
    for reason in reasons:
        yield from hang_text("  ", reason, canvas, hanging=4)
    for number, batch in enumerate(list_batches(plan.steps), 1):
        yield ""
        yield from _batch(number, batch, canvas)
    subjects = [(key, node) for key, node in plan.places if key in plan.subjects]
    if subjects:
        yield ""
        named = ", ".join(f"{'/'.join(key)} on {node}" for key, node in subjects[:_SUBJECT_PODS])
        more = len(subjects) - _SUBJECT_PODS
        yield from hang_text(
            "  ", f"then: {named}{f' and {more} more' if more > 0 else ''}", canvas, hanging=4
        )
    for note in plan.notes:
        yield from hang_text("  note: ", note, canvas, hanging=8)


def _batch(number: int, batch: Batch, canvas: Canvas) -> Iterator[str]:
    for position, step in enumerate(batch.steps):
        label = str(number) if position == 0 else " "
        yield from hang_text(
            f"  {canvas.paint(label, '1')}  ", describe_step(step), canvas, hanging=5
        )
    for command in batch.commands:
        yield f"       {canvas.paint(canvas.plain(printable(command)), '36')}"


def describe_step(step: Step) -> str:
    """Return a step as an imperative."""
    owner = f" of {step.owner}" if step.owner else ""
    gang = f", with all pods of {step.gang}" if step.gang else ""
    pod = f"pod {'/'.join(step.pod)}{owner}{gang}"
    if not step.target:
        return f"end {pod} on {step.source}"
    others = step.alternatives[:_MAX_NAMED_NODES]
    more = len(step.alternatives) - len(others)
    other_nodes = (
        f" (or {', '.join(others)}{f' and {more} more' if more else ''})" if others else ""
    )
    return f"move {pod} from {step.source} to {step.target}{other_nodes}"
