"""Whole simulations: controllers and the queue after a change.

Each situation was played on Kubernetes 1.37.1; the tests assert what it did.
"""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.changes import Change, Delete, Patch
from dractl.simulation import NO_SUBJECT, SimulationOptions, SimulationResult, simulate
from tests.simulation.cluster import (
    Object,
    claim_template,
    job_set,
    leader_worker_set,
    machine,
    replica,
    scheduler_of,
    workload,
)


def simulate_changes(
    objects: list[Any], *changes: Change, subject: str = "p", new_pod_spec: Object | None = None
) -> SimulationResult:
    """Simulate changes to a cluster of ``objects`` for the pod ``subject``."""
    options = SimulationOptions(new_pod_spec=new_pod_spec)
    return simulate(scheduler_of(*objects), changes, ("ml", subject), options)


def names_of_ended_pods(outcome: SimulationResult) -> set[str]:
    return {name for _, name in outcome.ended_pods}


# -- the queue --

UNCORDON = Patch("Node/n-2", ({"op": "remove", "path": "/spec/unschedulable"},))
CORDONED = [machine("n-1"), machine("n-2", "gpu-0", unschedulable=True)]


def test_an_uncordoned_node_takes_the_pod() -> None:
    assert simulate_changes([*CORDONED, replica("p")], UNCORDON).subject_runs


def test_an_uncordoned_node_takes_the_pod_of_higher_priority_first() -> None:
    objects = [*CORDONED, replica("p"), replica("first", priority=1000)]
    outcome = simulate_changes(objects, UNCORDON)
    assert not outcome.subject_runs
    assert outcome.placements == ((("ml", "first"), "n-2"),)
    assert outcome.scheduled_first == (("ml", "first"),)


def test_a_pod_of_lower_priority_is_scheduled_later() -> None:
    objects = [*CORDONED, replica("p", priority=10), replica("second")]
    assert simulate_changes(objects, UNCORDON).subject_runs


def test_a_pod_keeps_its_claim_if_the_template_changes() -> None:
    """pkg/controller/resourceclaim generates the claim of a pod once."""
    assert simulate_changes([*CORDONED, claim_template(5), replica("p")], UNCORDON).subject_runs


def test_a_manifest_waits_behind_other_pods_without_a_uid() -> None:
    """A pod that no API server has seen is identified by its name."""
    subject, first = replica("p")[0], replica("first", priority=1000)[0]
    for manifest in (subject, first):
        del manifest["metadata"]["uid"], manifest["status"]["resourceClaimStatuses"]
    assert simulate_changes([*CORDONED, subject], UNCORDON).subject_runs
    outcome = simulate_changes([*CORDONED, subject, first], UNCORDON)
    assert not outcome.subject_runs
    assert outcome.placements == ((("ml", "first"), "n-2"),)


# -- Jobs --


def test_a_job_fails_if_more_pods_are_deleted_than_its_backoff_limit() -> None:
    job = workload("Job", "train", backoffLimit=1, parallelism=3, completions=3)
    workers = [replica(f"w-{index}", "Job/train", "n-1", f"gpu-{index}") for index in range(2)]
    objects = [machine("n-1", "gpu-0", "gpu-1"), job, *workers, replica("p", "Job/train")]
    outcome = simulate_changes(objects, Delete("Pod/ml/w-0"), Delete("Pod/ml/w-1"))
    message = "Job ml/train fails: backoffLimit 1, and 2 of its pods have ended"
    assert outcome.failed_jobs == (message,)
    assert not outcome.subject_runs
    assert names_of_ended_pods(outcome) == {"w-0", "w-1"}


def test_pods_of_a_suspended_job_do_not_count_as_failed() -> None:
    job = workload("Job", "train", backoffLimit=0)
    objects = [machine("n-1", "gpu-0"), job, replica("p", "Job/train")]
    assert simulate_changes(objects, Delete("Pod/ml/p")).subject_runs


