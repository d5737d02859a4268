"""``dractl upgrade -o html``: a page to read and to hand on."""

from html import escape

from dractl.report.page import bullets, cell, page, table
from dractl.report.upgrade.text import headline
from dractl.upgrade import Finding, Plan, Step

_LOOKS = {"breaks": "bad strong", "changes": "warn", "info": "soft"}
_OBJECTS = 8


def render(plan: Plan) -> str:
    """The plan as a page: a table for each step."""
    parts = [f"<h1>{escape(headline(plan))}</h1>", *(_step(step) for step in plan.steps)]
    if plan.not_compared:
        parts += ["<h2>Not compared</h2>", bullets(plan.not_compared)]
    return page(headline(plan), parts)


def _step(step: Step) -> str:
    before = bullets([f"before it: {text}" for text in step.before])
    if not step.findings:
        return f"<h2>{escape(step.step)}</h2>{before}<p>nothing changes</p>"
    return f"<h2>{escape(step.step)}</h2>{before}" + table(
        (_row(one) for one in step.findings),
        ("", "objects", "what", "fix", "owner", "source"),
        "rows",
    )


def _row(finding: Finding) -> str:
    more = len(finding.objects) - _OBJECTS
    names = ", ".join(finding.objects[:_OBJECTS]) + (f" and {more} more" if more > 0 else "")
    source = ", ".join(filter(None, (finding.source, finding.date)))
    texts = (names, finding.message, finding.fix or "", finding.owner or "", source)
    return cell(finding.level, _LOOKS[finding.level]) + "".join(map(cell, texts))
