"""``dractl lint -o gitlab``: a Code Quality report."""

import json
import re
from collections import Counter
from hashlib import sha256
from typing import Any

from dractl.lint.finding import Finding, Report
from dractl.report.paths import relative

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def render(report: Report) -> str:
    """Return a list with one issue for each finding; GitLab requires fingerprints that differ
    within a report.
    """
    seen: Counter[tuple[str, str]] = Counter()
    issues = []
    for finding in report.findings:
        key = (finding.position.file, finding.fingerprint)
        issues.append(_issue(finding, seen[key]))
        seen[key] += 1
    return json.dumps(issues, indent=1)


def _issue(finding: Finding, number: int) -> dict[str, Any]:
    place = finding.position
    named = f"{place.file}\0{finding.fingerprint}\0{number}"
    return {
        "description": _clean(f"{finding.code} {finding.name}: {finding.message}"),
        "check_name": finding.code,
        "fingerprint": sha256(named.encode("utf-8", "surrogatepass")).hexdigest(),
        "severity": _SEVERITIES[finding.severity],
        "location": {
            "path": _clean(relative(place.file)),
            "lines": {"begin": place.line, "end": place.end_line},
        },
    }


def _clean(text: str) -> str:
    """Replace invalid Unicode, such as a file's name in another encoding: one such character would
    make the report invalid.
    """
    return re.sub("[\ud800-\udfff]", "\ufffd", text)
