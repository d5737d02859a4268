"""Why a workload has no pods although nothing refuses them."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.workloads import idle_state
from dractl.views import Workload


def of(kind: str, spec: dict[str, Any], uid: str = "u", **more: Any) -> tuple[str, str] | None:
    found = idle_state(
        kind, Workload({"metadata": {"uid": uid}, "spec": spec, **more}, ("ml", "x"))
    )
    return None if found is None else (found.why, found.resume)


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
def test_a_workload_that_wants_no_pods(
    kind: str, spec: dict[str, Any], why: str, resume: str
) -> None:
    found = of(kind, spec)
    assert found is not None
    assert why in found[0]
    assert found[1].startswith(resume)


def test_a_job_that_is_over() -> None:
    done = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert of("Job", {"parallelism": 1}, status=done) == ("Job ml/x is done", "")
    limit = "Job has reached the specified backoff limit"
    failed = {"conditions": [{"type": "Failed", "status": "True", "message": limit}]}
    assert of("Job", {"parallelism": 1}, status=failed) == (f"Job ml/x has failed ({limit})", "")


def test_a_queue_resumes_its_jobs_itself() -> None:
    found = of(
        "Job",
        {"suspend": True},
        metadata={"uid": "u", "labels": {"kueue.x-k8s.io/queue-name": "team"}},
    )
    assert found is not None
    assert "LocalQueue ml/team" in found[0]
    assert found[1] == "kubectl get workloads.kueue.x-k8s.io -n ml"


def test_a_workload_that_wants_pods_and_one_that_is_no_object_of_a_cluster() -> None:
    assert of("Deployment", {"replicas": 2}) is None
    assert of("Job", {"suspend": True}, uid="") is None
    assert idle_state("Pod", Workload(None, ("ml", "x"))) is None
