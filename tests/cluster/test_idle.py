"""Workloads that have no pods although nothing refuses them."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.state import ClusterState
from dractl.cluster.workloads import idle_state


def idle_text(
    kind: str,
    spec: dict[str, Any],
    uid: str = "u",
    beside: tuple[dict[str, Any], ...] = (),
    **more: Any,
) -> tuple[str, str] | None:
    metadata = {"uid": uid, **more.pop("metadata", {}), "name": "x", "namespace": "ml"}
    kinds = {kind: {("ml", "x"): {"metadata": metadata, "spec": spec, **more}}}
    for value in beside:
        kinds.setdefault(value["kind"], {})["ml", value["metadata"]["name"]] = value
    idle = idle_state(ClusterState(kinds), kind, ("ml", "x"))
    return None if idle is None else (idle.why, idle.resume)


@pytest.mark.parametrize(
    ("kind", "spec", "why", "resume"),
    [
        ("Job", {"suspend": True}, "suspended (spec.suspend)", "kubectl patch job x -n ml"),
        ("JobSet", {"suspend": True}, "JobSet ml/x is suspended", "kubectl patch jobset x -n ml"),
        (
            "CronJob",
            {"suspend": True, "schedule": "0 3 * * *"},
            "suspended",
            "kubectl patch cronjob x -n ml",
        ),
        ("CronJob", {"schedule": "0 3 * * *"}, "its schedule is 0 3 * * *", ""),
        (
            "Deployment",
            {"paused": True, "replicas": 2},
            "paused",
            "kubectl rollout resume deployment/x -n ml",
        ),
        (
            "StatefulSet",
            {"replicas": 0},
            "0 replicas",
            "kubectl scale statefulset/x -n ml --replicas=1",
        ),
        ("Job", {"parallelism": 0}, "parallelism 0", ""),
    ],
)
def test_an_idle_workload_names_the_reason_and_the_command_to_resume(
    kind: str, spec: dict[str, Any], why: str, resume: str
) -> None:
    idle = idle_text(kind, spec)
    assert idle is not None
    assert why in idle[0]
    assert idle[1].startswith(resume)


def test_a_finished_job_is_idle() -> None:
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert idle_text("Job", {"parallelism": 1}, status=done) == ("Job ml/x is done", "")
    limit = "Job has reached the specified backoff limit"
    failed = {"conditions": [{"type": "Failed", "status": "True", "message": limit}]}
    assert idle_text("Job", {"parallelism": 1}, status=failed) == (
        f"Job ml/x has failed ({limit})",
        "",
    )


def test_a_job_suspended_by_kueue_names_its_queue() -> None:
    idle = idle_text(
        "Job",
        {"suspend": True},
        metadata={"uid": "u", "labels": {"kueue.x-k8s.io/queue-name": "team"}},
    )
    assert idle is not None
    assert "LocalQueue ml/team" in idle[0]
    assert idle[1] == "kubectl get workloads.kueue.x-k8s.io -n ml"


def test_workloads_in_need_of_pods_and_manifests_are_not_idle() -> None:
    assert idle_text("Deployment", {"replicas": 2}) is None
    assert idle_text("Job", {"suspend": True}, uid="") is None
    assert idle_state(ClusterState({}), "Pod", ("ml", "x")) is None


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            "insufficient unused quota for nvidia.com/gpu in flavor default, 1 more needed.",
            "Kueue says: insufficient unused quota for nvidia.com/gpu in flavor default, 1 more needed",
        ),
        (
            "DeviceClass gpu.nvidia.com is not mapped in DRA configuration",
            "(Kueue reads deviceClassMappings only when its manager starts)",
        ),
    ],
)
def test_a_job_suspended_by_kueue_quotes_its_workload(message: str, said: str) -> None:
    """kubernetes-sigs/kueue#13727: a class that was mapped while the manager ran is inadmissible."""
    condition = {"type": "QuotaReserved", "status": "False", "message": message}
    workload = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "name": "job-x",
            "namespace": "ml",
            "ownerReferences": [{"kind": "Job", "name": "x", "uid": "u"}],
        },
        "status": {"conditions": [condition]},
    }
    labels = {"kueue.x-k8s.io/queue-name": "team"}
    idle = idle_text("Job", {"suspend": True}, beside=(workload,), metadata={"labels": labels})
    assert idle is not None
    assert idle[0].endswith(said)
    other = idle_text("Job", {"suspend": True}, "v", (workload,), metadata={"labels": labels})
    assert other is not None
    assert "Kueue says" not in other[0]
