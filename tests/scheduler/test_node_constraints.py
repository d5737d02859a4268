"""Cordons, taints, node names and node affinity."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.model import Taint
from dractl.scheduler.rejection import LabelMismatch, NodeLabel, UntoleratedTaint
from tests.explain.cluster import node, pod
from tests.scheduler.filtering import reject, with_node_terms


def test_a_cordoned_node_needs_a_toleration() -> None:
    rejection = reject(pod("a"), node("node-1", unschedulable=True))
    assert rejection is not None
    assert (rejection.plugin, rejection.texts) == (
        "NodeUnschedulable",
        ("node(s) were unschedulable",),
    )
    tolerating = pod("a", spec={"tolerations": [{"operator": "Exists"}]})
    assert reject(tolerating, node("node-1", unschedulable=True)) is None


@pytest.mark.parametrize(
    ("toleration", "refused"),
    [
        ({"key": "dedicated", "operator": "Exists"}, False),
        ({"key": "dedicated", "value": "gpu"}, False),
        ({"key": "dedicated", "value": "cpu"}, True),
        ({"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}, True),
    ],
)
def test_a_taint_needs_a_matching_toleration(toleration: dict[str, str], refused: bool) -> None:
    tainted = node("node-1", taints=[{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}])
    rejection = reject(pod("a", spec={"tolerations": [toleration]}), tainted)
    assert (rejection is not None) == refused
    if rejection is not None:
        assert rejection.texts == ("node(s) had untolerated taint(s)",)
        assert rejection.unmet == (UntoleratedTaint(Taint("dedicated", "gpu", "NoSchedule")),)


def test_a_prefer_no_schedule_taint_rejects_no_pod() -> None:
    assert (
        reject(pod("a"), node("node-1", taints=[{"key": "k", "effect": "PreferNoSchedule"}]))
        is None
    )


def test_a_rejection_by_node_selector_names_the_label() -> None:
    rejection = reject(
        pod("a", spec={"nodeSelector": {"zone": "a"}}), node("node-1", labels={"zone": "b"})
    )
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't match Pod's node affinity/selector",)
    assert rejection.unmet == (LabelMismatch("zone", "a"),)
    assert rejection.labels == (NodeLabel("zone", "b"),)


@pytest.mark.parametrize(
    ("operator", "values", "matches"),
    [
        ("In", ["a"], True),
        ("NotIn", ["a"], False),
        ("Exists", [], True),
        ("DoesNotExist", [], False),
        ("Gt", ["3"], False),
    ],
)
def test_node_affinity_compares_labels_by_operator(
    operator: str, values: list[str], matches: bool
) -> None:
    expression = {"key": "zone", "operator": operator, "values": values}
    subject = with_node_terms({"matchExpressions": [expression]})
    rejection = reject(subject, node("node-1", labels={"zone": "a"}))
    assert (rejection is None) == matches


def test_node_affinity_to_a_name_rejects_all_other_nodes() -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["node-2"]}
    subject = with_node_terms({"matchFields": [field]})
    rejection = reject(subject, node("node-1", unschedulable=True))
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't satisfy plugin(s) [NodeAffinity]",)
    assert reject(subject, node("node-2")) is None


def requiring(operator: str, *values: str) -> dict[str, Any]:
    """Return a pod that requires a value of label k."""
    expression = {"key": "k", "operator": operator, "values": list(values)}
    return with_node_terms({"matchExpressions": [expression]})


@pytest.mark.parametrize("label", ["1_0", " 10 ", "10 ", "٣", str(1 << 63), "9" * 5000])
def test_gt_compares_only_integers_of_go(label: str) -> None:
    """strconv.ParseInt in apimachinery/pkg/labels/selector.go takes neither underscores, nor
    blanks, nor other digits, nor numbers beyond 64 bits.
    """
    assert reject(requiring("Gt", "5"), node("node-1", labels={"k": label})) is not None
    assert reject(requiring("Lt", "5"), node("node-1", labels={"k": label})) is not None


@pytest.mark.parametrize("label", ["10", "+10", "0010", "0" * 40 + "10"])
def test_gt_takes_signs_and_leading_zeros(label: str) -> None:
    assert reject(requiring("Gt", "5"), node("node-1", labels={"k": label})) is None


def test_in_without_values_matches_nothing() -> None:
    """component-helpers nodeaffinity.go: a term that cannot be parsed matches no node."""
    assert reject(requiring("In"), node("node-1", labels={"k": "v"})) is not None
    subject = with_node_terms(
        {"matchExpressions": [{"key": "k", "operator": "In", "values": []}]},
        {"matchExpressions": [{"key": "k", "operator": "Exists"}]},
    )
    assert reject(subject, node("node-1", labels={"k": "v"})) is None
