"""The cluster after a change: what controllers and the queue make of it. The situations were played on Kubernetes
1.37.1; what it did is what is asserted."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.cluster.changes import Delete, Patch
from dractl.scheduler.attempt import Scheduler
from dractl.simulation import World, after
from dractl.simulation.controllers import rolling
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

DRIVER = "gpu.example.com"
GPU = device_class(DRIVER, f"device.driver == '{DRIVER}'")
SPEC = {"devices": {"requests": [request("r", DRIVER)]}}
TEMPLATE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "t", "namespace": "ml"},
    "spec": {"spec": SPEC},
}


def machine(name: str, *gpus: str, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    return node(name, **more), slice_of(DRIVER, name, *map(device, gpus))


def replica(
    name: str, owner: str = "", on: str = "", gpu: str = "", **spec: Any
) -> list[dict[str, Any]]:
    """A pod of ``owner`` (Kind/name) with its claim; ``on`` a node it has ``gpu``."""
    metadata: dict[str, Any] = {"uid": f"uid-{name}", "creationTimestamp": "2026-01-01T00:00:00Z"}
    kind, _, of = owner.partition("/")
    if owner:
        metadata["ownerReferences"] = [{"kind": kind, "name": of, "uid": of, "controller": True}]
    status: dict[str, Any] = {"phase": "Running" if on else "Pending"}
    status["resourceClaimStatuses"] = [{"name": "g", "resourceClaimName": f"{name}-g"}]
    own = claim(
        f"{name}-g",
        request("r", DRIVER),
        metadata={
            "ownerReferences": [{"kind": "Pod", "name": name, "uid": f"uid-{name}"}],
            "uid": f"uid-{name}-g",
        },
        status=allocation(on, (DRIVER, gpu), pod=name) if on else {},
    )
    reference = {"name": "g", "resourceClaimTemplateName": "t"}
    spec = {**spec, **({"nodeName": on} if on else {})}
    return [
        pod(name, reference, metadata=metadata, status=status, spec=spec, requests={"cpu": "1"}),
        own,
    ]


def workload(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "main", "image": "x"}]}}
    group = "batch/v1" if kind == "Job" else "apps/v1"
    metadata = {"name": name, "namespace": "ml", "uid": f"uid-{name}"}
    return {
        "apiVersion": group,
        "kind": kind,
        "metadata": metadata,
        "spec": {"template": template, **spec},
    }


def world(objects: list[Any], *changes: Any, of: str = "p", **more: Any) -> World:
    flat = [o for item in objects for o in (item if isinstance(item, list | tuple) else [item])]
    return after(
        Scheduler(state_of(GPU, TEMPLATE, *flat), Features.for_release("1.37")),
        changes,
        ("ml", of),
        **more,
    )


UNCORDON = Patch("Node/n-2", ({"op": "remove", "path": "/spec/unschedulable"},))
CORDONED = [machine("n-1"), machine("n-2", "gpu-0", unschedulable=True)]


def test_a_node_that_is_free_again_takes_the_pod() -> None:
    assert world([*CORDONED, replica("p")], UNCORDON).runs


def test_a_freed_node_goes_to_the_pod_of_higher_priority() -> None:
    then = world([*CORDONED, replica("p"), replica("first", priority=1000)], UNCORDON)
    assert not then.runs
    assert then.placed == ((("ml", "first"), "n-2"),)


def test_a_pod_of_lower_priority_comes_later() -> None:
    assert world([*CORDONED, replica("p", priority=10), replica("second")], UNCORDON).runs


def test_a_pod_keeps_the_claim_that_it_has_whatever_its_template_makes_now() -> None:
    """pkg/controller/resourceclaim makes the claim of a pod once."""
    larger = {**TEMPLATE, "spec": {"spec": {"devices": {"requests": [request("r", DRIVER, 5)]}}}}
    assert world([*CORDONED, larger, replica("p")], UNCORDON).runs


def test_a_job_fails_when_more_of_its_pods_are_deleted_than_its_backoff_limit() -> None:
    job = workload("Job", "train", backoffLimit=1, parallelism=3, completions=3)
    running = [replica(f"w-{i}", "Job/train", "n-1", f"gpu-{i}") for i in range(2)]
    objects = [machine("n-1", "gpu-0", "gpu-1"), job, *running, replica("p", "Job/train")]
    then = world(objects, Delete("Pod/ml/w-0"), Delete("Pod/ml/w-1"))
    assert then.failed == ("Job ml/train fails: backoffLimit 1, and 2 of its pods have ended",)
    assert not then.runs
    assert set(then.ended) == {("ml", "w-0"), ("ml", "w-1")}


def test_the_pods_of_a_suspended_job_do_not_count_as_failed() -> None:
    job = workload("Job", "train", backoffLimit=0)
    assert world([machine("n-1", "gpu-0"), job, replica("p", "Job/train")], Delete("Pod/ml/p")).runs


def test_a_replica_set_makes_a_deleted_pod_anew() -> None:
    objects = [machine("n-1", "gpu-0"), workload("ReplicaSet", "other", replicas=1)]
    holder = replica("holder", "ReplicaSet/other", "n-1", "gpu-0", priority=5)
    then = world([*objects, holder, replica("p")], Delete("Pod/ml/holder"))
    assert not then.runs  # its replacement is as important as it was, and there before


def test_a_workload_that_becomes_smaller_makes_no_pod_anew() -> None:
    objects = [machine("n-1", "gpu-0"), workload("ReplicaSet", "other", replicas=1)]
    less = Patch("ReplicaSet/ml/other", ({"op": "replace", "path": "/spec/replicas", "value": 0},))
    then = world(
        [*objects, replica("holder", "ReplicaSet/other", "n-1", "gpu-0"), replica("p")], less
    )
    assert then.runs
    assert then.ended == (("ml", "holder"),)


def test_what_a_smaller_workload_frees_goes_to_the_pod_in_front() -> None:
    objects = [machine("n-1", "gpu-0"), workload("ReplicaSet", "other", replicas=1)]
    less = Patch("ReplicaSet/ml/other", ({"op": "replace", "path": "/spec/replicas", "value": 0},))
    holder = replica("holder", "ReplicaSet/other", "n-1", "gpu-0")
    then = world([*objects, holder, replica("p"), replica("first", priority=1000)], less)
    assert not then.runs
    assert then.placed == ((("ml", "first"), "n-1"),)


def test_the_pods_that_a_quota_admits_stay() -> None:
    """Of two pods that are made anew it refuses one: the ReplicaSet has no pod too many."""
    old = [replica(f"web-{i}", "ReplicaSet/web", "n-1", f"gpu-{i}") for i in range(2)]
    objects = [machine("n-1", "gpu-0", "gpu-1"), workload("ReplicaSet", "web", replicas=2), *old]
    two = {**ONE_POD, "spec": {"hard": {"requests.cpu": "2"}}}  # one for the pod that waits
    then = world(
        [*objects, two, replica("p", **NOWHERE)], Delete("Pod/ml/web-0"), Delete("Pod/ml/web-1")
    )
    pods = then.scheduler.state.all("Pod").values()
    assert [pod["spec"].get("nodeName") for pod in pods if pod["metadata"]["name"] != "p"] == [
        "n-1"
    ]
    assert "exceeded quota: q" in then.refused[0]


def deployment(**strategy: Any) -> list[dict[str, Any]]:
    return [workload("Deployment", "web", replicas=1, strategy=strategy), *_replica_set()]


def _replica_set() -> list[dict[str, Any]]:
    value = workload("ReplicaSet", "web-abc", replicas=1)
    value["metadata"]["ownerReferences"] = [
        {"kind": "Deployment", "name": "web", "controller": True}
    ]
    return [value]


def of_web(name: str, **more: Any) -> list[dict[str, Any]]:
    waiting, own = replica(name, "ReplicaSet/web-abc", **more)
    waiting["metadata"]["labels"] = {"pod-template-hash": "abc"}
    return [waiting, own]


CORRECTED = Patch(
    "Deployment/ml/web", ({"op": "add", "path": "/spec/template/spec/hostname", "value": "web"},)
)
ONE_POD = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "q", "namespace": "ml"},
    "spec": {"hard": {"requests.cpu": "1"}},
}


NOWHERE = {"nodeSelector": {"pool": "gone"}}


def corrected(waiting: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in waiting["spec"].items() if key not in NOWHERE}


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "fences"),
    [(3, 0, 0, (0, 1)), (3, "25%", "25%", (1, 0)), (1, "0%", "10%", (0, 1)), (8, 1, 2, (1, 2))],
)
def test_the_fences_of_a_rollout(
    replicas: int, surge: object, unavailable: object, fences: tuple[int, int]
) -> None:
    """pkg/controller/deployment/util ResolveFenceposts: surge is rounded up, unavailable down; one of them is not 0."""
    update = {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}
    assert rolling({"spec": {"replicas": replicas, "strategy": update}}) == fences


def test_a_rollout_makes_the_new_pod_beside_the_old_one() -> None:
    waiting = of_web("p", **NOWHERE)
    then = world(
        [machine("n-1", "gpu-0"), *deployment(), waiting], CORRECTED, spec=corrected(waiting[0])
    )
    assert then.runs
    assert [node for _, node in then.placed] == ["n-1"]


def test_a_quota_that_the_old_pod_uses_up_stops_its_own_rollout() -> None:
    waiting = of_web("p", **NOWHERE)
    then = world(
        [machine("n-1", "gpu-0"), ONE_POD, *deployment(), waiting],
        CORRECTED,
        spec=corrected(waiting[0]),
    )
    assert not then.runs
    assert "exceeded quota: q" in then.refused[0]


def test_with_max_unavailable_the_old_pod_ends_first() -> None:
    waiting = of_web("p", **NOWHERE)
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    objects = [machine("n-1", "gpu-0"), ONE_POD, *deployment(**rolling), waiting]
    assert world(objects, CORRECTED, spec=corrected(waiting[0])).runs


def test_a_finalizer_of_others_keeps_the_name_of_a_stateful_sets_pod() -> None:
    waiting = replica("p-0", "StatefulSet/p")
    waiting[0]["metadata"]["finalizers"] = ["example.com/flush"]
    objects = [machine("n-1", "gpu-0"), workload("StatefulSet", "p", replicas=1), waiting]
    then = world(objects, Delete("Pod/ml/p-0"), of="p-0")
    assert not then.runs
    assert then.stays == ("ml/p-0",)


@pytest.mark.parametrize(("policy", "placed"), [("OrderedReady", []), ("Parallel", ["p-1"])])
def test_a_replica_that_cannot_be_made_holds_up_those_after_it(
    policy: str, placed: list[str]
) -> None:
    """pkg/controller/statefulset processReplica, runForAll: only with the policy Parallel the others are made."""
    pods = [replica(f"p-{n}", "StatefulSet/p", "n-1", f"gpu-{n}") for n in range(2)]
    pods[0][0]["metadata"]["finalizers"] = ["example.com/flush"]
    owner = workload("StatefulSet", "p", replicas=2, podManagementPolicy=policy)
    changes = [Delete(f"Pod/ml/p-{n}") for n in range(2)]
    then = world([machine("n-1", "gpu-0", "gpu-1"), owner, *pods], *changes, of="p-1")
    assert [key[1] for key, _ in then.placed] == placed
    assert then.refused == ("StatefulSet ml/p cannot make its pod: pod ml/p-0 is still there",)


KILLED = {"onExitCodes": {"operator": "In", "values": [137, 143]}}
BY_POLICY = "Job ml/train fails: its podFailurePolicy ends it with the first killed pod"
EVICTED = {"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


@pytest.mark.parametrize(
    ("rules", "limit", "failed"),
    [
        (
            [{"action": "FailJob", **KILLED}],
            6,
            ("Job ml/train fails: its podFailurePolicy ends it with the first killed pod",),
        ),
        ([{"action": "Ignore", **KILLED}, {"action": "FailJob", **KILLED}], 0, ()),
        # kubectl delete sets no DisruptionTarget, so that the pod counts
        (
            [{"action": "Ignore", **EVICTED}],
            0,
            ("Job ml/train fails: backoffLimit 0, and 1 of its pods have ended",),
        ),
        (
            [{"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [137, 143]}}],
            6,
            (),
        ),
    ],
)
def test_a_jobs_pod_failure_policy_decides_about_pods_that_are_deleted(
    rules: list[Any], limit: int, failed: tuple[str, ...]
) -> None:
    job = workload(
        "Job",
        "train",
        backoffLimit=limit,
        parallelism=2,
        completions=2,
        podFailurePolicy={"rules": rules},
    )
    worker = replica("w-0", "Job/train", "n-1", "gpu-0")
    then = world(
        [machine("n-1", "gpu-0"), job, worker, replica("p", "Job/train")], Delete("Pod/ml/w-0")
    )
    assert then.failed == failed


def test_an_index_without_retries_is_not_made_anew() -> None:
    job = workload(
        "Job",
        "train",
        backoffLimitPerIndex=0,
        parallelism=2,
        completions=2,
        completionMode="Indexed",
    )
    worker = replica("w-0", "Job/train", "n-1", "gpu-0")
    then = world(
        [machine("n-1", "gpu-0"), job, worker, replica("p", "Job/other")], Delete("Pod/ml/w-0")
    )
    assert (then.failed, then.placed) == ((), ((("ml", "p"), "n-1"),))


@pytest.mark.parametrize(
    ("policy", "ended"), [({}, {"lws-0", "lws-0-1"}), ({"restartPolicy": "None"}, {"lws-0-1"})]
)
def test_a_leader_worker_set_restarts_a_group_as_a_whole(
    policy: dict[str, str], ended: set[str]
) -> None:
    labels = {
        "leaderworkerset.sigs.k8s.io/name": "lws",
        "leaderworkerset.sigs.k8s.io/group-index": "0",
    }
    template = {"spec": {"containers": [{"name": "main", "image": "x"}]}}
    owner = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "lws", "namespace": "ml"},
        "spec": {"leaderWorkerTemplate": {"size": 2, "workerTemplate": template, **policy}},
    }
    leader = replica("lws-0", "StatefulSet/lws", "n-1", "gpu-0")
    worker = replica("lws-0-1", "StatefulSet/lws-0", "n-1", "gpu-1")
    for one in (leader[0], worker[0]):
        one["metadata"]["labels"] = labels
    sets = workload("StatefulSet", "lws", replicas=1), workload("StatefulSet", "lws-0", replicas=1)
    then = world(
        [machine("n-1", "gpu-0", "gpu-1"), owner, *sets, leader, worker, replica("p", priority=5)],
        Delete("Pod/ml/lws-0-1"),
    )
    assert then.placed[0][0] == ("ml", "p")
    assert {name for _, name in then.ended} == ended


def test_a_manifest_waits_behind_the_pods_in_front_of_it() -> None:
    """A pod that no server has seen has no uid, and neither has the other one: each is itself."""
    mine, first = replica("p")[:1], replica("first", priority=1000)[:1]
    for one in (*mine, *first):
        del one["metadata"]["uid"], one["status"]["resourceClaimStatuses"]
    assert world([*CORDONED, mine], UNCORDON).runs
    then = world([*CORDONED, mine, first], UNCORDON)
    assert (then.runs, then.placed) == (False, ((("ml", "first"), "n-2"),))


TEMPLATE_OF_PODS = {"spec": {"containers": [{"name": "main", "image": "x"}]}}


def job_set(policy: dict[str, Any] | None, **status: Any) -> list[Any]:
    """A JobSet of two Jobs with a worker each on a node, whose Jobs fail with the first pod that ends."""
    spec = {
        "replicatedJobs": [
            {"name": "w", "replicas": 2, "template": {"spec": {"template": TEMPLATE_OF_PODS}}}
        ]
    }
    if policy is not None:
        spec["failurePolicy"] = policy  # type: ignore[assignment]
    metadata = {"name": "llm", "namespace": "ml"}
    found: list[Any] = [
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": metadata,
            "spec": spec,
            "status": status,
        }
    ]
    for i in range(2):
        job = workload("Job", f"llm-w-{i}", backoffLimit=0, parallelism=1, completions=1)
        job["metadata"]["labels"] = {"jobset.sigs.k8s.io/replicatedjob-name": "w"}
        job["metadata"]["ownerReferences"] = [{"kind": "JobSet", "name": "llm", "controller": True}]
        found += [job, replica(f"w-{i}", f"Job/llm-w-{i}", "n-1", f"gpu-{i}")]
    return [machine("n-1", "gpu-0", "gpu-1"), *found, replica("p", priority=5)]


FAILS = "Job ml/llm-w-0 fails: backoffLimit 0, and 1 of its pods have ended, and JobSet ml/llm with it: "
EXCEEDED = {"onJobFailureReasons": ["BackoffLimitExceeded"]}


@pytest.mark.parametrize(
    ("policy", "status", "why"),
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
        # which message the Job will have is not known: the rule that ends all of it counts
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
    policy: dict[str, Any] | None, status: dict[str, Any], why: str
) -> None:
    """kubernetes-sigs/jobset pkg/controllers/failure_policy.go."""
    then = world(job_set(policy, **status), Delete("Pod/ml/w-0"))
    assert then.failed == (f"{FAILS}{why}",)
    assert {name for _, name in then.ended} == {"w-0", "w-1"}


@pytest.mark.parametrize(
    ("policy", "ended", "remark"),
    [
        ({"maxRestarts": 3}, {"w-0", "w-1"}, "restarts as a whole, with 2 restarts left"),
        ({"maxRestarts": 1}, {"w-0", "w-1"}, "restarts as a whole, with 0 restarts left"),
        (
            {"rules": [{"action": "RestartJobSetAndIgnoreMaxRestarts", **EXCEEDED}]},
            {"w-0", "w-1"},
            "restarts as a whole",
        ),
        # the rule is about another replicated Job
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
def test_a_job_set_makes_its_jobs_anew(
    policy: dict[str, Any], ended: set[str], remark: str
) -> None:
    then = world(job_set(policy), Delete("Pod/ml/w-0"))
    said, left = then.remarks  # two devices for three pods
    assert (then.runs, then.failed, said) == (True, (), f"JobSet ml/llm {remark}")
    assert left.startswith("leaves 1 of the pods of Job ml/llm-w-")
    assert {name for _, name in then.ended} == ended


def test_a_suspended_job_set_ends_the_pods_of_all_its_jobs() -> None:
    suspend = Patch("JobSet/ml/llm", ({"op": "add", "path": "/spec/suspend", "value": True},))
    then = world(job_set(None), suspend)
    assert (then.runs, then.failed) == (True, ())
    assert {name for _, name in then.ended} == {"w-0", "w-1"}


def test_that_an_unknown_kind_makes_its_pods_anew_is_said_to_be_assumed() -> None:
    worker = replica("w-0", "RayCluster/llm", "n-1", "gpu-0")
    then = world([machine("n-1", "gpu-0"), worker, replica("p", priority=5)], Delete("Pod/ml/w-0"))
    assert (
        then.remarks[0]
        == "assumed: RayCluster ml/llm, a kind that dractl does not know, makes its pods anew"
    )
    objects = [machine("n-1", "gpu-0"), workload("ReplicaSet", "web", replicas=1)]
    then = world(
        [*objects, replica("w-0", "ReplicaSet/web", "n-1", "gpu-0"), replica("p", priority=5)],
        Delete("Pod/ml/w-0"),
    )
    assert then.remarks == ("leaves 1 of the pods of ReplicaSet ml/web pending",)


def test_who_is_left_pending_is_said() -> None:
    """The StatefulSet of other pods makes its pod anew, and the device has gone to the one with the higher priority."""
    objects = [machine("n-1", "gpu-0"), workload("StatefulSet", "web", replicas=1)]
    then = world(
        [*objects, replica("web-0", "StatefulSet/web", "n-1", "gpu-0"), replica("p", priority=5)],
        Delete("Pod/ml/web-0"),
    )
    assert (then.runs, then.remarks) == (
        True,
        ("leaves 1 of the pods of StatefulSet ml/web pending",),
    )
    objects[0] = machine("n-1", "gpu-0", "gpu-1")
    then = world(
        [*objects, replica("web-0", "StatefulSet/web", "n-1", "gpu-0"), replica("p", priority=5)],
        Delete("Pod/ml/web-0"),
    )
    assert (then.runs, then.remarks) == (True, ())
