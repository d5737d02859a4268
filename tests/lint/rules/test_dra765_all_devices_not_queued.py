"""DRA765 all-devices-not-queued."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, template

if TYPE_CHECKING:
    from dractl.lint import Finding

WHOLE = template(claim("gpu gpu.example.org {allocationMode: All}"))
ADMIN = template(claim("gpu gpu.example.org {allocationMode: All, adminAccess: true}"))


def find(text: str, *consumers: str) -> list[Finding]:
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers)
    )
    return [finding for finding in report.findings if finding.code.startswith("DRA76")]


def test_only_where_a_consumer_is_named() -> None:
    assert find(WHOLE) == []


def test_kueue_counts_templates_only() -> None:
    assert [finding.code for finding in find(WHOLE, "kueue")] == ["DRA765"]
    assert find(claim("gpu gpu.example.org {allocationMode: All}"), "kueue") == []
    assert find(ADMIN, "kueue") == []
