"""Topology spread constraints, as a real scheduler applied them to random clusters."""

from __future__ import annotations

from typing import Any

from tests.explain.cluster import node, pod
from tests.scheduler.filtering import LABELLED, reject, running


def spread(key: str, **more: Any) -> dict[str, Any]:
    """Return a constraint on pods with app=x."""
    return {
        "topologyKey": key,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "x"}},
        **more,
    }


def spreading(*constraints: dict[str, Any]) -> dict[str, Any]:
    """Return a pod with spread constraints."""
    return pod("a", metadata=LABELLED, spec={"topologySpreadConstraints": list(constraints)})


def test_a_spread_constraint_limits_the_skew() -> None:
    subject = spreading(spread("zone"))
    first, second = node("node-1", labels={"zone": "a"}), node("node-2", labels={"zone": "b"})
    other = running("b", "node-1", metadata=LABELLED)
    rejection = reject(subject, first, second, other)
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't match pod topology spread constraints",)
    assert reject(subject, second, first, other) is None


def test_fewer_domains_than_min_domains_set_the_minimum_to_zero() -> None:
    target = node("node-1", labels={"zone": "a"})
    there = running("b", "node-1", metadata=LABELLED)
    assert reject(spreading(spread("zone")), target, there) is None
    rejection = reject(spreading(spread("zone", minDomains=2)), target, there)
    assert rejection is not None
    assert rejection.texts == ("node(s) didn't match pod topology spread constraints",)


def test_spread_counts_only_nodes_with_all_keys_and_tolerated_taints() -> None:
    target, there = (
        node("node-1", labels={"zone": "a", "rack": "1"}),
        running("b", "node-1", metadata=LABELLED),
    )
    empty = node("node-2", labels={"zone": "b"})
    assert reject(spreading(spread("zone")), target, there, empty) is not None
    assert reject(spreading(spread("zone"), spread("rack")), target, there, empty) is None
    tainted = node("node-2", labels={"zone": "b"}, taints=[{"key": "k", "effect": "NoSchedule"}])
    assert reject(spreading(spread("zone")), target, there, tainted) is not None
    assert (
        reject(spreading(spread("zone", nodeTaintsPolicy="Honor")), target, there, tainted) is None
    )


def test_spread_without_a_selector_counts_no_pod() -> None:
    constraint = {k: v for k, v in spread("zone").items() if k != "labelSelector"}
    target, there = node("node-1", labels={"zone": "a"}), running("b", "node-1", metadata=LABELLED)
    assert (
        reject(spreading(constraint), target, there, node("node-2", labels={"zone": "b"})) is None
    )
