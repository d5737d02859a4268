"""Plans: what moves where, in which order, and what has to stay."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.capacity.copies import copies_of_object
from dractl.cluster.labels import parse_labels
from dractl.planning import subject_of_copies
from dractl.planning.commands import list_batches
from tests.explain.cluster import request, state_of
from tests.planning.cluster import (
    DRIVER,
    PCIE_ROOT,
    machine,
    moves,
    objects,
    plan_for,
    running,
    template,
    waiting,
)

ALIGNED = {"constraints": [{"matchAttribute": PCIE_ROOT}]}


def test_one_pod_moves_to_the_node_with_room() -> None:
    plan = plan_for(
        machine("a", 2),
        machine("b", 2),
        running("x", "StatefulSet/x", "a", 0),
        running("y", "StatefulSet/y", "b", 0),
        running("z", "", "b", 1),
        waiting(1),
    )
    assert plan.verdict == "fits"
    plan = plan_for(
        machine("a", 2),
        machine("b", 2),
        running("x", "StatefulSet/x", "a", 0),
        running("y", "", "b", 0),
        waiting(2),
    )
    assert (plan.verdict, moves(plan)) == ("plan", [("x", "a", "b")])
    assert plan.places == ((("ml", "x"), "b"), (("ml", "wanted"), "a"))
    assert plan.steps[0].owner == "StatefulSet/ml/x"
    assert plan.steps[0].cordon == ("a",)


def test_a_node_without_a_spec_is_emptied() -> None:
    node, slices = machine("a", 2)
    del node["spec"]
    plan = plan_for(
        [node, slices],
        machine("b", 2),
        running("x", "StatefulSet/x", "a", 0),
        running("y", "", "b", 0),
        waiting(2),
    )
    assert moves(plan) == [("x", "a", "b")]


@pytest.mark.parametrize(
    ("app", "verdict", "moved"), [("x", "plan", [("y", "a", "b")]), ("nobody", "none", [])]
)
def test_a_place_beside_a_pod_of_the_affinity(
    app: str, verdict: str, moved: list[tuple[str, str, str]]
) -> None:
    """An empty cluster has nobody to join: the pod that runs counts, and it may stay."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    plan = plan_for(
        machine("a", 2),
        machine("b", 1),
        running("x", "StatefulSet/x", "a", 0, metadata={"labels": {"app": "x"}}),
        running("y", "StatefulSet/y", "a", 1),
        waiting(1, affinity=affinity),
    )
    assert (plan.verdict, moves(plan)) == (verdict, moved)
    assert plan.is_hopeless == (verdict == "none")


@pytest.mark.parametrize(("older", "younger"), [("x", "y"), ("y", "x")])
def test_of_two_jobs_the_one_that_has_run_less_starts_again(older: str, younger: str) -> None:
    pods = {"x": running("x", "Job/x", "a", 0), "y": running("y", "Job/y", "a", 1)}
    pods[older][0]["status"]["startTime"] = "2026-01-01T00:00:00Z"
    pods[younger][0]["status"]["startTime"] = "2026-01-02T00:00:00Z"
    plan = plan_for(
        machine("a", 2),
        machine("b", 1),
        pods["x"],
        pods["y"],
        waiting(1, nodeSelector={"kubernetes.io/hostname": "a"}),
    )
    assert moves(plan) == [(younger, "a", "b")]


def test_new_pods_are_numbered_from_one() -> None:
    state = state_of(*objects(machine("a", 2)))
    subject = subject_of_copies(copies_of_object(state, "ResourceClaimTemplate", ("ml", "t1")), 2)
    assert [key[1].rpartition("-")[2] for key in subject.pods] == ["1", "2"]