KILLED = {"onExitCodes": {"operator": "In", "values": [137, 143]}}
NOT_KILLED = {"onExitCodes": {"operator": "NotIn", "values": [137, 143]}}
EVICTED = {"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
FAILED_BY_POLICY = "Job ml/train fails: its podFailurePolicy ends it with the first killed pod"
FAILED_BY_LIMIT = "Job ml/train fails: backoffLimit 0, and 1 of its pods have ended"


@pytest.mark.parametrize(
    ("rules", "limit", "messages"),
    [
        ([{"action": "FailJob", **KILLED}], 6, (FAILED_BY_POLICY,)),
        ([{"action": "Ignore", **KILLED}, {"action": "FailJob", **KILLED}], 0, ()),
        # kubectl delete does not set DisruptionTarget, so the pod counts.
        ([{"action": "Ignore", **EVICTED}], 0, (FAILED_BY_LIMIT,)),
        ([{"action": "FailJob", **NOT_KILLED}], 6, ()),
    ],
    ids=["exit-code-fails-job", "first-rule-wins", "condition-is-not-set", "exit-code-not-in"],
)
def test_the_pod_failure_policy_of_a_job_applies_to_deleted_pods(
    rules: list[Any], limit: int, messages: tuple[str, ...]
) -> None:
    policy = {"rules": rules}
    job = workload(
        "Job", "train", backoffLimit=limit, parallelism=2, completions=2, podFailurePolicy=policy
    )
    worker = replica("w-0", "Job/train", "n-1", "gpu-0")
    objects = [machine("n-1", "gpu-0"), job, worker, replica("p", "Job/train")]
    assert simulate_changes(objects, Delete("Pod/ml/w-0")).failed_jobs == messages


def test_an_index_without_retries_is_not_recreated() -> None:
    spec = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
    job = workload("Job", "train", backoffLimitPerIndex=0, **spec)
    worker = replica("w-0", "Job/train", "n-1", "gpu-0")
    objects = [machine("n-1", "gpu-0"), job, worker, replica("p", "Job/other")]
    outcome = simulate_changes(objects, Delete("Pod/ml/w-0"))
    assert outcome.failed_jobs == ()
    assert outcome.placements == ((("ml", "p"), "n-1"),)


# -- ReplicaSets --

SCALE_TO_ZERO = Patch(
    "ReplicaSet/ml/other", ({"op": "replace", "path": "/spec/replicas", "value": 0},)
)


def replica_set_with_the_only_gpu(**holder_spec: Any) -> list[Any]:
    holder = replica("holder", "ReplicaSet/other", "n-1", "gpu-0", **holder_spec)
    return [machine("n-1", "gpu-0"), workload("ReplicaSet", "other", replicas=1), holder]


def test_a_replica_set_recreates_a_deleted_pod() -> None:
    objects = [*replica_set_with_the_only_gpu(priority=5), replica("p")]
    outcome = simulate_changes(objects, Delete("Pod/ml/holder"))
    assert not outcome.subject_runs  # the new pod has the higher priority


def test_scaling_down_recreates_no_pod() -> None:
    outcome = simulate_changes([*replica_set_with_the_only_gpu(), replica("p")], SCALE_TO_ZERO)
    assert outcome.subject_runs
    assert names_of_ended_pods(outcome) == {"holder"}


def test_devices_freed_by_scaling_down_go_to_the_pod_of_higher_priority() -> None:
    objects = [*replica_set_with_the_only_gpu(), replica("p"), replica("first", priority=1000)]
    outcome = simulate_changes(objects, SCALE_TO_ZERO)
    assert not outcome.subject_runs
    assert outcome.placements == ((("ml", "first"), "n-1"),)


def cpu_quota(cpus: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "ml"},
        "spec": {"hard": {"requests.cpu": str(cpus)}},
    }


NOWHERE = {"nodeSelector": {"pool": "gone"}}


def test_a_quota_rejects_one_of_two_recreated_pods_and_the_other_one_stays() -> None:
    """The ReplicaSet has one pod too few then, and deletes none."""
    replicas = [
        replica(f"web-{index}", "ReplicaSet/web", "n-1", f"gpu-{index}") for index in (0, 1)
    ]
    objects = [machine("n-1", "gpu-0", "gpu-1"), workload("ReplicaSet", "web", replicas=2)]
    waiting = replica("p", **NOWHERE)  # uses one of the two CPUs
    outcome = simulate_changes(
        [*objects, *replicas, cpu_quota(2), waiting], Delete("Pod/ml/web-0"), Delete("Pod/ml/web-1")
    )
    pods = outcome.scheduler.state.objects("Pod").items()
    assert [pod["spec"].get("nodeName") for (_, name), pod in pods if name != "p"] == ["n-1"]
    assert "exceeded quota: q" in outcome.rejections[0]


