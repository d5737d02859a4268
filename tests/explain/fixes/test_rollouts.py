"""Workloads that wait for themselves, and claims that are older than what they are made from."""

from __future__ import annotations

from typing import Any

from dractl.allocation import Features
from dractl.cluster.changes import Create, Delete, Patch
from dractl.explain import Explainer, explain_each, find_all_waiting
from dractl.explain.answer import plain
from tests.explain.cluster import allocation, claim, device, node, pod, request, slice_of, state_of
from tests.explain.test_fixes import (
    BUSY,
    DRIVER,
    GPU,
    TWO,
    allocated_claim,
    explain,
    gpus,
    owned_pod,
    replica,
    template,
    titles,
)


def claim_of_pod(name: str, *requests: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The claim of a pod that waits."""
    owner = [{"kind": "Pod", "uid": f"uid-{name}"}]
    metadata = {"ownerReferences": owner, "uid": f"uid-{name}-g"}
    return claim(f"{name}-g", *(requests or (request("r", DRIVER),)), metadata=metadata, **more)


def new_replica(name: str) -> dict[str, Any]:
    return owned_pod(name, "ReplicaSet/web-def", labels={"pod-template-hash": "def"})


def test_a_rollout_ends_an_old_replica_first() -> None:
    old = replica("web-0", "node-1"), replica("web-1", "node-1")
    answer = explain("pod/web-2", *BUSY, claim_of_pod("web-2"), *old, new_replica("web-2"))
    (change,) = answer.fixes[0].changes
    assert isinstance(change, Patch)
    assert change.target == "Deployment/ml/web"
    rolling = {"maxSurge": 0, "maxUnavailable": 1}
    assert change.operations[0]["value"] == {"type": "RollingUpdate", "rollingUpdate": rolling}
    assert answer.fixes[0].tried == (Delete("Pod/ml/web-0"),)
    assert not any("would recreate it" in note or "would not help" in note for note in answer.notes)


def test_pods_fitting_after_one_rollout_step_are_not_counted() -> None:
    """The rollout takes the next step by itself."""
    old = replica("web-0", "node-1"), replica("web-1", "node-1")
    new = new_replica("web-2"), new_replica("web-3")
    state = state_of(*BUSY, claim_of_pod("web-2"), claim_of_pod("web-3"), *old, *new)
    (answer,) = explain_each(
        Explainer(state, Features.for_release("1.37")),
        find_all_waiting(state, None),
        group_replicas=True,
    )
    assert answer.alike == ("web-3",)
    assert answer.fixes[0].tried == (Delete("Pod/ml/web-0"),)
    assert answer.fixes[0].relief is None


def test_a_pod_of_a_job_waits_for_its_turn() -> None:
    running = (
        owned_pod("web-0", "Job/web", node_name="node-1"),
        owned_pod("web-1", "Job/web", node_name="node-1"),
    )
    answer = explain(
        "pod/web-2", *BUSY, claim_of_pod("web-2"), *running, owned_pod("web-2", "Job/web")
    )
    assert titles(answer) == ["wait until another pod of Job ml/web is done"]
    assert answer.fixes[0].changes == ()


def test_a_run_of_a_cron_job_waits_for_the_earlier_one() -> None:
    def run(name: str) -> dict[str, Any]:
        cron = [{"kind": "CronJob", "name": "nightly", "uid": "n", "controller": True}]
        spec = {"template": {"spec": {"containers": []}}}
        metadata = {"name": name, "namespace": "ml", "ownerReferences": cron}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}

    running = (
        owned_pod("web-0", "Job/nightly-1", node_name="node-1"),
        owned_pod("web-1", "Job/nightly-1", node_name="node-1"),
    )
    jobs = run("nightly-1"), run("nightly-2")
    answer = explain(
        "pod/web-2",
        *BUSY,
        *jobs,
        claim_of_pod("web-2"),
        *running,
        owned_pod("web-2", "Job/nightly-2"),
    )
    assert titles(answer)[0] == "wait until Job ml/nightly-1 is done"
    assert "concurrencyPolicy of CronJob ml/nightly" in answer.fixes[0].effect


def test_a_pod_whose_claim_is_older_than_its_template_is_recreated() -> None:
    stale = claim_of_pod("web-2", request("r", DRIVER, 8))
    answer = explain("pod/web-2", *TWO, stale, replica("web-2"))
    (fix,) = answer.fixes
    assert fix.changes == (Delete("Pod/ml/web-2"),)
    assert "earlier version of template t" in fix.effect


def test_a_pod_without_a_controller_is_deleted_and_created_again() -> None:
    status = {
        "phase": "Pending",
        "resourceClaimStatuses": [{"name": "g", "resourceClaimName": "p-g"}],
    }
    waiting = pod(
        "p",
        {"name": "g", "resourceClaimTemplateName": "t"},
        metadata={"uid": "uid-p"},
        status=status,
    )
    answer = explain("pod/p", *TWO, claim("other", request("r", DRIVER)), waiting)
    delete, create = answer.fixes[0].changes
    assert delete == Delete("Pod/ml/p")
    assert isinstance(create, Create)
    assert "uid" not in create.value["metadata"]
    assert "was deleted" in answer.fixes[0].effect


def test_replicas_sharing_a_device_get_one_claim() -> None:
    sharing = {
        "driver": DRIVER,
        "parameters": {"kind": "GpuConfig", "sharing": {"strategy": "TimeSlicing"}},
    }
    shared = template("t", request("r", DRIVER))
    shared["spec"]["spec"]["devices"]["config"] = [{"opaque": sharing}]
    cluster = (
        GPU,
        node("node-1"),
        gpus("node-1", "gpu-0"),
        shared,
        allocated_claim("web-0", "node-1", "gpu-0"),
    )
    waiting = claim_of_pod("web-1")
    waiting["spec"] = shared["spec"]["spec"]
    answer = explain("pod/web-1", *cluster, waiting, replica("web-0", "node-1"), replica("web-1"))
    create, patch, at_once = answer.fixes[0].changes
    assert isinstance(create, Create)
    assert create.value["kind"] == "ResourceClaim"
    name = create.value["metadata"]["name"]
    assert plain(patch)["json"][0]["value"] == {"name": "g", "resourceClaimName": name}
    assert plain(at_once)["json"][0]["value"] == {
        "type": "Recreate"
    }  # the old replica holds the device


def test_equal_replicas_get_the_same_smaller_count() -> None:
    three = template("t", request("r", DRIVER, 3))
    nodes = [
        part
        for n in ("node-1", "node-2")
        for part in (node(n), gpus(n, "gpu-0", "gpu-1", "gpu-2", "gpu-3"))
    ]
    holders = [
        allocated_claim(f"web-{n}", f"node-{n + 1}", "gpu-0", "gpu-1", "gpu-2") for n in range(2)
    ]
    pods = [owned_pod(f"web-{n}", "StatefulSet/web", node_name=f"node-{n + 1}") for n in range(2)]
    waiting = claim_of_pod("web-2", request("r", DRIVER, 3))
    answer = explain(
        "pod/web-2",
        GPU,
        *nodes,
        three,
        *holders,
        *pods,
        waiting,
        owned_pod("web-2", "StatefulSet/web"),
    )
    assert (
        titles(answer)[0]
        == "lower count of request r from 3 to 2 in all 3 pods of StatefulSet ml/web"
    )
    assert answer.fixes[0].steps[-1].command == "kubectl delete pod web-2 web-0 web-1 -n ml"


def evicted(pod_name: str) -> dict[str, Any]:
    """The event with which the eviction controller ends a pod."""
    about = {"kind": "Pod", "name": pod_name, "namespace": "ml", "uid": f"uid-{pod_name}"}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"e-{pod_name}", "namespace": "ml"},
        "involvedObject": about,
        "reason": "DeviceTaintManagerEviction",
        "message": "Marking for deletion",
        "lastTimestamp": "2026-01-01T00:05:00Z",
    }


TOLERANT = request("r", DRIVER, tolerations=[{"key": "xid", "operator": "Exists"}])
EVICTION_LOOP = (
    GPU,
    node("node-1"),
    slice_of(
        DRIVER,
        "node-1",
        device("gpu-0", type="gpu", taints=[{"key": "xid", "value": "79", "effect": "NoExecute"}]),
    ),
    {**template("t"), "spec": {"spec": {"devices": {"requests": [TOLERANT], "constraints": []}}}},
    replica("web-2"),
    claim_of_pod("web-2", TOLERANT),
    evicted("web-0"),
    evicted("web-1"),
)
LOOP = "pods of Deployment ml/web are evicted by a device taint as soon as they run (2 so far)"


def test_the_end_of_an_eviction_loop_leaves_requests_of_nobody_as_they_are() -> None:
    """The claim of an extended resource is made by kube-scheduler, so nobody can edit its requests."""
    gpu_too = {
        **GPU,
        "metadata": {"name": "extended"},
        "spec": {**GPU["spec"], "extendedResourceName": "example.com/gpu"},
    }
    amount = {"example.com/gpu": "1"}
    both = replica("web-2")
    both["spec"]["containers"] = [
        {"name": "main", "resources": {"requests": amount, "limits": amount}}
    ]
    objects = [o for o in EVICTION_LOOP if o["metadata"]["name"] != "web-2"]
    answer = explain("pod/web-2", *objects, gpu_too, both)
    effect = "it is not enough to add effect NoExecute to the toleration of xid in request r."
    assert any(note.startswith(f"{effect} After that: {LOOP}") for note in answer.notes)


def test_an_eviction_loop_is_explained_beside_a_claim_that_no_pod_uses() -> None:
    """A claim may be reserved for any object (resource.k8s.io/v1 ResourceClaimConsumerReference)."""
    status = allocation("node-1", (DRIVER, "gpu-0"))
    status["reservedFor"] = [
        {"apiGroup": "example.com", "resource": "widgets", "name": "w", "uid": "uid-w"}
    ]
    answer = explain("pod/web-2", *EVICTION_LOOP, claim("left", TOLERANT, status=status))
    assert LOOP in answer.headline
    assert "widgets" in answer.reasons[0].message
    assert answer.next[0].text.startswith("choose devices without the taint")