def test_a_pod_without_place_waits_for_another_to_leave() -> None:
    """x needs two GPUs; b has them once y has gone to c."""
    plan = plan_for(
        machine("a", 2),
        machine("b", 2),
        machine("c", 1),
        running("x", "StatefulSet/x", "a", 0, 1),
        running("y", "StatefulSet/y", "b", 0),
        waiting(2, nodeName="", nodeSelector={"kubernetes.io/hostname": "a"}),
    )
    assert moves(plan) == [("y", "b", "c"), ("x", "a", "b")]


def test_the_fewest_pods_move() -> None:
    plan = plan_for(
        machine("a", 4),
        machine("b", 4),
        machine("c", 4),
        running("a1", "StatefulSet/a1", "a", 0),
        running("a2", "StatefulSet/a2", "a", 1),
        running("b1", "StatefulSet/b1", "b", 0, 1),
        running("c1", "", "c", 0),
        waiting(4),
    )
    assert moves(plan) in ([("b1", "b", "c")], [("b1", "b", "a")])


def test_pods_of_one_pcie_root_move() -> None:
    """Three GPUs are free, but never two at a root: one move frees a pair."""
    aligned = {**template(2, **ALIGNED), "metadata": {"name": "t7", "namespace": "ml"}}
    plan = plan_for(
        machine("a", 6),
        machine("b", 1),
        running("x", "StatefulSet/x", "a", 0),
        running("y", "", "a", 2),
        running("z", "", "a", 4),
        waiting(7),
        aligned,
    )
    assert moves(plan) == [("x", "a", "b")]


def test_a_pod_moves_whose_claim_nobody_else_uses() -> None:
    """Its claim binds it to its node, and is deallocated once it is gone."""
    pod, its_claim = running("x", "ReplicaSet/x", "a", 0)
    pod["spec"]["resourceClaims"] = [{"name": "gpus", "resourceClaimName": "x-gpus"}]
    del pod["status"]["resourceClaimStatuses"], its_claim["metadata"]["ownerReferences"]
    plan = plan_for(machine("a", 2), machine("b", 1), pod, its_claim, waiting(2))
    assert moves(plan) == [("x", "a", "b")]


@pytest.mark.parametrize(("lower", "higher"), [("x", "y"), ("y", "x")])
def test_the_pod_of_lower_priority_moves(lower: str, higher: str) -> None:
    nodes = {"x": "a", "y": "b"}
    plan = plan_for(
        machine("a", 2),
        machine("b", 2),
        machine("c", 1),
        running(lower, f"StatefulSet/{lower}", nodes[lower], 0, priority=1),
        running(higher, f"StatefulSet/{higher}", nodes[higher], 0, priority=5),
        waiting(2, priority=10),
    )
    assert [move[0] for move in moves(plan)] == [lower]


def test_one_of_several_replicas_moves_rather_than_a_job() -> None:
    plan = plan_for(
        machine("a", 2),
        machine("b", 2),
        machine("c", 2),
        running("job-1", "Job/job", "a", 0),
        running("web-1", "ReplicaSet/web", "b", 0),
        running("web-2", "ReplicaSet/web", "c", 0),
        waiting(2),
    )
    assert moves(plan)[0][0].startswith("web")


def job(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job", "namespace": "ml", "uid": "job"},
        "spec": {
            "parallelism": 2,
            "completions": 2,
            "template": {"spec": {"containers": []}},
            **spec,
        },
    }


def two_workers(**spec: Any) -> tuple[Any, ...]:
    """A Job with two pods, both of which have to move."""
    return (
        machine("a", 2),
        machine("b", 1),
        machine("c", 1),
        running("job-1", "Job/job", "a", 0),
        running("job-2", "Job/job", "a", 1),
        job(**spec),
        waiting(2),
    )


def test_a_job_recreates_its_pods_after_a_growing_delay() -> None:
    plan = plan_for(*two_workers())
    assert [step.delay for step in plan.steps] == [10, 20]
    assert "Job/ml/job recreates a failed pod after 10 s, then 20 s: its back-off" in plan.notes


