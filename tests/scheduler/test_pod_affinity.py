"""Affinity and anti-affinity between pods."""

from __future__ import annotations

from tests.explain.cluster import node, pod
from tests.scheduler.filtering import REQUIRED, reject, running


def test_pod_anti_affinity_names_the_pod() -> None:
    term = {
        "labelSelector": {"matchLabels": {"app": "train"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    wish = {"affinity": {"podAntiAffinity": {REQUIRED: [term]}}}
    subject = pod("a", spec=wish, metadata={"labels": {"app": "train"}})
    other = running("b", "node-1", metadata={"labels": {"app": "train"}})
    rejection = reject(subject, node("node-1"), other)
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't match pod anti-affinity rules",)
    assert rejection.pods == ("ml/b",)


def test_pod_affinity_needs_one_pod_for_all_terms() -> None:
    terms = [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "x"}}},
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"tier": "1"}}},
    ]
    subject = pod("a", spec={"affinity": {"podAffinity": {REQUIRED: terms}}})
    x, one = (
        running(n, "node-1", metadata={"labels": labels})
        for n, labels in (("b", {"app": "x"}), ("c", {"tier": "1"}))
    )
    rejection = reject(subject, node("node-1"), x, one)
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't match pod affinity rules",)
    assert rejection.unresolvable  # filtering.go: UnschedulableAndUnresolvable
    both = running("d", "node-1", metadata={"labels": {"app": "x", "tier": "1"}})
    assert reject(subject, node("node-1"), both) is None
