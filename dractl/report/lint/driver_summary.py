"""The checks of a driver as a table, for the README of its project."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from dractl import __version__
from dractl.driver_checks.installation import find_workloads
from dractl.driver_checks.judgement import Subject
from dractl.lint.finding import Finding, Report
from dractl.report.markdown import escape
from dractl.report.plain import plural


class Area(Struct, frozen=True):
    """A row of the table: the subject of the checks, and the codes of its rules."""

    title: str
    ranges: tuple[range, ...]

    def holds(self, code: str) -> bool:
        """Return True for a code of the area."""
        return any(int(code.removeprefix("DRA")) in numbers for numbers in self.ranges)


_PUBLICATION = (
    Area("API server's rules and limits", (range(100), range(300, 350), range(800, 900))),
    Area("Pools and counters", (range(351, 356), range(359, 361))),
    Area(
        "Attributes and capacities",
        (range(356, 359), range(361, 380), range(700, 750), range(900, 1000)),
    ),
)
_HISTORY = Area("Stable over snapshots", (range(380, 390),))
_CLASSES = Area(
    "DeviceClasses", (range(100, 300), range(390, 391), range(600, 700), range(750, 760))
)
_INSTALLATION = Area("DaemonSet and rights", (range(391, 395),))
_OPERATION = Area("At work in a cluster", (range(395, 400),))


def render(report: Report, subject: Subject) -> str:
    """Return the table, and a list of the findings."""
    driver = escape(subject.publication.driver or "driver")
    snapshots = len(subject.publication.snapshots)
    devices = sum(
        sum(1 for _ in resource_slice.devices)
        for resource_slice in (subject.publication.snapshots[-1].slices if snapshots else ())
    )
    lines = [
        f"### DRA driver check: {driver}",
        "",
        ", ".join(
            (
                plural(devices, "device"),
                plural(snapshots, "snapshot"),
                f"Kubernetes {report.kubernetes_version}",
                f"dractl {__version__}",
            )
        ),
        "",
        "| checked | result |",
        "|---|---|",
        *_rows(report.findings, subject),
    ]
    if report.findings:
        lines += ["", *(_describe(finding) for finding in report.findings)]
    return "\n".join(lines)


def _rows(findings: Sequence[Finding], subject: Subject) -> Iterator[str]:
    snapshots = subject.publication.snapshots
    driver = subject.publication.driver
    has_plugin = any(
        objects is not None and find_workloads(objects, driver).daemon_sets
        for objects in (subject.installation, subject.cluster)
    )
    for area, is_checked in (
        *((area, bool(snapshots)) for area in _PUBLICATION),
        (_HISTORY, len(snapshots) > 1),
        (_CLASSES, bool(subject.beside)),
        (_INSTALLATION, has_plugin),
        (_OPERATION, subject.cluster is not None),
    ):
        findings_of_area = [finding for finding in findings if area.holds(finding.code)]
        yield f"| {area.title} | {_result(findings_of_area) if is_checked else 'not checked'} |"


def _result(findings: Sequence[Finding]) -> str:
    """Return ``passed``, or the number of findings of each severity."""
    counts = [
        plural(count, noun)
        for severity, noun in (("error", "error"), ("warning", "warning"), ("info", "note"))
        if (count := sum(finding.severity == severity for finding in findings))
    ]
    return ", ".join(counts) or "passed"


def _describe(finding: Finding) -> str:
    return f"- {finding.severity} {finding.code}: {escape(finding.message)}"
