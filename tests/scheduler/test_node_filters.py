"""The filters before DRA, in kube-scheduler's order; messages are recorded ones."""

from __future__ import annotations

from typing import Any

from tests.explain.cluster import node, pod
from tests.scheduler.filtering import filters_of, reject


def test_a_plain_node_takes_a_plain_pod() -> None:
    assert reject(pod("a"), node("node-1")) is None


def test_fields_of_wrong_types_read_as_empty() -> None:
    odd = pod(
        "a",
        requests={"cpu": {"x": 1}},
        spec={"tolerations": "all", "affinity": [1], "nodeSelector": 3},
    )
    assert reject(odd, node("node-1", taints={"a": 1})) is None


def test_rejections_come_in_the_order_of_the_filters() -> None:
    subject = pod(
        "a", requests={"cpu": "9"}, spec={"nodeSelector": {"zone": "a"}, "nodeName": "other"}
    )
    target = node("node-1", unschedulable=True, taints=[{"key": "k", "effect": "NoSchedule"}])
    later = ["TaintToleration", "NodeAffinity", "NodeResourcesFit"]
    assert plugins(subject, target, "1.36") == ["NodeUnschedulable", "NodeName", *later]
    assert plugins(subject, target, "1.37") == ["NodeName", "NodeUnschedulable", *later]


def plugins(subject: dict[str, Any], target: dict[str, Any], release: str) -> list[str]:
    """Return the plugins that reject a node, in order."""
    filters = filters_of(subject, target, release=release)
    rejections = filters.rejections(filters.snapshot.nodes["node-1"])
    return [rejection.plugin for rejection in rejections]
