"""DRA763 admin-access-not-provisioned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, template

if TYPE_CHECKING:
    from dractl.lint import Finding

ADMIN = template(claim("gpu gpu.example.org {allocationMode: All, adminAccess: true}"))


def find(text: str, *consumers: str) -> list[Finding]:
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers)
    )
    return [finding for finding in report.findings if finding.code.startswith("DRA76")]


def test_only_where_a_consumer_is_named() -> None:
    assert find(ADMIN) == []


def test_karpenter_ignores_admin_access() -> None:
    assert [finding.code for finding in find(ADMIN, "karpenter")] == ["DRA763"]
    assert find(ADMIN, "cluster-autoscaler") == []
