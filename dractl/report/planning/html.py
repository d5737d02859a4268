"""``plan -o html``: the steps, and the picture of the devices before and after them."""

from collections.abc import Iterator, Sequence
from html import escape

from dractl.allocation import Features
from dractl.capacity import take_inventory
from dractl.planning import Plan
from dractl.planning.commands import list_batches
from dractl.report.capacity import html as capacity_html
from dractl.report.page import bullets
from dractl.report.planning.text import describe_step, headline


def render(plan: Plan, features: Features, reasons: Sequence[str], about: str) -> str:
    """Return the page; ``reasons`` say why there is no plan."""
    stocks = {"Before": take_inventory(plan.before, features)}
    if plan.after is not plan.before:
        stocks["After"] = take_inventory(plan.after, features)
    return capacity_html.change(
        headline(plan), list(_sections(plan, reasons)), stocks, _devices_of_subject(plan), about
    )


def _sections(plan: Plan, reasons: Sequence[str]) -> Iterator[str]:
    if reasons:
        yield f"<section><h2>Why</h2>{bullets(reasons)}</section>"
    if plan.steps:
        items = "".join(
            f"<li>{'<br>'.join(escape(describe_step(step)) for step in batch.steps)}"
            f"<pre>{escape(chr(10).join(batch.commands))}</pre></li>"
            for batch in list_batches(plan.steps)
        )
        yield f"<section><h2>Steps</h2><ol>{items}</ol></section>"
    if plan.notes:
        yield f"<section><h2>Notes</h2>{bullets(plan.notes)}</section>"


def _devices_of_subject(plan: Plan) -> frozenset[str]:
    state = plan.after
    return frozenset(
        str(device.id)
        for pod in plan.subjects
        for key in state.claims_of_pod(pod)
        for device in state.claim(key).allocated_devices
    )
