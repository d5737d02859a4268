"""Pods that do not move, each with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.planning.movable import find_movable_pods, list_idle_budgets
from tests.explain.cluster import claim, state_of
from tests.planning.cluster import machine, objects, running


def find_reason(*parts: Any, name: str = "x") -> str:
    """Return why a pod does not move; "" if it may."""
    state = state_of(*objects(machine("a", 4), *parts))
    return find_movable_pods(state, 0).kept.get(("ml", name), "")


def budget(name: str = "keep", selector: Any = None, **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "ml", "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": "x"}} if selector is None else selector},
        "status": {"observedGeneration": 1, "disruptionsAllowed": 0, **status},
    }


LABELS = {"labels": {"app": "x"}}


@pytest.mark.parametrize(
    ("owner", "metadata", "spec", "reason"),
    [
        ("ReplicaSet/x", {}, {}, ""),
        ("", {}, {}, "it has no controller"),
        ("DaemonSet/x", {}, {}, "DaemonSet x recreates it on the same node"),
        ("Node/a", {}, {}, "static pod"),
        ("Job/x", {}, {"schedulerName": "volcano"}, "scheduler volcano"),
        ("Job/x", {}, {"priority": 1}, "its priority 1 is higher than 0"),
        ("Job/x", {"deletionTimestamp": "2026-01-01T00:00:00Z"}, {}, "Terminating"),
        ("Job/x", {"finalizers": ["example.com/wait"]}, {}, "finalizer example.com/wait"),
        ("Job/x", {"finalizers": ["batch.kubernetes.io/job-tracking"]}, {}, ""),
    ],
)
def test_reasons_in_the_pod(
    owner: str, metadata: dict[str, Any], spec: dict[str, Any], reason: str
) -> None:
    found = find_reason(running("x", owner, "a", 0, metadata=metadata, **spec))
    assert found.startswith(reason) if not reason else reason in found
    assert bool(found) is bool(reason)


@pytest.mark.parametrize(
    ("annotation", "value", "stays"),
    [
        ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false", True),
        ("cluster-autoscaler.kubernetes.io/safe-to-evict", "true", False),
        ("karpenter.sh/do-not-disrupt", "true", True),
        ("karpenter.sh/do-not-disrupt", "false", False),
    ],
)
def test_annotations(annotation: str, value: str, stays: bool) -> None:
    metadata = {"annotations": {annotation: value}}
    found = find_reason(running("x", "ReplicaSet/x", "a", 0, metadata=metadata))
    assert (annotation in found) is stays


@pytest.mark.parametrize(
    ("budgets", "reason"),
    [
        ([budget()], "PodDisruptionBudget keep allows no disruption"),
        ([budget(selector={})], "PodDisruptionBudget keep allows no disruption"),
        ([budget(disruptionsAllowed=1)], ""),
        ([budget(disruptionsAllowed=1, observedGeneration=0)], "has no status for its spec yet"),
        ([budget(selector={"matchLabels": {"app": "y"}})], ""),
        (
            [budget("a", disruptionsAllowed=1), budget("b", disruptionsAllowed=1)],
            "refuses a pod with two",
        ),
    ],
)
def test_budgets(budgets: list[dict[str, Any]], reason: str) -> None:
    found = find_reason(running("x", "ReplicaSet/x", "a", 0, metadata=LABELS), *budgets)
    assert bool(found) is bool(reason)
    assert reason in found


def test_budget_without_pods_is_named() -> None:
    state = state_of(
        *objects(running("x", "ReplicaSet/x", "a", 0, metadata=LABELS)),
        budget(),
        budget("idle", {"matchLabels": {"app": "gone"}}),
    )
    assert list_idle_budgets(state) == ["ml/idle"]


def test_pods_sharing_a_claim_stay() -> None:
    shared = claim("both", metadata={}, status={"allocation": {"devices": {"results": []}}})
    entry = {"resourceClaims": [{"name": "gpus", "resourceClaimName": "both"}]}
    pods = [running(name, "ReplicaSet/x", "a", 0, **entry)[0] for name in ("x", "y")]
    for pod in pods:
        pod["status"].pop("resourceClaimStatuses")
    assert "shares claim both" in find_reason(*pods, shared)
    assert not find_reason(pods[0], shared)


def test_a_pod_without_its_claim_stays() -> None:
    pod, its_claim = running("x", "ReplicaSet/x", "a", 0)
    assert find_reason(pod) == "its claim x-gpus is not in the input"
    assert "not allocated" in find_reason(pod, {**its_claim, "status": {}})


def test_a_gang_stays_with_one_of_its_pods() -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "ring", "namespace": "ml"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    named = {"schedulingGroup": {"podGroupName": "ring"}}
    protected = {"annotations": {"karpenter.sh/do-not-disrupt": "true"}}
    found = find_reason(
        group,
        running("x", "StatefulSet/x", "a", 0, **named),
        running("y", "StatefulSet/x", "a", 1, metadata=protected, **named),
    )
    assert "it belongs to PodGroup/ml/ring" in found