# -- Deployments --

CORRECT_TEMPLATE = Patch(
    "Deployment/ml/web", ({"op": "add", "path": "/spec/template/spec/hostname", "value": "web"},)
)


def deployment_with_pending_pod(**strategy: Any) -> list[Any]:
    """Return a Deployment whose only pod ``p`` fits no node, and a machine with a GPU."""
    replica_set = workload("ReplicaSet", "web-abc", replicas=1)
    owner = {"kind": "Deployment", "name": "web", "controller": True}
    replica_set["metadata"]["ownerReferences"] = [owner]
    pending, claim = replica("p", "ReplicaSet/web-abc", **NOWHERE)
    pending["metadata"]["labels"] = {"pod-template-hash": "abc"}
    deployment = workload("Deployment", "web", replicas=1, strategy=strategy)
    return [machine("n-1", "gpu-0"), deployment, replica_set, pending, claim]


def simulate_correction(objects: list[Any]) -> SimulationResult:
    """Simulate a rollout that removes the node selector of pod ``p``."""
    (spec,) = (o["spec"] for o in objects if isinstance(o, dict) and o["kind"] == "Pod")
    corrected_spec = {key: value for key, value in spec.items() if key not in NOWHERE}
    return simulate_changes(objects, CORRECT_TEMPLATE, new_pod_spec=corrected_spec)


def test_a_rollout_creates_the_new_pod_beside_the_old_one() -> None:
    outcome = simulate_correction(deployment_with_pending_pod())
    assert outcome.subject_runs
    assert [node for _, node in outcome.placements] == ["n-1"]
    assert outcome.scheduled_first == ()  # the new pod did not exist before


def test_a_quota_exhausted_by_the_old_pod_stops_the_rollout() -> None:
    outcome = simulate_correction([*deployment_with_pending_pod(), cpu_quota(1)])
    assert not outcome.subject_runs
    assert "exceeded quota: q" in outcome.rejections[0]


def test_a_rollout_with_max_unavailable_deletes_the_old_pod_first() -> None:
    update = {"maxSurge": 0, "maxUnavailable": 1}
    objects = deployment_with_pending_pod(type="RollingUpdate", rollingUpdate=update)
    assert simulate_correction([*objects, cpu_quota(1)]).subject_runs


# -- StatefulSets --


def test_a_foreign_finalizer_keeps_the_name_of_a_stateful_set_pod() -> None:
    pod, claim = replica("p-0", "StatefulSet/p")
    pod["metadata"]["finalizers"] = ["example.com/flush"]
    objects = [machine("n-1", "gpu-0"), workload("StatefulSet", "p", replicas=1), pod, claim]
    outcome = simulate_changes(objects, Delete("Pod/ml/p-0"), subject="p-0")
    assert not outcome.subject_runs
    assert outcome.kept_by_finalizers == ("ml/p-0",)


@pytest.mark.parametrize(("policy", "placed_pods"), [("OrderedReady", []), ("Parallel", ["p-1"])])
def test_only_ordered_stateful_set_pods_wait_for_a_rejected_pod(
    policy: str, placed_pods: list[str]
) -> None:
    """pkg/controller/statefulset processReplica, runForAll."""
    pods = [replica(f"p-{index}", "StatefulSet/p", "n-1", f"gpu-{index}") for index in (0, 1)]
    pods[0][0]["metadata"]["finalizers"] = ["example.com/flush"]
    owner = workload("StatefulSet", "p", replicas=2, podManagementPolicy=policy)
    deletions = [Delete(f"Pod/ml/p-{index}") for index in (0, 1)]
    objects = [machine("n-1", "gpu-0", "gpu-1"), owner, *pods]
    outcome = simulate_changes(objects, *deletions, subject="p-1")
    assert [name for (_, name), _ in outcome.placements] == placed_pods
    message = "StatefulSet ml/p cannot make its pod: pod ml/p-0 is still there"
    assert outcome.rejections == (message,)


