"""Pods that ran and do not get their devices back, as after a reboot.

The statuses, the events and the effect of the steps were seen on a real node: kubelet 1.37.1, containerd 2.2.9 and
gpu.example.com v0.4.0. All containers were ended, /var/run/cdi was emptied, and the driver and the kubelet were started
again. Deleting the pod helped where a template makes its claim, and for single users of a named claim: a pod of its own,
of a StatefulSet, a DaemonSet or a Job. The new pod of a Deployment with a named claim had the same failure, until the
Deployment was scaled to 0 and back.
"""

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.cluster.state import ClusterState
from dractl.explain import Explainer, find_subjects
from dractl.explain.answer import Explanation
from dractl.explain.ask import find_all_waiting
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

DRIVER = "gpu.example.com"
LOST = (
    "failed to create containerd container: CDI device injection failed: unresolvable CDI devices"
    f" k8s.{DRIVER}/gpu=fd89aa61-gpu-0"
)
ENDED = {"exitCode": 137, "reason": "Error", "startedAt": "2026-01-01T00:00:05Z"}
BACK_OFF = "back-off 2m40s restarting failed container=main pod=p_ml(e485fbad)"
REMEMBERS = "Failed to prepare dynamic resources: NodePrepareResources failed for ResourceClaim c: "


def lost_pod(name: str = "p", *, reason: str = "CrashLoopBackOff", **more: Any) -> dict[str, Any]:
    """Return a pod whose container ended at 0:01, and has not started since."""
    waiting = {"reason": reason, "message": BACK_OFF if reason == "CrashLoopBackOff" else LOST}
    status = {
        "name": "main",
        "ready": False,
        "restartCount": 0,
        "containerID": "containerd://1",
        "state": {"waiting": waiting},
        "lastState": {"terminated": {**ENDED, "finishedAt": "2026-01-01T00:01:00Z"}},
    }
    metadata = {
        "uid": name,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        **more.pop("metadata", {}),
    }
    containers = [{"name": "main", "image": "x", "resources": {"claims": [{"name": "c"}]}}]
    return pod(
        name,
        more.pop("entry", {"name": "c", "resourceClaimName": "c"}),
        metadata=metadata,
        spec={"nodeName": "node-1", "containers": containers},
        status={
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "False"}],
            "containerStatuses": [status],
            **more,
        },
    )


def failed(when: str, message: str = f"Error: {LOST}", container: str = "main") -> dict[str, Any]:
    is_start = message.startswith("Error: ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": {
            "kind": "Pod",
            "name": "p",
            "namespace": "ml",
            "uid": "p",
            **({"fieldPath": f"spec.containers{{{container}}}"} if is_start else {}),
        },
        "reason": "Failed" if is_start else "FailedPrepareDynamicResources",
        "message": message,
        "lastTimestamp": when,
    }


def owned_by(kind: str, name: str) -> dict[str, Any]:
    return {
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": name, "controller": True}
        ],
        "labels": {"pod-template-hash": "1"} if kind == "ReplicaSet" else {},
    }


def cluster(*objects: dict[str, Any], users: tuple[str, ...] = ("p",)) -> ClusterState:
    held = claim(
        "c",
        request("r", "gpu"),
        status=allocation("node-1", (DRIVER, "gpu-0"), pod="p"),
        metadata={"uid": "c"},
    )
    held["status"]["reservedFor"] = [
        {"resource": "pods", "name": name, "uid": name} for name in users
    ]
    return state_of(
        device_class("gpu", f"device.driver == '{DRIVER}'"),
        node("node-1"),
        slice_of(DRIVER, "node-1", device("gpu-0")),
        held,
        *objects,
    )


def explain(state: ClusterState) -> Explanation:
    return Explainer(state, Features.for_release("1.37")).explain(
        find_subjects(state, "pod/p", "ml")[0]
    )


def commands(state: ClusterState) -> list[str]:
    return [step.command for step in explain(state).next if "kubectl" in step.command]


@pytest.mark.parametrize("reason", ["CrashLoopBackOff", "CreateContainerError"])
def test_back_off_does_not_hide_that_the_runtime_lost_the_devices(reason: str) -> None:
    """The same pod shows both reasons in turn; kubectl shows CrashLoopBackOff for most of the time."""
    answer = explain(cluster(lost_pod(reason=reason), failed("2026-01-01T00:05:00Z")))
    assert (answer.verdict, answer.reasons[0].code) == ("failing", "not-prepared")
    assert reason in answer.reasons[0].message
    assert LOST in answer.reasons[0].message


@pytest.mark.parametrize(
    "event",
    [
        failed("2026-01-01T00:00:30Z"),
        failed("2026-01-01T00:05:00Z", container="sidecar"),
        failed("2026-01-01T00:05:00Z", "Error: context deadline exceeded"),
    ],
    ids=["before the container ran", "of another container", "of another kind"],
)
def test_other_failures_are_not_taken_for_lost_devices(event: dict[str, Any]) -> None:
    state = cluster(lost_pod(), event)
    assert explain(state).reasons[0].code in ("container-failed", "not-started")
    assert find_all_waiting(state, None) == []


