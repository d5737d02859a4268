"""Clusters in which a plan of a known size is planted: it is found, or a smaller one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dractl.cluster.state import ClusterState
from dractl.planning import Plan, PlanOptions, find_plan, subject_of_pods
from tests.explain.cluster import state_of
from tests.planning.cluster import FEATURES

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
import planning as planted_clusters


@pytest.mark.parametrize("seed", range(6))
def test_no_more_pods_move_than_planted(seed: int) -> None:
    dump, moves = planted_clusters.plant_plan(20, seed)
    state = state_of(*dump["items"])
    subject = subject_of_pods(state, "wanted", [("ml", "wanted")])
    plan = find_plan(subject, FEATURES, PlanOptions())
    assert plan.verdict == "plan"
    assert plan.moved <= moves
    assert_devices_are_held_once(state, plan)


@pytest.mark.conformance
def test_the_planted_size_is_found_in_95_of_100_clusters() -> None:
    """50 nodes of 8 GPUs, about 200 pods, two or three moves planted; a smaller plan counts, too."""
    successes = 0
    for seed in range(100):
        dump, moves = planted_clusters.plant_plan(50, seed)
        state = state_of(*dump["items"])
        subject = subject_of_pods(state, "wanted", [("ml", "wanted")])
        plan = find_plan(subject, FEATURES, PlanOptions())
        successes += plan.verdict == "plan" and plan.moved <= moves
    assert successes >= 95


def assert_devices_are_held_once(before: ClusterState, plan: Plan) -> None:
    """Every pod of the dump runs in the end, and no device has two holders."""
    devices = [d.id for claim in plan.after.claims.values() for d in claim.allocated_devices]
    assert len(devices) == len(set(devices))
    running = sum(bool(pod.node_name) for pod in plan.after.pods.values())
    assert running == len(before.pods)