def test_a_job_is_not_moved_until_it_fails() -> None:
    """Each evicted pod counts as failed; with one too many the Job fails."""
    assert plan_for(*two_workers(backoffLimit=2)).verdict == "plan"
    assert plan_for(*two_workers(backoffLimit=1)).verdict == "none"
    assert plan_for(*two_workers(backoffLimit=0)).verdict == "none"


@pytest.mark.parametrize(("failed", "verdict"), [(1, "plan"), (2, "none")])
def test_pods_of_a_job_that_have_failed_before_count(failed: int, verdict: str) -> None:
    """pkg/controller/job/job_controller.go compares all failed pods with backoffLimit."""
    *others, moved, subject = two_workers(backoffLimit=3)
    assert plan_for(*others, {**moved, "status": {"failed": failed}}, subject).verdict == verdict


def test_eviction_ignored_by_a_failure_policy_does_not_count() -> None:
    policy = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
    assert plan_for(*two_workers(backoffLimit=0, podFailurePolicy=policy)).moved == 2


def test_missing_plan_names_holders_and_why_they_stay() -> None:
    plan = plan_for(
        machine("a", 1),
        machine("b", 1),
        running("x", "", "a", 0),
        running("y", "", "b", 0),
        waiting(1),
    )
    assert plan.verdict == "none"
    assert "pod ml/x on a does not move: it has no controller: nothing recreates it" in plan.reasons


def test_no_arrangement_of_the_movable_pods_has_room() -> None:
    plan = plan_for(
        machine("a", 2),
        machine("b", 2),
        running("x", "StatefulSet/x", "a", 0, 1),
        running("y", "StatefulSet/y", "b", 0),
        waiting(2),
    )
    assert plan.verdict == "none"
    assert not plan.is_hopeless


@pytest.mark.parametrize(
    "subject", [waiting(4), waiting(1, nodeSelector={"pool": "none"})], ids=["devices", "selector"]
)
def test_subject_too_large_for_an_empty_node_is_hopeless(subject: dict[str, Any]) -> None:
    plan = plan_for(machine("a", 2), running("x", "StatefulSet/x", "a", 0), subject)
    assert (plan.verdict, plan.is_hopeless) == ("none", True)


def test_labels_keep_pods_where_they_are() -> None:
    cluster = (
        machine("a", 2),
        machine("b", 2),
        machine("c", 1),
        running("x", "StatefulSet/x", "a", 0, metadata={"labels": {"app": "x"}}),
        running("y", "StatefulSet/y", "b", 0, metadata={"labels": {"app": "y"}}),
        waiting(2),
    )
    for kept, moved in (("x", "y"), ("y", "x")):
        plan = plan_for(*cluster, keep=parse_labels(f"app={kept}"))
        assert [move[0] for move in moves(plan)] == [moved]


def test_several_pods_find_room_together() -> None:
    plan = plan_for(
        machine("a", 2),
        machine("b", 2),
        machine("c", 2),
        running("x", "StatefulSet/x", "a", 0),
        running("y", "StatefulSet/y", "b", 0),
        waiting(2, "w1"),
        waiting(2, "w2"),
        subjects=("w1", "w2"),
    )
    assert plan.verdict == "plan"
    assert plan.moved == 1  # one of them fits on c as it is
    nodes = {node for (_, name), node in plan.places if name in ("w1", "w2")}
    assert len(nodes) == 2


def test_a_pod_may_end_where_it_finds_no_place() -> None:
    cluster = (
        machine("a", 2),
        machine("b", 2),
        running("x", "StatefulSet/x", "a", 0, 1),
        running("y", "StatefulSet/y", "b", 0),
        waiting(2),
    )
    assert plan_for(*cluster).verdict == "none"
    plan = plan_for(*cluster, may_end=True)
    assert (plan.verdict, plan.ended, plan.moved) == ("plan", 1, 0)
    assert "stays pending" in plan.notes[0]


