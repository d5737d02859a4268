"""One cause in many devices as one finding, for reports that people read. Programs get each of them."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import Final

from msgspec.structs import replace

from dractl.lint.finding import Finding, Report

MAX_APART: Final = 2
"""Findings that are shown one by one: so few are places to visit."""
_DEVICE = re.compile(r"\bspec\.devices\[\d+\]")


def merge_alike(report: Report) -> Report:
    """The report with one finding for each cause in more than :data:`MAX_APART` devices of a file, which counts them."""
    groups: dict[Hashable, list[Finding]] = {}
    for finding in report.findings:
        groups.setdefault(_key(finding), []).append(finding)
    merged: list[Finding] = []
    for finding in report.findings:
        group = groups[_key(finding)]
        if len(group) <= MAX_APART:
            merged.append(finding)
        elif finding is group[0]:
            merged.append(_count(group))
    return replace(report, findings=tuple(merged))


def _key(finding: Finding) -> Hashable:
    """What findings of one cause have alike; the place of one in anything but a device is its own."""
    path = _DEVICE.sub("spec.devices[]", finding.path)
    if path == finding.path:
        return id(finding)
    said = _DEVICE.sub("spec.devices[]", finding.message.partition("; ")[0])
    where = finding.position.file, finding.object.kind
    return finding.code, finding.severity, finding.confidence, where, path, said


def _count(group: Sequence[Finding]) -> Finding:
    """The first finding, with the number of devices; the longest message has the cause."""
    longest = max(group, key=lambda finding: len(finding.message))
    return replace(
        group[0],
        message=f"{_with_place(group[0], longest.message)} (so in {len(group):,} devices)",
        help=group[0].help or longest.help,
    )


def _with_place(first: Finding, message: str) -> str:
    """The message of another device as that of the first."""
    own = _DEVICE.search(first.path)
    return _DEVICE.sub(own[0], message) if own is not None else message
