"""``dractl lint -o junit``: JUnit XML with one test case for each finding; errors and warnings
count as failed, infos as passed.
"""

import re
from xml.sax.saxutils import escape, quoteattr

from dractl.lint.finding import Finding, Report
from dractl.report.plain import printable

# Characters that XML 1.0 cannot contain, not even escaped.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def render(report: Report) -> str:
    """Return the XML document. A run without findings is one passed test case, since some readers
    treat a report without test cases as a failure.
    """
    skipped = [] if report.unchecked is None else [_case_of_skipped("selectors", report.unchecked)]
    failures = sum(finding.severity != "info" for finding in report.findings)
    cases = [_case(finding) for finding in report.findings] or [
        '  <testcase name="dractl lint" classname="dractl"/>'
    ]
    head = f'tests="{len(cases) + len(skipped)}" failures="{failures}" errors="0"'
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<testsuites name="dractl lint" {head}>',
            f'<testsuite name="dractl lint" {head} skipped="{len(skipped)}">',
            *cases,
            *skipped,
            "</testsuite>",
            "</testsuites>",
        ]
    )


def _case_of_skipped(name: str, why: str) -> str:
    """Return a test case for files that were not checked."""
    return f"""  <testcase name="{name}" classname="dractl">
    <skipped message={_attribute(f"not checked: {why}")}/>
  </testcase>"""


def _case(finding: Finding) -> str:
    place = finding.position
    name = _attribute(f"{finding.code} {finding.name} {place.file}:{place.line}:{place.column}")
    # Jenkins' schema has no attributes for file and line
    case = f"  <testcase name={name} classname={_attribute(place.file)}"
    text = _clean(
        "\n".join(
            part
            for part in (
                printable(f"{place.file}:{place.line}:{place.column}"),
                printable(f"{finding.object}  {finding.path}".strip()),
                finding.message,
                finding.help or "",
            )
            if part
        )
    )
    if finding.severity == "info":
        return f"{case}>\n    <system-out>{escape(text)}</system-out>\n  </testcase>"
    message = _attribute(finding.message)
    failure = f'<failure type="{finding.severity}" message={message}>{escape(text)}</failure>'
    return f"{case}>\n    {failure}\n  </testcase>"


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)


def _attribute(text: str) -> str:
    return quoteattr(_clean(text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