def test_a_move_is_better_than_an_end() -> None:
    plan = plan_for(
        machine("a", 2),
        machine("b", 1),
        running("x", "StatefulSet/x", "a", 0),
        waiting(2),
        may_end=True,
    )
    assert (plan.ended, plan.moved) == (0, 1)


GANG = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "ring", "namespace": "ml"},
    "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
}


def ring(*nodes: str) -> list[Any]:
    group = {"schedulingGroup": {"podGroupName": "ring"}}
    return [
        part
        for number, node in enumerate(nodes)
        for part in running(f"ring-{number}", "Job/ring", node, 0, **group)
    ]


def test_a_gang_moves_as_one() -> None:
    plan = plan_for(
        machine("a", 2),
        machine("b", 2),
        machine("c", 2),
        GANG,
        ring("a", "b"),
        running("z", "", "b", 1),
        waiting(2, nodeSelector={"kubernetes.io/hostname": "a"}),
    )
    assert {move[0] for move in moves(plan)} == {"ring-0", "ring-1"}
    assert all(step.target != "a" and step.gang for step in plan.steps)


def test_a_gang_without_room_for_all_its_pods_stays() -> None:
    plan = plan_for(
        machine("a", 2), machine("b", 1), GANG, ring("a", "b"), running("z", "", "a", 1), waiting(2)
    )
    assert plan.verdict == "none"


def test_node_needed_by_a_later_step_is_kept_free() -> None:
    """x fits on b and on c, and y on c alone: x must not take c."""
    plan = plan_for(
        machine("a", 4),
        machine("b", 1),
        machine("c", 2, labels={"pool": "c"}),
        running("x", "StatefulSet/x", "a", 0),
        running("y", "StatefulSet/y", "a", 1, 2, nodeSelector={}),
        waiting(4),
    )
    assert sorted(moves(plan)) == [("x", "a", "b"), ("y", "a", "c")]
    first = plan.steps[0]
    assert first.pod[1] == "y" or "c" in first.cordon


def test_cpu_has_to_be_there_as_well() -> None:
    plan = plan_for(
        machine("a", 1),
        machine("b", 1, allocatable={"cpu": "0"}),
        machine("c", 1),
        running("x", "StatefulSet/x", "a", 0),
        running("y", "", "c", 0),
        waiting(1, nodeSelector={"kubernetes.io/hostname": "a"}),
    )
    assert plan.verdict == "none"


def test_pods_move_between_nodes_that_only_slices_name() -> None:
    plan = plan_for(
        machine("a", 2)[1:],
        machine("b", 2)[1:],
        running("x", "StatefulSet/x", "a", 0),
        running("y", "", "b", 0),
        waiting(2),
    )
    assert moves(plan) == [("x", "a", "b")]


