"""``dractl upgrade -o markdown``: for an issue or a pull request."""

from dractl.model.abbreviation import abbreviate
from dractl.report.markdown import code, escape
from dractl.report.upgrade.text import headline
from dractl.upgrade import Finding, Plan, Step

_OBJECTS = 5


def render(plan: Plan) -> str:
    """Return the plan as Markdown: a list for each step."""
    lines = [f"# {escape(headline(plan))}", ""]
    for step in plan.steps:
        lines += [f"## {escape(step.step)}", "", *_step(step), ""]
    if plan.not_compared:
        lines += ["## Not compared", "", *(f"- {escape(text)}" for text in plan.not_compared), ""]
    return "\n".join(lines)


def _step(step: Step) -> list[str]:
    before = [f"- [ ] {escape(text)}" for text in step.before]
    return [*before, *([""] if before else []), *map(_finding, step.findings)] or [
        "Nothing changes."
    ]


def _finding(finding: Finding) -> str:
    names = abbreviate([*map(code, finding.objects)], _OBJECTS)
    about = f"{names}: " if names else ""
    ends = {
        "fix": finding.fix,
        "owner": finding.owner,
        "source": finding.source,
        "read": finding.date,
    }
    endings = "".join(f"; {label}: {escape(text)}" for label, text in ends.items() if text)
    return f"- **{finding.level}** {about}{escape(finding.message)}{endings}"
