"""The merger of findings with one cause in many devices, for reports that people read.

Reports for programs keep each finding.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Final

from msgspec.structs import replace

from dractl.lint.finding import Finding, Report

MAX_SEPARATE: Final = 2
"""The number of findings with one cause that are shown one by one, since a reader can visit only so
many places.
"""
_DEVICE = r"\bspec\.devices\[\d+\]"


def merge_alike(report: Report) -> Report:
    """Merge the findings of one cause in more than :data:`MAX_SEPARATE` devices of a file into one
    finding that counts the devices.
    """
    groups: dict[Hashable, list[Finding]] = {}
    for finding in report.findings:
        groups.setdefault(_key(finding), []).append(finding)
    merged: list[Finding] = []
    for finding in report.findings:
        group = groups[_key(finding)]
        if len(group) <= MAX_SEPARATE:
            merged.append(finding)
        elif finding is group[0]:
            merged.append(_count(group))
    return replace(report, findings=tuple(merged))


def _key(finding: Finding) -> Hashable:
    """Return a key that findings of one cause have in common; a finding that is not in a device has
    a key of its own.
    """
    path = re.sub(_DEVICE, "spec.devices[]", finding.path)
    if path == finding.path:
        return id(finding)
    message = re.sub(_DEVICE, "spec.devices[]", finding.message.partition("; ")[0])
    place = finding.position.file, finding.object.kind
    return finding.code, finding.severity, finding.confidence, place, path, message


def _count(group: Sequence[Finding]) -> Finding:
    """Return the first finding with the number of devices and the longest message of the group,
    since only some messages state the cause.
    """
    longest = max(group, key=lambda finding: len(finding.message))
    return replace(
        group[0],
        message=f"{_with_place(group[0], longest.message)} (so in {len(group):,} devices)",
        help=group[0].help or longest.help,
    )


def _with_place(first: Finding, message: str) -> str:
    """Return the message, in which the path of the first device replaces the path of another
    device.
    """
    device = re.search(_DEVICE, first.path)
    return re.sub(_DEVICE, device[0], message) if device is not None else message
