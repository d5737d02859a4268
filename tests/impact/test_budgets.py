"""PodDisruptionBudgets and pods that are not ready (pkg/registry/core/pod/storage/eviction.go)."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.impact.budgets import Budgets
from tests.explain.cluster import pod, state_of


def budget(healthy: int, desired: int, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "ml", "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, **spec},
        "status": {
            "disruptionsAllowed": 0,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "observedGeneration": 1,
        },
    }


@pytest.mark.parametrize(
    ("healthy", "desired", "spec", "is_evicted"),
    [
        (2, 2, {}, True),
        (1, 2, {}, False),
        (1, 0, {}, False),
        (1, 2, {"unhealthyPodEvictionPolicy": "AlwaysAllow"}, True),
    ],
)
def test_unready_pod_may_go_if_enough_others_are_ready(
    healthy: int, desired: int, spec: dict[str, Any], *, is_evicted: bool
) -> None:
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    unready = pod("p", metadata={"labels": {"app": "x"}}, status=status)
    state = state_of(unready, budget(healthy, desired, **spec))
    refusal = Budgets(state).find_refusal(state.pod(("ml", "p")))
    assert (refusal == "") == is_evicted
