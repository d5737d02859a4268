"""Status of a pod: plugins that are not checked here, and of what came after scheduling."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.explain import Explainer, Explanation, find_subjects
from dractl.scheduler.condition import find_unchecked_parts
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
USES = {"name": "g", "resourceClaimName": "c"}
WAITS = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "nope"}}]}


def explain(*objects: dict[str, Any]) -> Explanation:
    state = state_of(*objects)
    (question,) = find_subjects(state, "pod/p", None)
    return Explainer(state, Features.for_release("1.36")).explain(question)


def refused_status(said: str, **more: Any) -> dict[str, Any]:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": said,
    }
    status = {"phase": "Pending", "conditions": [condition]}
    return pod("p", USES, metadata={"uid": "uid-p"}, status=status, **more)


# Recorded with kube-scheduler 1.36.3.
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            '0/1 nodes are available: persistentvolumeclaim "nope" not found. not found',
            'persistentvolumeclaim "nope" not found',
        ),
        (
            "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
            "pod has unbound immediate PersistentVolumeClaims",
        ),
    ],
)
def test_pod_kept_back_by_volumes_would_not_fit_now(said: str, told: str) -> None:
    answer = explain(*CLUSTER, claim("c", request("r", "gpu")), refused_status(said, spec=WAITS))
    assert (answer.verdict, answer.reasons[0].code) == ("blocked", "node-filter")
    assert told in answer.headline
    assert answer.scheduler_message == said
    assert answer.fixes == ()  # nothing that is changed here helps
    assert any("volumes are not checked here" in note for note in answer.notes)


def test_words_of_other_plugins_are_quoted_if_dra_refuses_the_pod_too() -> None:
    held = claim(
        "held",
        request("r", "gpu"),
        status=allocation("node-1", ("gpu.example.com", "gpu-0"), pod="x"),
    )
    said = "0/1 nodes are available: 1 node(s) had volume node affinity conflict. preemption: 0/1 nodes are available."
    answer = explain(*CLUSTER, held, claim("c", request("r", "gpu")), refused_status(said))
    assert answer.reasons[0].code == "device-in-use"
    assert any(
        "node(s) had volume node affinity conflict (1 node)" in note for note in answer.notes
    )


def test_plugin_rejecting_some_fitting_nodes_does_not_keep_the_pod_back() -> None:
    second = (node("node-2"), slice_of("gpu.example.com", "node-2", device("gpu-0")))
    said = "0/2 nodes are available: 1 cannot allocate all claims, 1 node(s) had volume node affinity conflict."
    answer = explain(*CLUSTER, *second, claim("c", request("r", "gpu")), refused_status(said))
    assert answer.reasons[0].code == "would-fit-now"
    assert any("volume node affinity conflict" in note for note in answer.notes)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ('running PreBind plugin "VolumeBinding": binding volumes: timed out', [None]),
        (
            'running "DynamicResources" filter plugin: claim ml/c: selector #0: CEL runtime error: no such key: x',
            [],
        ),
        (
            "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) exceed max volume count. preemption: x",
            [2],
        ),
        ("0/3 nodes are available: 3 node(s) had untolerated taint {a: b}. preemption: x", []),
        ("no nodes available to schedule pods", []),
    ],
)
def test_parts_of_a_condition_without_a_check_are_found(said: str, found: list[int | None]) -> None:
    assert [part.nodes for part in find_unchecked_parts(said)] == found


# -- on a node --


def pod_on_node(status: dict[str, Any], **more: Any) -> tuple[dict[str, Any], ...]:
    given = allocation("node-1", ("gpu.example.com", "gpu-0"), pod="p")
    spec = {"nodeName": "node-1", **more.get("spec", {})}
    return (
        *CLUSTER,
        claim("c", request("r", "gpu"), status=given, metadata={"uid": "uid-c"}),
        pod("p", USES, metadata={"uid": "uid-p"}, spec=spec, status=status),
    )


def waiting_containers(reason: str) -> list[dict[str, Any]]:
    return [{"name": "main", "state": {"waiting": {"reason": reason}}}]


UNPREPARED = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "p.1", "namespace": "ml"},
    "involvedObject": {"kind": "Pod", "name": "p", "namespace": "ml", "uid": "uid-p"},
    "reason": "FailedPrepareDynamicResources",
    "message": "Failed to prepare dynamic resources: DRA driver gpu.example.com is not registered",
}


def test_a_bound_pod_does_not_run_until_its_kubelet_says_so() -> None:
    assert explain(*pod_on_node({"phase": "Running"})).headline == "runs on node-1"
    for status in (
        {"phase": "Pending"},
        {"phase": "Pending", "containerStatuses": waiting_containers("ContainerCreating")},
    ):
        answer = explain(*pod_on_node(status))
        assert answer.verdict == "allocated"
        assert answer.headline.startswith("scheduled on node-1")
        assert "runs" not in answer.headline
    assert "ContainerCreating" in answer.headline
    crashing = {"phase": "Running", "containerStatuses": waiting_containers("CrashLoopBackOff")}
    assert "CrashLoopBackOff" in explain(*pod_on_node(crashing)).headline
    failed = {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}
    assert explain(*pod_on_node(failed)).headline == "evicted from node-1: low on memory"


@pytest.mark.parametrize(
    ("message", "end"),
    [
        ("The node was low on resource: memory. ", "which was low on memory"),
        (
            "The node was low on resource: memory. Threshold quantity: 100Mi, available: 31580Ki. ",
            "which was low on memory: Threshold quantity: 100Mi, available: 31580Ki",
        ),
    ],
)
def test_an_eviction_names_the_resource_of_which_the_node_was_short(message: str, end: str) -> None:
    """The messages are those of pkg/kubelet/eviction/helpers.go."""
    status = {"phase": "Failed", "reason": "Evicted", "message": message}
    assert explain(*pod_on_node(status)).headline == f"evicted from node-1, {end}"


def test_a_terminating_pod_keeps_its_devices() -> None:
    *objects, running = pod_on_node({"phase": "Running"})
    running["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z"
    answer = explain(*objects, running)
    assert answer.headline.startswith("is Terminating on ")
    assert "to be gone by 2026-01-01T00:00:30Z" in answer.headline
    assert [step.command.split()[1] for step in answer.next] == ["get", "get", "delete"]
    assert "--force" in answer.next[-1].command


def test_the_kubelets_words_are_quoted_if_it_cannot_prepare_devices() -> None:
    creating = {"phase": "Pending", "containerStatuses": waiting_containers("ContainerCreating")}
    answer = explain(*pod_on_node(creating), UNPREPARED)
    assert (answer.verdict, answer.reasons[0].code) == ("failing", "not-prepared")
    assert "scheduled on node-1" in answer.headline
    assert "gpu.example.com is not registered" in answer.headline
    assert "not registered" not in explain(*pod_on_node({"phase": "Running"}), UNPREPARED).headline


def test_devices_without_a_container_are_named() -> None:
    def container(*entries: dict[str, str]) -> dict[str, Any]:
        return {
            "containers": [{"name": "main", "image": "x", "resources": {"claims": list(entries)}}]
        }

    (note,) = explain(
        *pod_on_node({"phase": "Running"}, spec=container({"name": "g", "request": "gpux"}))
    ).notes
    assert "container main gets no device of claim g" in note
    assert "gpux" in note
    (note,) = explain(*pod_on_node({"phase": "Running"}, spec=container())).notes
    assert "no container lists claim g" in note
    assert (
        explain(
            *pod_on_node({"phase": "Running"}, spec=container({"name": "g", "request": "r"}))
        ).notes
        == ()
    )
    made = pod("p", USES, spec=container({"name": "g", "request": "gpux"}))
    assert any(
        "gpux" in note for note in explain(*CLUSTER, claim("c", request("r", "gpu")), made).notes
    )


def test_devices_of_an_extended_resource_are_shown_where_the_pod_runs() -> None:
    made = claim("p-extended-resources-x", request("container-0-request-0", "gpu"))
    made["status"] = allocation("node-1", ("gpu.example.com", "gpu-0"), pod="p")
    status = {
        "phase": "Running",
        "extendedResourceClaimStatus": {"resourceClaimName": "p-extended-resources-x"},
    }
    user = pod("p", metadata={"uid": "uid-p"}, spec={"nodeName": "node-1"}, status=status)
    (there,) = explain(*CLUSTER, made, user).nodes
    assert [(a.pool, a.device) for a in there.allocation] == [("node-1", "gpu-0")]


def test_claim_is_answered_before_the_pod_using_it() -> None:
    held = claim(
        "held",
        request("r", "gpu"),
        status=allocation("node-1", ("gpu.example.com", "gpu-0"), pod="x"),
    )
    nics = (
        device_class("nic", "device.driver == 'nic.example.com'"),
        slice_of("nic.example.com", "node-1", device("n")),
    )
    both = pod("p", USES, {"name": "n", "resourceClaimName": "d"}, metadata={"uid": "uid-p"})
    state = state_of(
        *CLUSTER,
        held,
        *nics,
        claim("c", request("r", "gpu")),
        claim("d", request("r", "nic", 2)),
        both,
    )
    explainer = Explainer(state, Features.for_release("1.36"))
    answer = explainer.explain(find_subjects(state, "claim/d", "ml")[0])
    assert answer.reasons[0].facts["claim"] == "ml/d"
    assert "wants 2 devices" in answer.headline
    fine = state.replace("ResourceClaim", ("ml", "d"), claim("d", request("r", "nic")))
    answer = Explainer(fine, Features.for_release("1.36")).explain(
        find_subjects(fine, "claim/d", "ml")[0]
    )
    assert "waits for its other claim ml/c" in answer.headline


@pytest.mark.parametrize(
    ("words", "users"),
    [
        ("node(s) exceed max volume count", "ml/a, ml/b use 3 volumes there"),
        ("node(s) had volume node affinity conflict", ""),
    ],
)
def test_volumes_are_counted_where_a_node_has_too_many(words: str, users: str) -> None:
    """Plugin NodeVolumeLimits counts the volumes of the pods on a node."""

    def user(name: str, *volumes: str) -> dict[str, Any]:
        mounted = [{"name": v, "persistentVolumeClaim": {"claimName": v}} for v in volumes]
        return pod(name, spec={"nodeName": "node-1", "volumes": mounted})

    said = f"0/1 nodes are available: 1 {words}."
    answer = explain(
        *CLUSTER,
        claim("c", request("r", "gpu")),
        refused_status(said),
        user("a", "x", "y"),
        user("b", "z"),
        user("idle"),
    )
    message = answer.reasons[0].message
    assert words in message
    assert message.endswith(users)
    assert ("use" in message.split()) == bool(users)
