"""Workloads that have no pods although nothing refuses them."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.workloads import idle_state
from dractl.views import Workload


def idle_text(
    kind: str, spec: dict[str, Any], uid: str = "u", **more: Any
) -> tuple[str, str] | None:
    idle = idle_state(kind, Workload({"metadata": {"uid": uid}, "spec": spec, **more}, ("ml", "x")))
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
    assert idle_state("Pod", Workload(None, ("ml", "x"))) is None