# -- LeaderWorkerSets and JobSets --


@pytest.mark.parametrize(
    ("template", "ended_pods"),
    [({}, {"lws-0", "lws-0-1"}), ({"restartPolicy": "None"}, {"lws-0-1"})],
)
def test_a_leader_worker_set_restarts_a_group_as_a_whole(
    template: dict[str, str], ended_pods: set[str]
) -> None:
    objects = [machine("n-1", "gpu-0", "gpu-1"), leader_worker_set(**template)]
    outcome = simulate_changes([*objects, replica("p", priority=5)], Delete("Pod/ml/lws-0-1"))
    assert outcome.placements[0][0] == ("ml", "p")
    assert names_of_ended_pods(outcome) == ended_pods


JOB_SET_FAILS = (
    "Job ml/llm-w-0 fails: backoffLimit 0, and 1 of its pods have ended, "
    "and JobSet ml/llm with it: "
)
EXCEEDED = {"onJobFailureReasons": ["BackoffLimitExceeded"]}


def delete_worker(policy: Object | None, **status: Any) -> SimulationResult:
    """Delete a pod of a JobSet that has all GPUs, for which pod ``p`` waits."""
    objects = [machine("n-1", "gpu-0", "gpu-1"), job_set(policy, **status)]
    return simulate_changes([*objects, replica("p", priority=5)], Delete("Pod/ml/w-0"))


@pytest.mark.parametrize(
    ("policy", "status", "cause"),
    [
        (None, {}, "it has no failurePolicy"),
        (
            {"maxRestarts": 3},
            {"restarts": 5, "restartsCountTowardsMax": 3},
            "its restarts are used up",
        ),
        ({}, {}, "its restarts are used up"),  # maxRestarts is 0 by default
        (
            {"maxRestarts": 3, "rules": [{"action": "FailJobSet", **EXCEEDED}]},
            {},
            "its failurePolicy says FailJobSet",
        ),
        # The message of the failed Job is unknown: the rule that fails the JobSet counts.
        (
            {
                "maxRestarts": 3,
                "rules": [{"action": "FailJobSet", "onJobFailureMessagePatterns": ["x"]}],
            },
            {},
            "its failurePolicy says FailJobSet",
        ),
        (
            {"maxRestarts": 1, "rules": [{"action": "RestartJob"}]},
            {"replicatedJobsStatus": [{"name": "w", "jobRestartsCountTowardsMax": [0, 1]}]},
            "its restarts are used up",
        ),
    ],
)
def test_a_job_set_fails_with_its_job(
    policy: Object | None, status: dict[str, Any], cause: str
) -> None:
    """kubernetes-sigs/jobset pkg/controllers/failure_policy.go."""
    outcome = delete_worker(policy, **status)
    assert outcome.failed_jobs == (f"{JOB_SET_FAILS}{cause}",)
    assert names_of_ended_pods(outcome) == {"w-0", "w-1"}


@pytest.mark.parametrize(
    ("policy", "ended_pods", "note"),
    [
        ({"maxRestarts": 3}, {"w-0", "w-1"}, "restarts as a whole, with 2 restarts left"),
        ({"maxRestarts": 1}, {"w-0", "w-1"}, "restarts as a whole, with 0 restarts left"),
        (
            {"rules": [{"action": "RestartJobSetAndIgnoreMaxRestarts", **EXCEEDED}]},
            {"w-0", "w-1"},
            "restarts as a whole",
        ),
        # The rule is about another replicated Job.
        (
            {
                "maxRestarts": 2,
                "rules": [{"action": "FailJobSet", "targetReplicatedJobs": ["other"]}],
            },
            {"w-0", "w-1"},
            "restarts as a whole, with 1 restart left",
        ),
        (
            {"rules": [{"action": "RestartJobAndIgnoreMaxRestarts"}]},
            {"w-0"},
            "restarts Job llm-w-0",
        ),
    ],
)
def test_a_job_set_restarts_its_jobs(policy: Object, ended_pods: set[str], note: str) -> None:
    outcome = delete_worker(policy)
    restart_note, pending_note = outcome.notes  # two devices for three pods
    assert outcome.subject_runs
    assert outcome.failed_jobs == ()
    assert restart_note == f"JobSet ml/llm {note}"
    assert pending_note.startswith("leaves 1 of the pods of Job ml/llm-w-")
    assert names_of_ended_pods(outcome) == ended_pods