def test_a_failed_start_behind_back_off_is_quoted() -> None:
    event = failed("2026-01-01T00:05:00Z", "Error: context deadline exceeded")
    answer = explain(cluster(lost_pod(), event))
    assert answer.reasons[0].code == "not-started"
    assert "CrashLoopBackOff (context deadline exceeded)" in answer.reasons[0].message


@pytest.mark.parametrize(
    "event",
    [failed("2026-01-01T00:05:00Z"), failed("2026-01-01T00:05:00Z", f"{REMEMBERS}is known")],
    ids=["runtime", "driver"],
)
def test_a_pod_that_lost_its_devices_is_in_the_list(event: dict[str, Any]) -> None:
    """Its phase is Running, which says only that a container has run (kubernetes
    pkg/kubelet/kubelet_pods.go getPhase).
    """
    state = cluster(lost_pod(), event)
    assert [question.key for question in find_all_waiting(state, None)] == [("ml", "p")]
    assert find_all_waiting(state, "other") == []


def test_a_pod_that_runs_is_not_in_the_list() -> None:
    ready = [{"type": "Ready", "status": "True"}]
    state = cluster(lost_pod(conditions=ready), failed("2026-01-01T00:05:00Z"))
    assert find_all_waiting(state, None) == []


def test_a_deployment_replaces_its_pod_too_early_for_a_named_claim() -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {"replicas": 3, "template": {"spec": {"containers": []}}},
    }
    lost = lost_pod(metadata=owned_by("ReplicaSet", "web-1"))
    state = cluster(lost, deployment, failed("2026-01-01T00:05:00Z"))
    assert commands(state)[:2] == [
        "kubectl scale deployment/web -n ml --replicas=0",
        "kubectl scale deployment/web -n ml --replicas=3",
    ]


def test_other_pods_of_the_claim_have_to_end_as_well() -> None:
    lost = lost_pod(metadata=owned_by("ReplicaSet", "web-1"))
    more = (lost_pod("q"), failed("2026-01-01T00:05:00Z"))
    assert commands(cluster(lost, *more, users=("p", "q")))[:3] == [
        "kubectl scale deployment/web -n ml --replicas=0",
        "kubectl delete pod q -n ml",
        "kubectl scale deployment/web -n ml --replicas=1",
    ]
    alone = cluster(lost_pod(), *more, users=("p", "q"))
    assert commands(alone)[0] == "kubectl delete pod p q -n ml"


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet", "Job", ""])
def test_other_controllers_wait_until_the_pod_has_ended(kind: str) -> None:
    metadata = owned_by(kind, "web") if kind else {}
    state = cluster(lost_pod(metadata=metadata), failed("2026-01-01T00:05:00Z"))
    assert commands(state)[0] == "kubectl delete pod p -n ml"


def test_a_claim_from_a_template_ends_with_its_pod() -> None:
    entry = {"name": "c", "resourceClaimTemplateName": "t"}
    statuses = [{"name": "c", "resourceClaimName": "c"}]
    lost = lost_pod(
        entry=entry, metadata=owned_by("ReplicaSet", "web-1"), resourceClaimStatuses=statuses
    )
    state = cluster(lost, failed("2026-01-01T00:05:00Z"))
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True}
    held = dict(state.claims[("ml", "c")].raw)
    held["metadata"] = {**held["metadata"], "ownerReferences": [owner]}
    generated = cluster(lost, failed("2026-01-01T00:05:00Z"), held)
    assert commands(generated)[0] == "kubectl delete pod p -n ml"


@pytest.mark.parametrize(
    ("driver_event", "device_health"), [(f"{REMEMBERS}is known", False), ("", True)]
)
def test_every_step_that_recreates_a_pod_minds_the_claim(
    driver_event: str, device_health: bool
) -> None:
    """The claim of a Deployment's pod keeps its device, and stays prepared, for the next pod."""
    lost = lost_pod(metadata=owned_by("ReplicaSet", "web-1"))
    if device_health:
        sick = {"health": "Unhealthy", "message": "ECC", "resourceID": f"k8s.{DRIVER}/gpu=gpu-0"}
        lost["status"]["containerStatuses"][0]["allocatedResourcesStatus"] = [
            {"name": "claim:c", "resources": [sick]}
        ]
    event = failed("2026-01-01T00:05:00Z", driver_event or f"Error: {LOST}")
    steps = commands(cluster(lost, event))
    assert "kubectl scale deployment/web -n ml --replicas=0" in steps
    assert not [step for step in steps if step.startswith("kubectl delete pod p ")]
