"""From pods to the workloads that recreate them and back, and the order in which controllers end pods."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.workloads import (
    ActivePods,
    count_missing_pods,
    deletion_rank,
    pods_of_workload,
    workload_target,
)
from dractl.views import Pod
from tests.explain.cluster import pod, state_of


def pod_with_owner(name: str, kind: str, owner: str, **more: Any) -> dict[str, Any]:
    value = pod(name)
    references = [
        {"apiVersion": "apps/v1", "kind": kind, "name": owner, "controller": True, "uid": owner}
    ]
    value["metadata"] = {**value["metadata"], "ownerReferences": references, **more}
    return value


def test_a_pod_of_a_deployments_replicaset_belongs_to_the_deployment() -> None:
    made = pod_with_owner("web-7d9-x", "ReplicaSet", "web-7d9", labels={"pod-template-hash": "7d9"})
    assert Pod(made).workload == ("Deployment", "web")
    assert workload_target(state_of(made), ("ml", "web-7d9-x")) == "Deployment/ml/web"
    assert Pod(pod_with_owner("web-x", "ReplicaSet", "web")).workload == (
        "ReplicaSet",
        "web",
    )  # nobody's ReplicaSet


def test_an_ended_pod_has_no_controller() -> None:
    ended = pod_with_owner("a", "Job", "train")
    ended["status"] = {"phase": "Failed"}
    assert Pod(ended).workload is None
    assert workload_target(state_of(pod("bare")), ("ml", "bare")) is None


def test_the_pods_below_a_workload_are_found_over_several_owners() -> None:
    def object_of(kind: str, name: str, owner: tuple[str, str]) -> dict[str, Any]:
        reference = {"kind": owner[0], "name": owner[1], "controller": True}
        metadata = {"name": name, "namespace": "ml", "ownerReferences": [reference]}
        template = {"spec": {"containers": [{"name": "main", "image": "example.com/image"}]}}
        return {
            "apiVersion": "example.com/v1",
            "kind": kind,
            "metadata": metadata,
            "spec": {"template": template},
        }

    mine = pod_with_owner("pod-0", "Job", "job-0")
    state = state_of(
        mine,
        pod_with_owner("pod-1", "Job", "another"),
        object_of("Job", "job-0", ("RayCluster", "cluster-0")),
        object_of("RayCluster", "cluster-0", ("RayJob", "ray")),
    )
    assert [key for key, _ in pods_of_workload(state, "RayJob", ("ml", "ray"))] == [("ml", "pod-0")]
    assert list(pods_of_workload(state, "RayJob", ("other", "ray"))) == []


@pytest.mark.parametrize(
    ("spec", "succeeded", "missing"),
    [
        ({}, 0, 1),
        ({"parallelism": 3}, 0, 3),
        ({"parallelism": 3}, 1, 0),
        ({"parallelism": 3, "completions": 5}, 3, 2),
        ({"parallelism": 3, "completions": 5}, 0, 3),
        ({"parallelism": 3, "completions": 5}, 5, 0),
        ({"parallelism": 3, "suspend": True}, 0, 0),
    ],
)
def test_missing_pods_of_a_job_are_counted(
    spec: dict[str, Any], succeeded: int, missing: int
) -> None:
    """kubernetes pkg/controller/job/job_controller.go manageJob."""
    template = {"spec": {"containers": [{"name": "main", "image": "example.com/image"}]}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"template": template, **spec},
        "status": {"succeeded": succeeded},
    }
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "ml"},
        "reason": "FailedCreate",
        "involvedObject": {"kind": "Job", "name": "train"},
        "message": "Error creating: pods is forbidden: exceeded quota: none",
    }
    assert count_missing_pods(state_of(job, event), "Job", ("ml", "train")) == missing
    assert count_missing_pods(state_of(job), "Job", ("ml", "train")) == 0


def test_a_statefulset_ends_its_highest_ordinal_first() -> None:
    pods = [pod(f"db-{n}") for n in (2, 10, 9)]
    first = min(pods, key=deletion_rank("StatefulSet", pods))
    assert first["metadata"]["name"] == "db-10"


@pytest.mark.parametrize(
    ("goes", "stays"),
    [
        ({"spec": {}}, {"spec": {"nodeName": "node-1"}}),
        ({"status": {"phase": "Pending"}}, {"status": {"phase": "Running"}}),
        ({}, {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}),
        ({"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-5"}}}, {}),
    ],
)
def test_a_replicaset_ends_pods_in_the_order_of_upstream(
    goes: dict[str, Any], stays: dict[str, Any]
) -> None:
    """kubernetes pkg/controller/controller_utils.go ActivePodsWithRanks.Less, in its order."""
    base: dict[str, Any] = {
        "metadata": {"name": "p"},
        "spec": {"nodeName": "node-1"},
        "status": {"phase": "Running"},
    }
    a, b = {**base, **goes}, {**base, **stays}
    rank = deletion_rank("ReplicaSet", [a, b])
    assert rank(a) < rank(b)


def test_terminating_pods_are_not_active() -> None:
    state = state_of(
        pod_with_owner("a", "StatefulSet", "db"),
        pod_with_owner("b", "StatefulSet", "db", deletionTimestamp="2026-01-01T00:00:00Z"),
    )
    active = ActivePods(state).pods_of("StatefulSet", ("ml", "db"))
    assert [p["metadata"]["name"] for p in active] == ["a"]


@pytest.mark.parametrize(
    "of_group",
    [
        {"workloadRef": {"workloadName": "train"}},
        {"podGroupTemplateRef": {"workload": {"workloadName": "train"}}},
    ],
    ids=["1.37", "1.36"],
)
def test_pods_of_a_workload_include_those_of_its_groups(of_group: dict[str, Any]) -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "train-0", "namespace": "ml"},
        "spec": of_group,
    }
    mine = pod("a", spec={"schedulingGroup": {"podGroupName": "train-0"}})
    state = state_of(
        mine, pod("b", spec={"schedulingGroup": {"podGroupName": "other"}}), pod("c"), group
    )

    def names_of_pods(kind: str, name: str) -> list[str]:
        return [key[1] for key, _ in pods_of_workload(state, kind, ("ml", name))]

    assert names_of_pods("Workload", "train") == ["a"]
    assert names_of_pods("Workload", "serve") == []
    assert names_of_pods("PodGroup", "train-0") == ["a"]


def test_pods_of_a_deployment_are_found_in_a_dump_without_its_replicaset() -> None:
    labels = {"pod-template-hash": "7d9"}
    mine = pod_with_owner("web-7d9-x", "ReplicaSet", "web-7d9", labels=labels)
    other = pod_with_owner("api-7d9-x", "ReplicaSet", "api-7d9", labels=labels)
    state = state_of(mine, other, pod_with_owner("web-x", "ReplicaSet", "web"))
    found = [key for key, _ in pods_of_workload(state, "Deployment", ("ml", "web"))]
    assert found == [("ml", "web-7d9-x")]