def test_a_suspended_job_set_ends_the_pods_of_all_its_jobs() -> None:
    suspend = Patch("JobSet/ml/llm", ({"op": "add", "path": "/spec/suspend", "value": True},))
    objects = [machine("n-1", "gpu-0", "gpu-1"), job_set(None), replica("p", priority=5)]
    outcome = simulate_changes(objects, suspend)
    assert outcome.subject_runs
    assert outcome.failed_jobs == ()
    assert names_of_ended_pods(outcome) == {"w-0", "w-1"}


# -- notes --


def test_a_note_tells_of_the_assumption_about_an_unknown_kind() -> None:
    worker = replica("w-0", "RayCluster/llm", "n-1", "gpu-0")
    objects = [machine("n-1", "gpu-0"), worker, replica("p", priority=5)]
    notes = simulate_changes(objects, Delete("Pod/ml/w-0")).notes
    assert notes[0] == "assumed: RayCluster ml/llm (unknown kind) recreates its pods"


def test_no_note_is_needed_for_the_pods_of_a_replica_set() -> None:
    objects = [*replica_set_with_the_only_gpu(), replica("p", priority=5)]
    outcome = simulate_changes(objects, Delete("Pod/ml/holder"))
    assert outcome.notes == ("leaves 1 of the pods of ReplicaSet ml/other pending",)


@pytest.mark.parametrize(
    ("gpus", "notes"),
    [
        (["gpu-0"], ("leaves 1 of the pods of StatefulSet ml/web pending",)),
        (["gpu-0", "gpu-1"], ()),
    ],
)
def test_a_note_counts_recreated_pods_still_pending(
    gpus: list[str], notes: tuple[str, ...]
) -> None:
    """The StatefulSet recreates its pod, whose device went to the pod of higher priority."""
    stateful_set = workload("StatefulSet", "web", replicas=1)
    holder = replica("web-0", "StatefulSet/web", "n-1", "gpu-0")
    objects = [machine("n-1", *gpus), stateful_set, holder, replica("p", priority=5)]
    outcome = simulate_changes(objects, Delete("Pod/ml/web-0"))
    assert outcome.subject_runs
    assert outcome.notes == notes


def test_pods_that_were_pending_before_are_not_counted_in_a_note() -> None:
    """Derived, not played: the ReplicaSet recreates the deleted pod, and one of its pods is pending as before."""
    replica_set = workload("ReplicaSet", "web", replicas=2)
    running = replica("web-0", "ReplicaSet/web", "n-1", "gpu-0")
    pending = replica("web-1", "ReplicaSet/web")
    machines = machine("n-1", "gpu-0", "gpu-1"), machine("n-2")
    objects = [*machines, replica_set, running, pending, replica("p", priority=5)]
    outcome = simulate_changes(objects, Delete("Pod/ml/web-0"))
    assert outcome.subject_runs
    assert outcome.notes == ()


# -- many pods --


def test_as_many_pods_are_created_as_were_deleted() -> None:
    """A ReplicaSet replaces each of them, however many."""
    names = [f"r-{number}" for number in range(30)]
    gpus = [f"gpu-{number}" for number in range(30)]
    pods = [
        replica(name, "ReplicaSet/other", "n-1", gpu) for name, gpu in zip(names, gpus, strict=True)
    ]
    owner = workload("ReplicaSet", "other", replicas=30)
    scheduler = scheduler_of(machine("n-1", *gpus, allocatable={"cpu": "64"}), owner, *pods)
    deletions = [Delete(f"Pod/ml/{name}") for name in names]
    outcome = simulate(scheduler, deletions, NO_SUBJECT)
    assert sorted(outcome.successors.values()) == sorted(("ml", name) for name in names)
    assert len(outcome.placements) == 30
