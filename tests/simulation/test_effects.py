"""Direct effects of a change: derived changes, and the objects that it concerns."""

from __future__ import annotations

import pytest

from dractl.cluster.changes import Change, Create, Delete, Patch
from dractl.simulation.effects import (
    delete_whole_groups,
    find_affected_nodes,
    find_pods_with_deleted_claims,
    list_changed_workloads,
    list_pods_kept_by_finalizers,
    suspend_jobs,
)
from tests.explain.cluster import node, slice_of
from tests.simulation.cluster import (
    DRIVER,
    GPU_CLASS,
    job_set,
    leader_worker_set,
    machine,
    replica,
    scheduler_of,
    workload,
)

SUSPEND = ({"op": "replace", "path": "/spec/suspend", "value": True},)


def test_a_deleted_worker_takes_its_leader_worker_set_group_along() -> None:
    """kubernetes-sigs/lws pkg/controllers/pod_controller.go handleRestartPolicy."""
    state = scheduler_of(leader_worker_set(), replica("p")).state
    deletions = delete_whole_groups(state, [Delete("Pod/ml/lws-0-1"), Delete("Pod/ml/p")])
    assert deletions == (Delete("Pod/ml/lws-0"),)


def test_a_group_without_restart_keeps_its_other_pods() -> None:
    state = scheduler_of(leader_worker_set(restartPolicy="None")).state
    assert delete_whole_groups(state, [Delete("Pod/ml/lws-0-1")]) == ()


def test_a_suspended_job_set_suspends_its_jobs() -> None:
    """kubernetes-sigs/jobset pkg/controllers/jobset_controller.go suspendJobs."""
    state = scheduler_of(job_set(None), workload("Job", "other")).state
    operations = ({"op": "add", "path": "/spec/suspend", "value": True},)
    assert suspend_jobs(state, [Patch("JobSet/ml/llm", SUSPEND)]) == (
        Patch("Job/ml/llm-w-0", operations),
        Patch("Job/ml/llm-w-1", operations),
    )


def test_a_patch_of_other_fields_of_a_job_set_changes_no_job() -> None:
    state = scheduler_of(job_set(None)).state
    label = ({"op": "add", "path": "/metadata/labels", "value": {}},)
    assert suspend_jobs(state, [Patch("JobSet/ml/llm", label)]) == ()


def test_workloads_change_with_their_own_fields_and_their_pods() -> None:
    state = scheduler_of(
        workload("Deployment", "web"), workload("Job", "train"), replica("w-0", "Job/train")
    ).state
    changes = [
        Patch("Deployment/ml/web", SUSPEND),
        Delete("Pod/ml/w-0"),
        Delete("Pod/ml/absent"),
        Create(workload("Job", "new")),
    ]
    assert list_changed_workloads(state, changes) == (
        ("Deployment", ("ml", "web")),
        ("Job", ("ml", "train")),
    )


def test_finalizers_of_kubernetes_do_not_keep_a_pod() -> None:
    tracked, flushed = replica("tracked")[0], replica("flushed")[0]
    tracked["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking"]
    flushed["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking", "example.com/flush"]
    state = scheduler_of(tracked, flushed).state
    deletions = [Delete("Pod/ml/tracked"), Delete("Pod/ml/flushed")]
    assert list_pods_kept_by_finalizers(state, deletions) == (("ml", "flushed"),)


def test_a_pod_with_a_deleted_claim_is_identified_by_its_uid() -> None:
    state = scheduler_of(replica("p"), replica("other")).state
    deletions = [Delete("ResourceClaim/ml/p-g")]
    assert find_pods_with_deleted_claims(state, deletions) == {"uid-p"}


SHARED_SLICE = {
    "kind": "ResourceSlice",
    "metadata": {"name": "fabric"},
    "spec": {"driver": DRIVER, "allNodes": True},
}


@pytest.mark.parametrize(
    ("change", "nodes"),
    [
        (Patch("Node/n-1", SUSPEND), {"n-1"}),
        (Create(node("n-3")), {"n-3"}),
        (Create(slice_of(DRIVER, "n-2")), {"n-2"}),
        (Delete(f"ResourceSlice/n-1-{DRIVER}"), {"n-1"}),
        (Delete("Pod/ml/w-0"), {"n-1"}),
        (Delete("Pod/ml/pending"), set()),
        (Patch("ReplicaSet/ml/web", SUSPEND), {"n-1", "n-2"}),
        (Delete("ReplicaSet/ml/web"), set()),
        (Delete("ConfigMap/ml/settings"), set()),
    ],
)
def test_a_change_of_one_node_helps_there_only(change: Change, nodes: set[str]) -> None:
    replicas = [replica(f"w-{n}", "ReplicaSet/web", f"n-{n + 1}", "gpu-0") for n in (0, 1)]
    machines = [machine("n-1", "gpu-0"), machine("n-2", "gpu-0")]
    scheduler = scheduler_of(*machines, *replicas, replica("pending"))
    assert find_affected_nodes(scheduler, [change]) == nodes


@pytest.mark.parametrize(
    "change",
    [
        Create(GPU_CLASS),
        Patch(f"DeviceClass/{DRIVER}", SUSPEND),
        Delete("DeviceTaintRule/maintenance"),
        Delete("ResourceClaim/ml/p-g"),
        Create(SHARED_SLICE),
    ],
)
def test_a_change_of_the_whole_cluster_may_help_on_any_node(change: Change) -> None:
    scheduler = scheduler_of(machine("n-1"), replica("p"))
    assert find_affected_nodes(scheduler, [Patch("Node/n-1", SUSPEND), change]) is None
