"""Differences that random clusters showed with a real scheduler (tests/conformance/fuzz_explain.py)."""

from __future__ import annotations

from typing import Any

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

RESOURCE = "example.com/gpu"
GPU = device_class("gpu", "device.driver == 'gpu.example.com'")
MAPPED = {**GPU, "spec": {**GPU["spec"], "extendedResourceName": RESOURCE}}
TWO = slice_of("gpu.example.com", "node-1", device("gpu-0"), device("gpu-1"))


def explain(*objects: dict[str, Any]) -> Explanation:
    state = state_of(*objects)
    (question,) = find_subjects(state, "pod/asking", None)
    return Explainer(state, Features.for_release("1.37")).explain(question)


def pod_with_resource(amount: str, *claims: dict[str, str], **more: Any) -> dict[str, Any]:
    return pod("asking", *claims, requests={RESOURCE: amount}, metadata={"uid": "1"}, **more)


def test_the_condition_of_a_gated_pod() -> None:
    gated = pod(
        "asking", metadata={"uid": "1"}, spec={"schedulingGates": [{"name": "example.com/wait"}]}
    )
    answer = explain(node("node-1"), gated)
    assert answer.scheduler_message == "Scheduling is blocked due to non-empty scheduling gates"


def test_message_names_a_pod_without_preemption() -> None:
    asking = pod("asking", metadata={"uid": "1"}, spec={"preemptionPolicy": "Never"})
    answer = explain(node("node-1", unschedulable=True), asking)
    assert answer.scheduler_message == (
        "0/1 nodes are available: 1 node(s) were unschedulable. preemption: not eligible due to preemptionPolicy=Never."
    )


def test_init_containers_use_the_devices_of_later_ones() -> None:
    first = {"name": "first", "image": "x", "resources": {"requests": {RESOURCE: "2"}}}
    asking = pod_with_resource("1", spec={})
    asking["spec"]["initContainers"] = [first]
    answer = explain(MAPPED, TWO, node("node-1"), asking)
    assert answer.fits
    assert [(d.request, d.device) for d in answer.nodes[0].allocation] == [
        ("container-0-request-0", "gpu-0"),
        ("container-1-request-0", "gpu-1"),
    ]


def test_request_is_numbered_among_all_of_its_container() -> None:
    asking = pod("asking", requests={"cpu": "1", RESOURCE: "1"}, metadata={"uid": "1"})
    answer = explain(MAPPED, TWO, node("node-1"), asking)
    assert [d.request for d in answer.nodes[0].allocation] == ["container-0-request-1"]


def test_a_claim_beside_an_extended_resource_of_the_device_plugin_cannot_be_bound() -> None:
    there = node("node-1", allocatable={RESOURCE: "1"})
    asking = pod_with_resource("1", {"name": "g", "resourceClaimName": "c"})
    answer = explain(MAPPED, TWO, there, claim("c", request("r", "gpu")), asking)
    assert (answer.verdict, answer.reasons[0].code) == ("error", "upstream-bug")
    assert answer.scheduler_message == (
        'running PreBind plugin "DynamicResources": nil or empty request mappings, '
        "no update of pod ml/asking ExtendedResourceClaimStatus"
    )
    assert explain(MAPPED, TWO, there, pod_with_resource("1")).fits


def important(**more: Any) -> dict[str, Any]:
    return pod(
        "asking", metadata={"uid": "1"}, requests={"cpu": "6"}, spec={"priority": 1000, **more}
    )


def test_pods_of_lower_priority_make_room() -> None:
    there = pod(
        "small",
        requests={"cpu": "4"},
        spec={"nodeName": "node-1", "priority": 0},
        status={"phase": "Running"},
    )
    assert not explain(node("node-1"), there, important(preemptionPolicy="Never")).fits
    answer = explain(node("node-1"), there, important())
    assert answer.fits
    assert "ml/small" in answer.notes[0]


def test_pod_waits_for_its_preemption_victims() -> None:
    """It nominates a node, and tries nothing else while the pods of lower priority there are Terminating."""
    leaving = {"deletionTimestamp": "2026-01-01T12:00:00Z"}
    where = {"nodeName": "node-1", "priority": 0}
    running = {"phase": "Running"}
    small = pod("small", requests={"cpu": "4"}, spec=where, status=running, metadata=leaving)
    tried = {
        "type": "PodScheduled",
        "status": "False",
        "message": "0/1 nodes are available: 1 Insufficient cpu.",
    }
    asking = important()
    asking["status"] = {"phase": "Pending", "nominatedNodeName": "node-1", "conditions": [tried]}
    answer = explain(node("node-1"), small, asking)
    assert answer.verdict == "blocked"
    assert answer.headline.startswith("kube-scheduler preempts pods of lower priority on node-1")
    assert "ml/small" in answer.headline
    assert [fix.title for fix in answer.fixes] == ["wait until ml/small on node-1 end"]


