"""DRA768 slice-without-node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import marked, published

if TYPE_CHECKING:
    from dractl.lint import Finding


def find(text: str, *consumers: str) -> list[Finding]:
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers)
    )
    return [finding for finding in report.findings if finding.code == "DRA768"]


def test_devices_of_all_nodes() -> None:
    (finding,) = find(published("", "gpu-0"), "cluster-autoscaler")
    assert (finding.severity, marked(finding)) == ("warning", "allNodes")


def test_devices_of_nodes_by_selector() -> None:
    terms = "nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Exists}]}]}"
    (finding,) = find(published("", "gpu-0").replace("allNodes: true", terms), "cluster-autoscaler")
    assert marked(finding) == "nodeSelector"


def test_devices_of_one_node_and_other_consumers() -> None:
    assert find(published("node-1", "gpu-0"), "cluster-autoscaler") == []
    assert find(published("", "gpu-0"), "karpenter") == []


def test_slice_of_counters_alone_is_fine() -> None:
    """Counters alone (1.36 on): there are no devices in it."""
    counters = "sharedCounters: [{name: a, counters: {b: {value: 1}}}]"
    assert (
        find(published("", "gpu-0").replace("allNodes: true", counters), "cluster-autoscaler") == []
    )
