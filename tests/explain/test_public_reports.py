"""Stuck pods of public reports: the structure and the messages are those of the source, names are neutral."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import Features
from dractl.cluster.state import ClusterState
from dractl.explain import Explainer, Explanation, find_subjects
from dractl.manifests import load
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

if TYPE_CHECKING:
    from pathlib import Path

DRIVER = "gpu.example.com"
DEVICES = slice_of(DRIVER, "node-1", device("gpu-0"), device("gpu-1"))
GPU = device_class("gpu", f"device.driver == '{DRIVER}'")
TEMPLATE = {"name": "g", "resourceClaimTemplateName": "gpu-template"}
NAMED = {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g-x7k2p"}]}
LOST = "internal error: unable to get claim info for ResourceClaim extra"
UNRESOLVABLE = (
    "failed to create containerd container: CDI device injection failed: unresolvable CDI devices"
    " k8s.gpu.example.com/gpu=c0ffee-gpu-0"
)


def explain(*objects: dict[str, Any], release: str = "1.34") -> Explanation:
    state = state_of(GPU, DEVICES, *objects)
    (question,) = find_subjects(state, "pod/p", "ml")
    return Explainer(state, Features.for_release(release)).explain(question)


def node_of(kubelet: str) -> dict[str, Any]:
    value = node("node-1")
    value["status"]["nodeInfo"] = {"kubeletVersion": kubelet}
    return value


def generated(status: dict[str, Any]) -> dict[str, Any]:
    """The claim that the claim controller made for pod p."""
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}
    metadata = {
        "annotations": {"resource.kubernetes.io/pod-claim-name": "g"},
        "ownerReferences": [owner],
    }
    return claim("p-g-x7k2p", request("r", "gpu"), status=status, metadata=metadata)


def waiting(message: str) -> dict[str, Any]:
    waits = {"waiting": {"reason": "CreateContainerError", "message": message}}
    return {"containerStatuses": [{"name": "main", "state": waits}]}


def reboot(time: str) -> dict[str, Any]:
    """The event of the kubelet, whose reference has the node's name as its UID."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "node-1.1", "namespace": "default"},
        "involvedObject": {"kind": "Node", "name": "node-1", "uid": "node-1"},
        "reason": "Rebooted",
        "message": "Node node-1 has been rebooted, boot id: b1",
        "lastTimestamp": time,
    }


def pods_that_share_a_claim() -> tuple[dict[str, Any], ...]:
    shared = allocation("node-1", (DRIVER, "gpu-0"), pod="first")
    shared["reservedFor"].append({"resource": "pods", "name": "p", "uid": "uid-p"})
    entries = [{"name": key, "resourceClaimName": key} for key in ("shared", "extra")]
    return (
        claim("shared", request("r", "gpu"), status=shared),
        claim(
            "extra", request("r", "gpu"), status=allocation("node-1", (DRIVER, "gpu-1"), pod="p")
        ),
        pod(
            "first",
            entries[0],
            metadata={"uid": "uid-first"},
            spec={"nodeName": "node-1"},
            status={"phase": "Running"},
        ),
        pod(
            "p",
            *entries,
            metadata={"uid": "uid-p"},
            spec={"nodeName": "node-1"},
            status={"phase": "Pending", **waiting(LOST)},
        ),
    )


@pytest.mark.parametrize("version", ["v1.34.0", "v1.34.3", "v1.35.0", "v1.34.2-gke.100"])
def test_kubelet_that_skips_claims_beside_a_prepared_one_is_named(version: str) -> None:
    """kubernetes/kubernetes#135901"""
    answer = explain(node_of(version), *pods_that_share_a_claim())
    assert "claim shared was already prepared for pod ml/first" in answer.headline
    assert "kubernetes/kubernetes#135901" in answer.headline
    assert "end pod ml/first" in answer.next[0].text
    assert not any("grace period" in step.text for step in answer.next)


@pytest.mark.parametrize("version", ["v1.34.10", "v1.36.0", "v1.33.4"])
def test_kubelet_that_prepares_all_claims_has_lost_the_claim(version: str) -> None:
    answer = explain(node_of(version), *pods_that_share_a_claim())
    assert "has lost what it knew of claim extra" in answer.headline
    assert answer.headline.count("(") == answer.headline.count(")")