def test_a_pod_waits_for_the_volume_bound_on_the_node_chosen_for_it() -> None:
    """Seen on 1.37: its claim is allocated and the node nominated, and PreBind waits for the PersistentVolume."""
    tried = {
        "type": "PodScheduled",
        "status": "False",
        "message": "0/1 nodes are available: 1 Insufficient cpu.",
    }
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
    asking = pod("asking", spec={"volumes": [volume]}, metadata={"uid": "1"})
    asking["status"] = {"phase": "Pending", "nominatedNodeName": "node-1", "conditions": [tried]}
    first = {"volumeBindingMode": "WaitForFirstConsumer", "provisioner": "csi.example.com"}
    objects = [
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "fast"},
            **first,
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": "ml"},
            "spec": {"storageClassName": "fast"},
            "status": {"phase": "Pending"},
        },
    ]
    answer = explain(node("node-1"), *objects, asking)
    assert answer.verdict == "blocked"
    assert (
        answer.headline
        == "kube-scheduler has chosen node-1, and waits for PersistentVolumeClaim data to be bound there"
    )
    assert [fix.title for fix in answer.fixes] == ["wait until data on node-1 is bound"]


def test_the_claim_of_an_ephemeral_volume_is_not_made_by_hand() -> None:
    """pkg/controller/volume/ephemeral/controller.go makes it, or says on the pod why it does not (FailedBinding)."""
    volume = {
        "name": "v",
        "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}},
    }
    metadata = {"uid": "1", "creationTimestamp": "2026-01-01T00:00:00Z"}
    other = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "other", "namespace": "ml"},
    }
    answer = explain(
        node("node-1"), other, pod("asking", spec={"volumes": [volume]}, metadata=metadata)
    )
    (step,) = answer.next
    assert "kube-controller-manager" in step.text
    assert "reason=FailedBinding" in step.command


def test_useless_preemption_reports_the_remaining_shortage() -> None:
    low, high = (
        pod(
            name,
            requests={"cpu": "4"},
            spec={"nodeName": "node-1", "priority": p},
            status={"phase": "Running"},
        )
        for name, p in (("low", 0), ("high", 1000))
    )
    answer = explain(node("node-1"), low, high, important())
    assert answer.scheduler_message == (
        "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Insufficient cpu."
    )


def test_claim_allocated_by_an_old_scheduler_takes_no_further_pod() -> None:
    held = claim(
        "c",
        request("r", "gpu"),
        status=allocation("node-1", ("gpu.example.com", "gpu-0"), pod="first"),
    )
    asking = pod("asking", {"name": "g", "resourceClaimName": "c"}, metadata={"uid": "1"})
    answer = explain(GPU, TWO, node("node-1"), held, asking)
    assert (answer.verdict, answer.reasons[0].code) == ("error", "upstream-bug")
    assert answer.scheduler_message == (
        'running PreBind plugin "DynamicResources": add reservation to claim ml/c: '
        'ResourceClaim.resource.k8s.io "c" is invalid: status.allocation: Invalid value: null: '
        "field cannot be modified once set"
    )
    held["status"]["allocation"]["allocationTimestamp"] = "2026-01-01T00:00:00Z"
    assert explain(GPU, TWO, node("node-1"), held, asking).fits


