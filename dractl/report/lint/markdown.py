"""``dractl lint -o markdown``: for the summary of a job, an issue or a pull request."""

from dractl.inputs.omissions import omissions
from dractl.lint.finding import Finding, Report
from dractl.report.canvas import Canvas
from dractl.report.lint.summary import summary
from dractl.report.markdown import code, escape
from dractl.report.paths import relative

_WIDTH = 1_000_000
MAX_ROWS = 500
"""Maximum number of rows, since GitHub refuses a job summary above 1 MiB."""


def render(report: Report) -> str:
    """Return a headline with the numbers, a table with a row for each finding, and the unchecked
    files.
    """
    first, *notes = summary(report, Canvas(_WIDTH)).split("\n")
    lines = [f"### dractl: {escape(first)}", ""]
    if report.findings:
        lines += ["| where | rule | what |", "|---|---|---|"]
        lines += map(_row, report.findings[:MAX_ROWS])
        hidden = len(report.findings) - MAX_ROWS
        lines += [f"| | | and {hidden:,} more |"] if hidden > 0 else []
        lines.append("")
    asides = [
        *(f"{item.place}: {item.sentence}" for item in omissions(report.skipped)),
        *(note.removeprefix("note: ") for note in notes),
    ]
    lines += [f"- {escape(text)}" for text in asides]
    return "\n".join(lines).rstrip("\n")


def _row(finding: Finding) -> str:
    place = finding.position
    place_text = code(f"{relative(place.file)}:{place.line}")
    parts = [escape(finding.message), *([f"*{escape(finding.help)}*"] if finding.help else [])]
    likely = "" if finding.confidence == "certain" else f" ({finding.confidence})"
    return f"| {place_text} | {finding.severity} {finding.code}{likely} | {'<br>'.join(parts)} |"
