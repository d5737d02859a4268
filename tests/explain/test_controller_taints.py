"""Nodes with taints that controllers set for a time: to tolerate them would put the pod on a node that goes away, or
that is not ready."""

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


def explain(*taints: str, **more: Any) -> Explanation:
    made = [dict(zip(("key", "effect"), taint.split(":"), strict=True)) for taint in taints]
    there = node("node-1", taints=made)
    there.setdefault("status", {}).update(more)
    state = state_of(
        device_class("gpu", "device.driver == 'gpu.example.com'"),
        there,
        slice_of("gpu.example.com", "node-1", device("gpu-0")),
        claim("c", request("r", "gpu")),
        pod("p", {"name": "g", "resourceClaimName": "c"}),
    )
    (question,) = find_subjects(state, "pod/p", None)
    return Explainer(state, Features.for_release("1.37")).explain(question)


@pytest.mark.parametrize(
    ("key", "who"),
    [
        ("ToBeDeletedByClusterAutoscaler", "Cluster Autoscaler"),
        ("karpenter.sh/disrupted", "Karpenter"),
        ("aws-node-termination-handler/spot-itn", "AWS Node Termination Handler"),
        ("cloud.google.com/impending-node-termination", "GKE"),
        ("node.cloudprovider.kubernetes.io/shutdown", "cloud-controller-manager"),
    ],
)
def test_leaving_node_is_not_made_to_fit(key: str, who: str) -> None:
    for taints in ([f"{key}:NoSchedule"], [f"{key}:NoSchedule", "team-a:NoSchedule"]):
        answer = explain(*taints)
        assert f"{who} is about to remove the node" in answer.headline
        assert answer.fixes == ()
        assert f"{who} is about to remove node-1" in answer.next[0].text


@pytest.mark.parametrize(
    ("key", "who"),
    [
        ("node.cloudprovider.kubernetes.io/uninitialized", "cloud-controller-manager"),
        ("karpenter.sh/unregistered", "Karpenter"),
        ("ebs.csi.aws.com/agent-not-ready", "the agent of ebs.csi.aws.com"),
    ],
)
def test_starting_node_is_waited_for(key: str, who: str) -> None:
    answer = explain(f"{key}:NoSchedule")
    assert f"{who} removes it when the node is ready" in answer.headline
    assert [fix.title.partition(":")[0] for fix in answer.fixes] == ["wait until node-1 is ready"]


def test_kubelet_of_an_unready_node_is_quoted() -> None:
    said = "container runtime network not ready: cni plugin not initialized"
    condition = {"type": "Ready", "status": "False", "reason": "KubeletNotReady", "message": said}
    (fix,) = explain("node.kubernetes.io/not-ready:NoSchedule", conditions=[condition]).fixes
    assert fix.title.startswith("wait until node-1 is back")
    assert said in fix.effect


def test_manual_taint_is_tolerated_or_removed() -> None:
    titles = [fix.title for fix in explain("nvidia.com/gpu:NoSchedule").fixes]
    assert titles[0] == "add a toleration for nvidia.com/gpu:NoSchedule to the pod"
    assert titles[1] == "remove taint nvidia.com/gpu:NoSchedule from node-1"


def test_nodes_of_another_team_are_offered_after_changes_of_the_claim() -> None:
    """A toleration alone does not mean that the pod may use the nodes."""
    gpu = "gpu.example.com"
    taint = {"key": "team", "value": "research", "effect": "NoSchedule"}
    taken = claim("t", request("r", "gpu"), status=allocation("node-2", (gpu, "gpu-0"), pod="x"))
    two = [device("gpu-0"), device("gpu-1")]
    state = state_of(
        device_class("gpu", f"device.driver == '{gpu}'"),
        *(node("node-1", taints=[taint]), slice_of(gpu, "node-1", *two)),
        *(node("node-2"), slice_of(gpu, "node-2", *two)),
        *(taken, pod("x", {"name": "g", "resourceClaimName": "t"}, spec={"nodeName": "node-2"})),
        *(claim("c", request("r", "gpu", 2)), pod("p", {"name": "g", "resourceClaimName": "c"})),
    )
    (question,) = find_subjects(state, "pod/p", "ml")
    fixes = Explainer(state, Features.for_release("1.37")).explain(question).fixes
    assert fixes[0].title == "lower count of request r from 2 to 1"
    (toleration,) = (fix for fix in fixes if "toleration" in fix.title)
    assert toleration.effect == "if you may use the nodes of team=research"