def test_quota_refuses_the_schedulers_claim_for_an_extended_resource() -> None:
    """As kube-scheduler 1.37.1 said it, but for the random end of the claim's name; it tries again by itself."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "ml"},
        "spec": {"hard": {"gpu.deviceclass.resource.k8s.io/devices": "1"}},
    }
    answer = explain(MAPPED, TWO, node("node-1"), quota, pod_with_resource("2"))
    assert (answer.verdict, answer.reasons[0].code) == ("error", "quota-exceeded")
    assert answer.scheduler_message == (
        'running PreBind plugin "DynamicResources": create claim for extended resources ml/: '
        'resourceclaims.resource.k8s.io "asking-extended-resources-" is forbidden: exceeded quota: q, '
        "requested: gpu.deviceclass.resource.k8s.io/devices=2, used: gpu.deviceclass.resource.k8s.io/devices=0, "
        "limited: gpu.deviceclass.resource.k8s.io/devices=1"
    )
    assert {fix.title for fix in answer.fixes} >= {"lower example.com/gpu from 2 to 1"}
    (raised,) = (fix for fix in answer.fixes if fix.title == "raise quota ml/q from 1 to 2 devices")
    assert not raised.effect
    assert explain(MAPPED, TWO, node("node-1"), quota, pod_with_resource("1")).fits


def test_devices_without_a_common_compatibility_group() -> None:
    """kube-scheduler 1.37.1 with DRADeviceCompatibilityGroups: "cannot allocate all claims", with counters to spare."""

    def part(name: str, group: str) -> dict[str, Any]:
        consumed = {
            "counterSet": "s",
            "counters": {"m": {"value": "1"}},
            "compatibilityGroups": [group],
        }
        return {**device(name), "consumesCounters": [consumed]}

    counters = slice_of("gpu.example.com", "node-1", resourceSliceCount=2)
    counters["metadata"] = {"name": "counters"}
    counters["spec"]["sharedCounters"] = [{"name": "s", "counters": {"m": {"value": "4"}}}]
    for other, told in (("y", True), ("x", False)):
        parts = slice_of(
            "gpu.example.com", "node-1", part("a", "x"), part("b", other), resourceSliceCount=2
        )
        asked = claim("c", request("r", "gpu", 2))
        state = state_of(
            GPU,
            counters,
            parts,
            node("node-1"),
            asked,
            pod("asking", {"name": "g", "resourceClaimName": "c"}),
        )
        (question,) = find_subjects(state, "pod/asking", None)
        gates = {"DRADeviceCompatibilityGroups": True}
        answer = Explainer(state, Features.for_release("1.37", gates)).explain(question)
        assert answer.fits != told
        assert ("some have no compatibility group in common" in answer.headline) == told


def test_cpu_taken_by_devices_counts_for_the_node() -> None:
    """kube-scheduler 1.37.1 with DRANodeAllocatableResources said so of a node with 2 CPUs left."""
    part = {
        **device("a"),
        "nodeAllocatableResources": {"cpu": {"mapping": {"deviceMultiplier": "4"}}},
    }
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "message": "0/1 nodes are available: 1 Insufficient cpu.",
    }
    asking = pod("asking", {"name": "g", "resourceClaimName": "c"}, metadata={"uid": "1"})
    objects = (
        GPU,
        slice_of("gpu.example.com", "node-1", part),
        node("node-1"),
        claim("c", request("r", "gpu")),
    )
    assert any("are not counted here" in note for note in explain(*objects, asking).notes)
    answer = explain(*objects, {**asking, "status": {"conditions": [condition]}})
    assert answer.headline.startswith(
        "the scheduler says: Insufficient cpu (1 node); without that it would fit on node-1"
    )
    plain = (GPU, TWO, *objects[2:])
    assert (
        "would fit now"
        in explain(*plain, {**asking, "status": {"conditions": [condition]}}).headline
    )


def test_the_newest_class_of_an_extended_resource_counts() -> None:
    """kube-scheduler 1.37.1: "cannot allocate all claims" with free devices of the older class."""
    newer = device_class("newer", "device.driver == 'gpu.example.org'")
    newer["spec"]["extendedResourceName"] = RESOURCE
    newer["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    old = {**MAPPED, "metadata": {"name": "gpu", "creationTimestamp": "2026-01-01T00:00:00Z"}}
    answer = explain(old, newer, TWO, node("node-1"), pod_with_resource("1"))
    assert not answer.fits
    assert (
        f"classes gpu, newer all have the extendedResourceName {RESOURCE}:"
        " kube-scheduler uses the newest, newer" in answer.notes
    )


def test_pod_level_requests_are_lowered() -> None:
    """kube-scheduler 1.37.1: "1 Insufficient cpu" for a pod whose containers ask for none."""
    resources = {"requests": {"cpu": "12"}, "limits": {"cpu": "12"}}
    answer = explain(
        node("node-1"), pod("asking", metadata={"uid": "1"}, spec={"resources": resources})
    )
    assert "lower the pod's request for cpu from 12 to 8" in {fix.title for fix in answer.fixes}
    assert answer.fixes[0].steps


def test_holders_of_shared_counters_are_named() -> None:
    """kube-scheduler 1.37.1 placed the pod once the other one had ended."""

    def part(name: str, amount: str) -> dict[str, Any]:
        return {
            **device(name),
            "consumesCounters": [{"counterSet": "s", "counters": {"m": {"value": amount}}}],
        }

    counters = slice_of("gpu.example.com", "node-1", resourceSliceCount=2)
    counters["metadata"] = {"name": "counters"}
    counters["spec"]["sharedCounters"] = [{"name": "s", "counters": {"m": {"value": "4"}}}]
    parts = (part("quarter", "1"), part("half-0", "2"), part("half-1", "2"))
    slices = slice_of("gpu.example.com", "node-1", *parts, resourceSliceCount=2)
    held = claim(
        "held",
        request("r", "gpu"),
        status=allocation("node-1", ("gpu.example.com", "quarter"), pod="other"),
    )
    other = pod("other", {"name": "g", "resourceClaimName": "held"}, spec={"nodeName": "node-1"})
    other |= {"status": {"phase": "Running"}}
    asking = pod("asking", {"name": "g", "resourceClaimName": "c"})
    answer = explain(
        GPU,
        counters,
        slices,
        node("node-1"),
        held,
        other,
        claim("c", request("r", "gpu", 2)),
        asking,
    )
    assert (
        "draw on the same counters, of s, which are in use in part; held by pod ml/other"
        in answer.headline
    )
    assert any(fix.title == "delete pod ml/other" for fix in answer.fixes)