def test_pod_with_all_devices_of_a_node_moves_to_a_node_with_fewer() -> None:
    pod, its_claim = running("x", "StatefulSet/x", "a", 0, 1)
    every = request("gpu", DRIVER, allocationMode="All")
    del every["exactly"]["count"]
    its_claim["spec"]["devices"]["requests"] = [every]
    template_of_all = template(1)
    template_of_all["metadata"]["name"] = "all"
    template_of_all["spec"]["spec"]["devices"]["requests"] = [every]
    pod["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] = "all"
    plan = plan_for(machine("a", 2), machine("b", 1), template_of_all, [pod, its_claim], waiting(2))
    assert moves(plan) == [("x", "a", "b")]


def test_pod_of_another_scheduler_is_undecided() -> None:
    plan = plan_for(
        machine("a", 2), running("x", "StatefulSet/x", "a", 0), waiting(2, schedulerName="volcano")
    )
    assert plan.verdict == "undecided"
    assert plan.reasons == ("scheduler volcano places it, which is not simulated",)


def test_pods_ahead_in_the_queue_take_the_room() -> None:
    plan = plan_for(
        machine("a", 2),
        machine("b", 1),
        running("x", "StatefulSet/x", "a", 0),
        waiting(2, "first", priority=5),
        waiting(2),
    )
    assert plan.verdict == "none"
    assert "ml/first" in plan.reasons[0]


def waits(*parts: Any) -> list[str]:
    """Return, for each step of a plan, the command that waits for the new pod."""
    batches = list_batches(plan_for(*parts, waiting(2)).steps)
    return [batch.commands[-2] for batch in batches]


def test_a_step_waits_for_the_pods_of_the_owner_that_were_ready() -> None:
    """A replica that is not ready, or does not run, does not keep the node cordoned."""
    broken, its_claim = running("web-3", "ReplicaSet/web", "c", 1)
    broken["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    assert waits(
        machine("a", 2),
        machine("b", 1),
        machine("c", 2),
        running("web-1", "ReplicaSet/web", "a", 0),
        running("web-2", "ReplicaSet/web", "c", 0),
        broken,
        its_claim,
    ) == [
        "kubectl wait --for=jsonpath='{.status.readyReplicas}=2' replicaset/web -n ml --timeout=10m"
    ]


def test_a_step_waits_until_a_job_has_recreated_its_pod() -> None:
    command = "kubectl wait --for=jsonpath='{{.status.ready}}={}' job/job -n ml --timeout=10m"
    parts = two_workers()[:-1]
    assert waits(*parts) == [command.format(2)] * 2
    assert (
        waits(*parts, running("job-3", "Job/job", "c", 0), machine("d", 1))
        == [command.format(3)] * 2
    )


def test_a_step_shows_the_pods_of_an_unknown_controller() -> None:
    assert waits(machine("a", 2), machine("b", 1), running("x", "RayCluster/x", "a", 0)) == [
        "kubectl get pods -n ml -o wide"
    ]


def test_the_new_pod_of_a_stateful_set_is_told_from_the_old_one_by_its_node() -> None:
    plan = plan_for(
        machine("a", 2), machine("b", 1), running("x-0", "StatefulSet/x", "a", 0), waiting(2)
    )
    [batch] = list_batches(plan.steps)
    old_pod = "metadata.name=x-0,spec.nodeName=a"
    assert batch.commands[2:-1] == (
        f"kubectl wait --for=delete pods -n ml --field-selector {old_pod} --timeout=10m",
        "kubectl wait --for=create pod/x-0 -n ml --timeout=10m",
        "kubectl wait --for=condition=PodScheduled pod/x-0 -n ml --timeout=10m",
    )


@pytest.mark.parametrize(("older", "younger"), [("x", "y"), ("y", "x")])
def test_age_of_a_pod_that_loses_no_work_is_ignored(older: str, younger: str) -> None:
    pods = {name: running(name, f"StatefulSet/{name}", "a", n) for n, name in enumerate("xy")}
    pods[older][0]["status"]["startTime"] = "2026-01-01T00:00:00Z"
    pods[younger][0]["status"]["startTime"] = "2026-01-02T00:00:00Z"
    plan = plan_for(
        machine("a", 2),
        machine("b", 1),
        pods["x"],
        pods["y"],
        waiting(1, nodeSelector={"kubernetes.io/hostname": "a"}),
    )
    assert moves(plan) == [("x", "a", "b")]


def test_devices_of_several_requests_are_freed() -> None:
    requests = [request("first", DRIVER), request("second", DRIVER)]
    pair = {
        **template(2),
        "metadata": {"name": "t7", "namespace": "ml"},
        "spec": {"spec": {"devices": {"requests": requests}}},
    }
    plan = plan_for(
        machine("a", 2), machine("b", 1), running("x", "StatefulSet/x", "a", 0), waiting(7), pair
    )
    assert (plan.verdict, moves(plan)) == ("plan", [("x", "a", "b")])
