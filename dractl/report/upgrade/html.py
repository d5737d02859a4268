"""``dractl upgrade -o html``: a page to read and to share."""

from collections.abc import Iterator
from html import escape

from dractl.model.abbreviation import abbreviate
from dractl.report.page import bullets, cell, page, table
from dractl.report.upgrade.text import describe_unchanged, headline
from dractl.upgrade import Finding, Plan, Step

_LOOKS = {"breaks": "bad strong", "changes": "warn", "info": "soft"}
_MAX_OBJECTS = 8
_STYLE = "body { max-width: 62rem; } table { width: 100%; } td:first-child { width: 5.5rem; }"


def render(plan: Plan) -> str:
    """Return the plan as a page: a table for each step."""
    parts = [
        f"<h1>{escape(headline(plan))}</h1>",
        *(_step(step, describe_unchanged(plan)) for step in plan.steps),
    ]
    if plan.not_compared:
        parts += ["<h2>Not compared</h2>", bullets(plan.not_compared)]
    return page(headline(plan), parts, _STYLE)


def _step(step: Step, unchanged: str) -> str:
    before = bullets([f"first {text}" for text in step.before])
    rows = table(map(_row, step.findings)) if step.findings else f"<p>{escape(unchanged)}</p>"
    return f"<h2>{escape(step.step)}</h2>{before}{rows}"


def _row(finding: Finding) -> str:
    """Return the level, and beside it the message with any further parts of the finding."""
    level = cell(finding.level, _LOOKS[finding.level])
    return f"{level}<td>{'<br>'.join((escape(finding.message), *_details(finding)))}</td>"


def _details(finding: Finding) -> Iterator[str]:
    names = [f"<code>{escape(name)}</code>" for name in finding.objects]
    if names:
        yield abbreviate(names, _MAX_OBJECTS)
    if finding.fix:
        yield f"<span class=strong>fix</span> {escape(finding.fix)}"
    if finding.owner and not finding.owner.startswith("namespace "):  # the names show a namespace
        yield f"<span class=strong>owner</span> {escape(finding.owner)}"
    source = ", ".join(filter(None, (finding.source, finding.date)))
    if source:
        yield f"<small class=soft>{escape(source)}</small>"
