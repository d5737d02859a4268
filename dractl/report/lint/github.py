"""``dractl lint -o github``: workflow commands that GitHub Actions shows as annotations."""

from dractl.inputs.omissions import Omission, omissions
from dractl.lint.finding import Finding, Report
from dractl.report.paths import relative
from dractl.report.plain import printable

_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def render(report: Report) -> str:
    """Return one ``::error file=...::message`` line for each finding, and one for the files that
    were skipped for a reason.
    """
    lines = [_command(finding) for finding in report.findings]
    lines += map(_omission, omissions(report.skipped))
    if report.unchecked is not None:
        title = "selectors not checked by dractl"
        lines.append(f"::warning title={title}::{_data(report.unchecked)}")
    return "\n".join(lines)


def _omission(omission: Omission) -> str:
    level = "error" if omission.unread else "warning"
    file = _property(relative(omission.files[0].file))
    message = f"{omission.place}: {omission.why}" + (f"\n{omission.hint}" if omission.hint else "")
    return f"::{level} file={file},title=not checked by dractl::{_data(message)}"


def _command(finding: Finding) -> str:
    place = finding.position
    properties = {
        "file": relative(place.file),
        "line": str(place.line),
        "endLine": str(place.end_line),
        "title": f"{finding.code} {finding.name}",
    }
    # Columns are allowed only within one line, and the end is inclusive
    if place.end_line == place.line:
        properties["col"] = str(place.column)
        properties["endColumn"] = str(max(place.column, place.end_column - 1))
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    message = finding.message + (f"\n{finding.help}" if finding.help else "")
    return f"::{_LEVELS[finding.severity]} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return "%0A".join(printable(line).replace("%", "%25") for line in text.split("\n"))


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
