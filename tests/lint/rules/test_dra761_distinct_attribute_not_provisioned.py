"""DRA761 distinct-attribute-not-provisioned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, marked

if TYPE_CHECKING:
    from dractl.lint import Finding


def find(text: str, *consumers: str) -> list[Finding]:
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers)
    )
    return [finding for finding in report.findings if finding.code == "DRA761"]


DISTINCT = claim(
    "gpu gpu.example.org {count: 2}", "constraints: [{distinctAttribute: gpu.example.org/root}]"
)


def test_karpenter_launches_nothing_for_distinct_attributes() -> None:
    (finding,) = find(DISTINCT, "karpenter")
    assert (finding.severity, marked(finding)) == ("warning", "distinctAttribute")


def test_others_and_match_attribute() -> None:
    assert find(DISTINCT, "cluster-autoscaler", "kueue") == []
    assert find(DISTINCT.replace("distinctAttribute", "matchAttribute"), "karpenter") == []