@pytest.mark.parametrize(
    ("time", "is_named"), [("2026-10-01T09:30:00Z", True), ("2026-10-01T07:00:00Z", False)]
)
def test_reboot_after_the_allocation_explains_lost_cdi_devices(time: str, is_named: bool) -> None:
    """kubernetes/kubernetes#141433, ROCm/k8s-gpu-dra-driver#75"""
    status = allocation("node-1", (DRIVER, "gpu-0"), pod="p")
    status["allocation"]["allocationTimestamp"] = "2026-10-01T08:00:00Z"
    stuck = pod(
        "p",
        TEMPLATE,
        metadata={"uid": "uid-p", "creationTimestamp": "2026-10-01T08:00:00Z"},
        spec={"nodeName": "node-1"},
        status={"phase": "Pending", **NAMED, **waiting(UNRESOLVABLE)},
    )
    answer = explain(node_of("v1.35.2"), generated(status), stuck, reboot(time))
    assert (f"since the reboot at {time}" in answer.headline) is is_named
    assert ("kubectl delete pod p -n ml" in answer.next[0].command) is is_named


@pytest.mark.parametrize(("version", "is_named"), [("v1.36.0", True), ("v1.37.0", False)])
def test_claim_that_the_status_lost_keeps_a_pod_terminating(version: str, is_named: bool) -> None:
    """kubernetes/kubernetes#139772; the patch was accepted by an API server of 1.37."""
    stuck = pod(
        "p",
        TEMPLATE,
        metadata={"uid": "uid-p", "deletionTimestamp": "2026-10-01T09:00:00Z"},
        spec={"nodeName": "node-1"},
        status={"phase": "Pending"},
    )
    held = generated(allocation("node-1", (DRIVER, "gpu-0"), pod="p"))
    answer = explain(node_of(version), held, stuck, release="1.36")
    assert answer.subject.pod_claims == {"g": "p-g-x7k2p"}
    assert ("no longer names claim p-g-x7k2p" in answer.headline) is is_named
    assert ("--subresource=status" in answer.next[0].command) is is_named


def test_claim_that_exists_is_not_missing_where_its_template_is_not_shown() -> None:
    """kubernetes/kubernetes#138487, in a dump without templates"""
    answer = explain(node("node-1"), generated({}), pod("p", TEMPLATE, metadata={"uid": "uid-p"}))
    assert answer.reasons[0].code == "claim-missing"
    assert "claim ml/p-g-x7k2p exists" in answer.headline


def test_claim_of_another_schedulers_pod_needs_no_template() -> None:
    """kai-scheduler/KAI-Scheduler#1217: the claims exist, and the dump has no template."""
    stuck = pod(
        "p",
        TEMPLATE,
        metadata={"uid": "uid-p"},
        spec={"schedulerName": "kai-scheduler"},
        status={"phase": "Pending", **NAMED},
    )
    said = {
        **reboot("2026-10-01T09:30:00Z"),
        "involvedObject": {"kind": "Pod", "namespace": "ml", "name": "p", "uid": "uid-p"},
        "reason": "Unschedulable",
        "message": "Resources were found for 12 pods while 16 are required for gang scheduling",
        "source": {"component": "kai-scheduler"},
    }
    said["metadata"]["namespace"] = "ml"
    answer = explain(node("node-1"), generated({}), stuck, said)
    assert answer.reasons[0].code == "other-scheduler"
    assert not any("template" in obstacle.want for obstacle in answer.obstacles)
    assert not answer.fixes


def test_nobody_is_told_to_wait_for_pods_that_are_gone() -> None:
    """kubernetes-sigs/dra-driver-nvidia-gpu#725"""
    zombies = [
        claim(
            f"old-{number}",
            request("r", "gpu"),
            status=allocation("node-1", (DRIVER, f"gpu-{number}"), pod=f"old-{number}"),
            metadata={
                "deletionTimestamp": "2026-10-01T09:00:00Z",
                "finalizers": ["resource.kubernetes.io/delete-protection"],
            },
        )
        for number in range(2)
    ]
    stuck = pod("p", TEMPLATE, metadata={"uid": "uid-p"}, status={"phase": "Pending", **NAMED})
    answer = explain(node("node-1"), generated({}), stuck, *zombies)
    assert "kube-controller-manager has not released them" in answer.headline
    assert "kube-controller-manager" in answer.next[0].text
    assert not any("wait until a holder ends" in step.text for step in answer.next)


