"""Pods on their node whose devices do not reach them. Each message is that of a report in a tracker of Kubernetes or of
the driver."""

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

DOMAINS = "compute-domain.nvidia.com"
USES = {"name": "g", "resourceClaimName": "c"}
CDI = "failed to create containerd container: CDI device injection failed: unresolvable CDI devices k8s.gpu/gpu=0"


def explain(
    *objects: dict[str, Any], driver: str = "gpu.example.com", **status: Any
) -> Explanation:
    given = allocation("node-1", (driver, "gpu-0"), pod="p")
    state = state_of(
        device_class("gpu", f"device.driver == '{driver}'"),
        node("node-1"),
        slice_of(driver, "node-1", device("gpu-0")),
        claim("c", request("r", "gpu"), status=given, metadata={"uid": "c"}),
        pod(
            "p",
            USES,
            metadata={"uid": "p"},
            spec={"nodeName": "node-1"},
            status={"phase": "Pending", **status},
        ),
        *objects,
    )
    (question,) = find_subjects(state, "pod/p", None)
    return Explainer(state, Features.for_release("1.37")).explain(question)


def event(message: str) -> dict[str, Any]:
    about = {"kind": "Pod", "name": "p", "namespace": "ml", "uid": "p"}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "involvedObject": about,
        "reason": "FailedPrepareDynamicResources",
        "message": f"Failed to prepare dynamic resources: prepare dynamic resources: {message}",
    }


def test_unregistered_driver_is_the_one_to_look_at() -> None:
    answer = explain(event(f"DRA driver {DOMAINS} is not registered"), driver=DOMAINS)
    assert answer.headline.endswith(
        f"cannot prepare its devices: DRA driver {DOMAINS} is not registered"
    )
    assert f"driver {DOMAINS} runs on node-1" in answer.next[0].text


def test_unready_compute_domain_is_no_fault_of_the_driver() -> None:
    said = "error applying config: error asserting ComputeDomain Ready: current node not ready in ComputeDomain"
    answer = explain(event(said), driver=DOMAINS)
    assert said in answer.headline
    assert answer.next[0].command == "kubectl get computedomains -n ml -o yaml"
    assert "spec.nodeName=node-1" in answer.next[1].command
    assert not any("restart" in step.text for step in answer.next)


ENDED = {"exitCode": 0, "reason": "Completed", "finishedAt": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_devices_forgotten_by_the_runtime_need_a_new_pod(phase: str) -> None:
    """kubernetes/kubernetes#141433: after a reboot the driver did not write its CDI files again."""
    waits = {
        "name": "main",
        "state": {"waiting": {"reason": "CreateContainerError", "message": CDI}},
    }
    answer = explain(
        phase=phase,
        containerStatuses=[waits | {"lastState": {"terminated": ENDED}, "restartCount": 1}],
    )
    assert (answer.verdict, answer.reasons[0].code) == ("failing", "not-prepared")
    assert "unresolvable CDI devices" in answer.headline
    assert "no longer knows" in answer.headline
    assert answer.next[0].command == "kubectl delete pod p -n ml"


def test_never_started_container_has_lost_no_devices() -> None:
    """A new pod would fail the same way: seen on a node whose runtime reads CDI files elsewhere."""
    waits = {
        "name": "main",
        "state": {"waiting": {"reason": "CreateContainerError", "message": CDI}},
    }
    answer = explain(phase="Pending", containerStatuses=[waits])
    assert "never has" in answer.headline
    assert not any("delete" in step.command for step in answer.next)
    assert "discover --check" in answer.next[0].text


def test_crashing_container_has_its_devices() -> None:
    waits = {
        "name": "main",
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}},
    }
    answer = explain(phase="Running", containerStatuses=[waits])
    assert (answer.verdict, answer.reasons[0].code) == ("failing", "container-failed")


def test_a_pod_put_on_its_node_by_hand_is_not_the_drivers_business() -> None:
    state = state_of(
        device_class("gpu", "device.driver == 'gpu.example.com'"),
        node("node-1"),
        slice_of("gpu.example.com", "node-1", device("gpu-0")),
        claim("c", request("r", "gpu")),
        pod(
            "p",
            USES,
            metadata={"uid": "p"},
            spec={"nodeName": "node-1"},
            status={"phase": "Pending"},
        ),
        event("pod p is not allowed to use ResourceClaim c"),
    )
    (question,) = find_subjects(state, "pod/p", None)
    answer = Explainer(state, Features.for_release("1.37")).explain(question)
    assert "before claim" in answer.headline
    assert not any("driver" in step.text for step in answer.next)
