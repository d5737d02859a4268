"""``dractl lint -o concise``: one line for each finding, in the form for editors and grep."""

from dractl.lint.finding import Report
from dractl.report.canvas import Canvas
from dractl.report.lint.summary import STYLES
from dractl.report.plain import printable


def render(report: Report, canvas: Canvas) -> str:
    """Return ``file:line:column: severity DRA116 message`` lines."""
    lines = []
    for finding in report.findings:
        place = (
            f"{printable(finding.position.file)}:{finding.position.line}:{finding.position.column}"
        )
        code = canvas.paint(f"{finding.severity} {finding.code}", STYLES[finding.severity])
        lines.append(f"{place}: {code} {canvas.plain(printable(finding.message))}")
    return "\n".join(lines)
