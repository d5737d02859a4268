"""DRA766 daemon-set-shares-claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, documents, marked, pod

if TYPE_CHECKING:
    from dractl.lint import Finding


def find(text: str, *consumers: str) -> list[Finding]:
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers)
    )
    return [finding for finding in report.findings if finding.code == "DRA766"]


SHARED = pod("gpu=gpus", kind="DaemonSet")


def test_a_daemon_set_whose_pods_share_a_claim() -> None:
    (finding,) = find(documents(SHARED, claim("gpu gpu.example.org")), "cluster-autoscaler")
    assert (finding.severity, marked(finding)) == ("warning", "gpus")


def test_admin_access_to_all_devices_is_fine_for_monitors() -> None:
    monitoring = claim("gpu gpu.example.org {allocationMode: All, adminAccess: true}")
    assert find(documents(SHARED, monitoring), "cluster-autoscaler") == []
    assert (
        len(find(documents(SHARED, claim("a x {adminAccess: true}\nb x")), "cluster-autoscaler"))
        == 1
    )


def test_a_claim_for_each_pod_and_other_workloads() -> None:
    assert find(pod("gpu:gpus", kind="DaemonSet"), "cluster-autoscaler") == []
    assert find(pod("gpu=gpus", kind="Deployment"), "cluster-autoscaler") == []
    assert find(SHARED, "karpenter") == []
