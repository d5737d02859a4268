"""Claims that hold devices for pods that are over. kube-controller-manager releases them (kubernetes
pkg/controller/resourceclaim, syncClaim); kubernetes/kubernetes#132334 is about claims that it left."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.explain import Explainer, Explanation, find_subjects
from tests.explain.cluster import (
    allocation,
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)

GPU = device_class("gpu", "device.driver == 'gpu.example.com'")
CLUSTER = (GPU, node("node-1"), slice_of("gpu.example.com", "node-1", device("gpu-0")))
WAITING = (claim("c", request("r", "gpu")), pod("p", {"name": "g", "resourceClaimName": "c"}))
OLD = {"name": "g", "resourceClaimName": "old"}


def explain(*objects: dict[str, Any]) -> Explanation:
    state = state_of(*CLUSTER, *WAITING, *objects)
    (question,) = find_subjects(state, "pod/p", None)
    return Explainer(state, Features.for_release("1.37")).explain(question)


def claim_of_old_pod(**metadata: Any) -> dict[str, Any]:
    status = allocation("node-1", ("gpu.example.com", "gpu-0"), pod="old")
    return claim("old", request("r", "gpu"), status=status, metadata=metadata)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_claim_of_an_ended_pod_is_released_by_the_controller(phase: str) -> None:
    over = pod("old", OLD, spec={"nodeName": "node-1"}, status={"phase": phase})
    answer = explain(claim_of_old_pod(), over)
    assert answer.headline.startswith(
        "claim ml/old still holds devices for pod ml/old, which has ended"
    )
    (fix,) = answer.fixes
    assert "wait until kube-controller-manager releases claim ml/old" in fix.title
    assert fix.changes == ()  # neither deleting the pod nor deleting the claim frees the device
    assert any("lease kube-controller-manager" in step.command for step in answer.next)


def test_a_deleted_claim_whose_pod_is_gone_waits_for_the_controller() -> None:
    answer = explain(
        claim_of_old_pod(
            deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["resource.kubernetes.io/x"]
        )
    )
    assert answer.headline.startswith("claim ml/old still holds devices")


def test_pod_absent_from_the_input_may_run() -> None:
    answer = explain(claim_of_old_pod())
    assert "kube-controller-manager" not in answer.headline


def test_running_pod_holds_its_devices_rightly() -> None:
    answer = explain(
        claim_of_old_pod(),
        pod("old", OLD, spec={"nodeName": "node-1"}, status={"phase": "Running"}),
    )
    assert "kube-controller-manager" not in answer.headline
    assert answer.fixes[0].title.startswith("delete pod ml/old")
