"""The reports on the same input for several releases as one, whose findings are marked by
release.
"""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from dractl.lint.finding import Finding, Report


def combine(reports: Sequence[Report]) -> Report:
    """Combine reports into one: if only some releases have a finding, the finding names these
    releases.
    """
    findings: dict[Any, Finding] = {}
    releases: dict[Any, list[str]] = {}
    for report in reports:
        for finding in report.findings:
            place = finding.position
            key = (
                finding.code,
                place.file,
                place.line,
                place.column,
                finding.path,
                finding.message,
                finding.object,
            )
            findings.setdefault(key, finding)
            releases.setdefault(key, []).append(report.kubernetes_version)
    marked = [
        _mark_releases(finding, releases[key], len(reports)) for key, finding in findings.items()
    ]
    marked.sort(
        key=lambda one: (one.position.file, one.position.line, one.position.column, one.code)
    )
    every = ",".join(report.kubernetes_version for report in reports)
    return replace(reports[-1], findings=tuple(marked), kubernetes_version=every)


def _mark_releases(finding: Finding, releases: list[str], count: int) -> Finding:
    if len(releases) == count:
        return finding
    message = f"{finding.message} (Kubernetes {', '.join(releases)})"
    return replace(finding, releases=tuple(releases), message=message)