def test_slices_that_announce_different_numbers_are_no_second_installation() -> None:
    """kubernetes/kubernetes#141117"""
    first = slice_of(DRIVER, "node-1", device("gpu-0"))
    second = slice_of(DRIVER, "node-1", device("gpu-1"), resourceSliceCount=2)
    second["metadata"]["name"] = "z-second"
    stuck = pod("p", TEMPLATE, metadata={"uid": "uid-p"}, status={"phase": "Pending", **NAMED})
    answer = explain(node("node-1"), generated({}), stuck, first, second, release="1.37")
    assert "(1 in node-1-gpu.example.com, 2 in z-second)" in answer.headline
    assert "published twice" not in answer.headline
    assert "restart driver gpu.example.com" in answer.next[0].text


@pytest.mark.parametrize("carries", [False, True])
def test_toleration_that_the_allocation_lacks_is_named(carries: bool) -> None:
    """kubernetes/kubernetes#134434"""
    toleration = {"key": "example.com/broken", "operator": "Exists", "effect": "NoExecute"}
    taint = {
        "key": "example.com/broken",
        "effect": "NoExecute",
        "timeAdded": "2026-10-01T08:30:00Z",
    }
    status = allocation("node-1", (DRIVER, "gpu-0"), pod="p")
    if carries:
        status["allocation"]["devices"]["results"][0]["tolerations"] = [toleration]
    held = generated(status)
    held["spec"]["devices"]["requests"][0]["exactly"]["tolerations"] = [toleration]
    placed = pod(
        "p",
        TEMPLATE,
        metadata={"uid": "uid-p", "deletionTimestamp": "2026-10-01T09:00:00Z"},
        spec={"nodeName": "node-1"},
        status={"phase": "Running", **NAMED},
    )
    tainted = slice_of(DRIVER, "node-1", device("gpu-0", taints=[taint]))
    answer = explain(node_of("v1.34.1"), held, placed, tainted)
    lacks = any("its allocation lacks the toleration" in note for note in answer.notes)
    assert lacks is not carries
    assert not any("only if it names effect NoExecute" in note for note in answer.notes)


@pytest.mark.parametrize(("kubelet", "is_named"), [("v1.36.2-eks-1", True), ("v1.36.3", False)])
def test_patch_of_the_kubelets_decides_about_a_bug(
    kubelet: str, is_named: bool, tmp_path: Path
) -> None:
    """kubernetes/kubernetes#140436"""
    taint = {"key": "example.com/broken", "effect": "NoSchedule"}
    devices = [device("gpu-0", taints=[taint]), device("gpu-1")]
    for part in devices:
        part["consumesCounters"] = [{"counterSet": "set", "counters": {"m": {"value": "4"}}}]
    parts = slice_of(DRIVER, "node-1", *devices, resourceSliceCount=2)
    counters = slice_of(DRIVER, "node-1", resourceSliceCount=2)
    counters["metadata"]["name"] = "counters"
    del counters["spec"]["devices"]
    counters["spec"]["sharedCounters"] = [{"name": "set", "counters": {"m": {"value": "4"}}}]
    entry = {"name": "g", "resourceClaimName": "g"}
    stuck = (claim("g", request("r", "gpu")), pod("p", entry))
    objects = (GPU, parts, counters, node_of(kubelet), *stuck)
    (tmp_path / "dump.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    )
    state = ClusterState.from_documents(load([str(tmp_path)], relevant_only=False).documents)
    assert state.release is not None
    (question,) = find_subjects(state, "pod/p", "ml")
    answer = Explainer(state, Features.for_release(state.release)).explain(question)
    assert ("kubernetes#140436" in str(answer.reasons)) is is_named
    assert ("fits on node-1" in answer.headline) is not is_named
