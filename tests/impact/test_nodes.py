"""Drains, cordons and reboots of a node: order, budgets, and what never ends."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.errors import UsageError
from dractl.impact import (
    Impact,
    find_cordon_impact,
    find_drain_impact,
    find_node,
    find_reboot_impact,
)
from tests.explain.cluster import pod
from tests.simulation.cluster import machine, replica, scheduler_of, workload

FEATURES = Features.for_release("1.37")
READY = [{"type": "Ready", "status": "True"}]


def budget(name: str, allowed: int, healthy: int, desired: int, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"selector": {"matchLabels": labels or {"app": "serve"}}},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
        },
    }


def running_replica(name: str, gpu: str, owner: str = "Deployment/serve", **spec: Any) -> list[Any]:
    value, claim = replica(name, owner, "n-1", gpu, **spec)
    value["metadata"]["labels"] = {"app": "serve"}
    value["status"]["conditions"] = READY
    return [value, claim]


SERVE = workload("Deployment", "serve", replicas=2)


def drain(*objects: Any) -> Impact:
    return find_drain_impact(find_node(scheduler_of(*objects).state, FEATURES, "n-1"))


def effects(impact: Impact) -> dict[str, str]:
    return {pod.key[1]: pod.effect for pod in impact.pods}


@pytest.mark.parametrize("known", ["", "n-1 n-2", "n-2"])
def test_pods_of_a_drained_node_go_to_another_one_even_without_a_node_object(known: str) -> None:
    """The slices name both nodes; n-1 may also be deleted, with n-2 still there."""
    machines = [(machine(name, "gpu-0"), name in known.split()) for name in ("n-1", "n-2")]
    nodes = [node for (node, _), is_known in machines if is_known]
    slices = [published for (_, published), _ in machines]
    impact = drain(nodes, slices, SERVE, running_replica("a", "gpu-0"))
    assert {p.key[1]: (p.effect, p.fits) for p in impact.pods} == {"a": ("evicted", "n-2")}


def test_a_budget_lets_one_go_and_the_next_once_it_is_replaced() -> None:
    """kubectl drain tries again every 5 s: with room elsewhere the budget allows the second one, too."""
    pods = [*running_replica("a", "gpu-0"), *running_replica("b", "gpu-1")]
    rest = (machine("n-1", "gpu-0", "gpu-1"), SERVE, budget("guard", 1, 2, 1), pods)
    with_room = drain(*rest, machine("n-2", "gpu-0", "gpu-1"))
    assert {p.key[1]: (p.effect, p.at, p.fits) for p in with_room.pods} == {
        "a": ("evicted", 0, "n-2"),
        "b": ("evicted", None, "n-2"),
    }
    without = drain(*rest)
    assert sorted(effects(without).values()) == ["blocked", "evicted"]
    (blocked,) = without.list_pods("blocked")
    assert "needs 1 healthy pods and has 1" in blocked.why


def test_eviction_names_the_owner_and_the_data_that_goes() -> None:
    """kubectl drain refuses pods with an emptyDir without --delete-emptydir-data (pkg/drain/filters.go)."""
    scratch = running_replica("b", "gpu-1", volumes=[{"name": "tmp", "emptyDir": {}}])
    impact = drain(
        machine("n-1", "gpu-0", "gpu-1"),
        machine("n-2", "gpu-0", "gpu-1"),
        SERVE,
        running_replica("a", "gpu-0"),
        scratch,
    )
    why = {pod.key[1]: pod.why for pod in impact.list_pods("evicted")}
    assert why == {
        "a": "Deployment serve creates it again",
        "b": "Deployment serve creates it again; the data of its emptyDir goes"
        " (--delete-emptydir-data)",
    }


def test_a_bare_pod_stops_the_whole_drain() -> None:
    impact = drain(
        machine("n-1", "gpu-0", "gpu-1"),
        SERVE,
        running_replica("a", "gpu-0"),
        running_replica("b", "gpu-1", ""),
    )
    assert effects(impact) == {"a": "waits", "b": "blocked"}
    assert "evicts no pod until ml/b is gone" in impact.list_pods("waits")[0].why


def test_budget_without_pods_is_named() -> None:
    idle = budget("idle", 0, 0, 0, app="nobody")
    impact = drain(machine("n-1", "gpu-0"), SERVE, running_replica("a", "gpu-0"), idle)
    assert any("idle selects no pod" in note for note in impact.notes)


def test_a_pod_of_a_stopped_driver_stays_terminating_and_keeps_its_device() -> None:
    (node, _), (other, slices) = machine("n-1"), machine("n-2", "gpu-0")
    impact = drain(node, other, slices, SERVE, running_replica("a", "gpu-0"))
    (blocked,) = impact.list_pods("blocked")
    assert "has to unprepare its claim" in blocked.why
    assert blocked.fits == "n-2"


@pytest.mark.parametrize(
    ("finalizers", "effect"), [([], "evicted"), (["example.com/cleanup"], "blocked")]
)
def test_terminating_pod_ends_unless_a_finalizer_holds_it(
    finalizers: list[str], effect: str
) -> None:
    leaving, held = running_replica("a", "gpu-0")
    leaving["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": finalizers}
    impact = drain(machine("n-1", "gpu-0"), SERVE, leaving, held)
    assert effects(impact) == {"a": effect}
    assert "Terminating already" in impact.pods[0].why


def test_the_plug_in_is_stopped_after_the_pods() -> None:
    impact = drain(machine("n-1", "gpu-0"), SERVE, running_replica("a", "gpu-0"))
    texts = [step.text for step in impact.steps]
    evict, stop = (
        next(i for i, text in enumerate(texts) if text.startswith(start))
        for start in ("evict the pods", "only now stop the plug-in")
    )
    assert evict < stop


def test_pods_of_daemon_sets_and_static_pods_stay() -> None:
    static = pod("etcd", spec={"nodeName": "n-1"}, status={"phase": "Running"})
    static["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    agent = running_replica("agent", "gpu-0", "DaemonSet/agent")
    impact = drain(machine("n-1", "gpu-0"), static, agent)
    assert effects(impact) == {"agent": "kept", "etcd": "kept"}


@pytest.mark.parametrize(("namespace", "effect"), [("ml", "blocked"), ("kube-system", "kept")])
def test_only_daemon_sets_of_its_namespace_prove_that_the_owner_of_a_pod_is_gone(
    namespace: str, effect: str
) -> None:
    """A dump may have the DaemonSets of one namespace only."""
    other = workload("DaemonSet", "other")
    other["metadata"] |= {"namespace": namespace, "uid": "1"}
    agent = running_replica("agent", "gpu-0", "DaemonSet/agent")
    assert effects(drain(machine("n-1", "gpu-0"), other, agent)) == {"agent": effect}


def test_pods_of_a_deleted_node_are_garbage() -> None:
    """The pod garbage collector deletes them (pkg/controller/podgc/gc_controller.go gcOrphaned)."""
    node, _ = machine("n-2")
    state = scheduler_of(node, replica("a", "", "n-1", "gpu-0")).state
    impact = find_cordon_impact(find_node(state, FEATURES, "n-1"))
    assert any("there is no Node n-1: pods that name it" in note for note in impact.notes)
    state = scheduler_of(machine("n-1"), replica("a", "", "n-1", "gpu-0")).state
    impact = find_cordon_impact(find_node(state, FEATURES, "n-1"))
    assert not any("there is no Node" in note for note in impact.notes)


def test_a_cordon_takes_the_node_from_pending_pods() -> None:
    state = scheduler_of(machine("n-1", "gpu-0"), replica("p")).state
    impact = find_cordon_impact(find_node(state, FEATURES, "n-1"))
    assert [(p.pod, p.before, p.after) for p in impact.pending] == [("ml/p", "n-1", None)]
    assert not impact.hits


def test_reboot_ends_pods_without_restart() -> None:
    job = workload("Job", "train")
    pods = [
        *running_replica("a", "gpu-0"),
        *running_replica("b", "gpu-1", "Job/train", restartPolicy="Never"),
    ]
    state = scheduler_of(machine("n-1", "gpu-0", "gpu-1"), SERVE, job, pods).state
    impact = find_reboot_impact(find_node(state, FEATURES, "n-1"))
    assert effects(impact) == {"a": "waits", "b": "evicted"}


def reboot(*objects: Any) -> Impact:
    return find_reboot_impact(find_node(scheduler_of(*objects).state, FEATURES, "n-1"))


def test_reboot_hits_only_pods_without_return() -> None:
    """The exit code is 1 exactly if a pod that runs is ended, or cannot start again."""
    comes_back = reboot(machine("n-1", "gpu-0"), SERVE, running_replica("a", "gpu-0"))
    assert not comes_back.hits
    (waits,) = comes_back.pods
    assert "start again on the node once gpu.example.com has registered" in waits.why
    (node, _), (other, slices) = machine("n-1"), machine("n-2", "gpu-0")
    stopped = reboot(node, other, slices, SERVE, running_replica("a", "gpu-0"))
    assert [pod.effect for pod in stopped.pods] == ["blocked"]
    assert stopped.hits
    job = running_replica("b", "gpu-0", "Job/train", restartPolicy="Never")
    assert reboot(machine("n-1", "gpu-0"), workload("Job", "train"), job).hits


def test_terminating_pod_does_not_start_again_after_a_reboot() -> None:
    value, claim = running_replica("a", "gpu-0")
    value["metadata"]["deletionTimestamp"] = "2026-10-01T09:00:00Z"
    (gone,) = reboot(machine("n-1", "gpu-0"), SERVE, value, claim).pods
    assert (gone.effect, gone.why) == ("evicted", "it is Terminating already")


def test_reboot_is_no_disruption_ignorable_by_a_job() -> None:
    """The kubelet sets DisruptionTarget only in a graceful shutdown, which is off by default."""
    ignores = {
        "action": "Ignore",
        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
    }
    fields = {"backoffLimit": 0, "podFailurePolicy": {"rules": [ignores]}}
    job = workload("Job", "train", parallelism=1, **fields)
    pod = running_replica("a", "gpu-0", "Job/train", restartPolicy="Never")
    nodes = (machine("n-1", "gpu-0"), machine("n-2", "gpu-0"))
    assert [one.fits for one in drain(*nodes, job, pod).pods] == ["n-2"]
    rebooted = reboot(*nodes, job, pod)
    assert [one.fits for one in rebooted.pods] == [None]
    assert any("Job ml/train fails" in note for note in rebooted.notes)


def test_a_known_deadlock_of_a_reboot_is_named_with_its_source() -> None:
    """NVIDIA/k8s-driver-manager#213, fixed in v0.12.0."""

    def notes(tag: str) -> list[str]:
        manager = pod("driver", spec={"nodeName": "n-1"}, status={"phase": "Running"})
        manager["spec"]["initContainers"] = [
            {"name": "m", "image": f"nvcr.io/nvidia/cloud-native/k8s-driver-manager:{tag}"}
        ]
        state = scheduler_of(machine("n-1", "gpu-0"), manager).state
        impact = find_reboot_impact(find_node(state, FEATURES, "n-1"))
        return [note for note in impact.notes if "k8s-driver-manager#213" in note]

    assert len(notes("v0.11.0")) == 1
    assert not notes("v0.12.0")


def test_missing_node_has_a_nearest_name() -> None:
    with pytest.raises(UsageError, match="no node n-11; did you mean n-1"):
        find_node(scheduler_of(machine("n-1", "gpu-0")).state, FEATURES, "n-11")


@pytest.mark.parametrize(
    ("fields", "fits", "fails"),
    [
        ({"backoffLimit": 0}, None, True),
        ({"backoffLimit": 1}, "n-2", False),
        (
            {
                "backoffLimit": 0,
                "podFailurePolicy": {
                    "rules": [
                        {
                            "action": "Ignore",
                            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                        }
                    ]
                },
            },
            "n-2",
            False,
        ),
    ],
    ids=["fails", "retries", "ignores-evictions"],
)
def test_an_evicted_pod_counts_for_its_job(
    fields: dict[str, Any], fits: str | None, fails: bool
) -> None:
    """pkg/controller/job: an eviction is a failed pod, unless the Job ignores the condition that it sets."""
    job = workload("Job", "train", parallelism=1, **fields)
    impact = drain(
        machine("n-1", "gpu-0"),
        machine("n-2", "gpu-0"),
        job,
        running_replica("a", "gpu-0", "Job/train"),
    )
    assert [pod.fits for pod in impact.pods] == [fits]
    assert any("Job ml/train fails" in note for note in impact.notes) == fails


def test_a_budget_does_not_keep_a_pod_whose_job_fails() -> None:
    """The Job controller deletes pods, which asks no budget."""
    job = workload("Job", "train", backoffLimit=0, parallelism=2, completions=2)
    pods = [
        *running_replica("a", "gpu-0", "Job/train"),
        *running_replica("b", "gpu-1", "Job/train"),
    ]
    impact = drain(machine("n-1", "gpu-0", "gpu-1"), job, pods, budget("guard", 1, 2, 1))
    assert sorted(effects(impact)) == ["a", "b"]
    assert set(effects(impact).values()) == {"evicted"}
