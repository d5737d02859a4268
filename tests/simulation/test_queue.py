"""The queue of pending pods: its order, its end, and its cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.allocation import Features
from dractl.scheduler.attempt import Scheduler
from dractl.simulation.queue import QueuedPod, build_queue, list_pending_pods, schedule_pods
from tests.simulation.cluster import Object, machine, replica, scheduler_of

if TYPE_CHECKING:
    from dractl.simulation.queue import PlacementCache

NODES = frozenset({"n-1", "n-2"})
AFFECTED_NODES = frozenset({"n-1"})


def queue_of(*pods: tuple[Object, Object], affected_nodes: frozenset[str]) -> list[QueuedPod]:
    """Return the queue for the pod ``p``, with a new pod ``created``."""
    scheduler = scheduler_of(*pods)
    pending_pods = list_pending_pods(scheduler.state)
    return build_queue(pending_pods, {"uid-created"}, {"uid-p"}, NODES, affected_nodes)


def test_pods_ahead_of_the_subject_use_only_the_affected_nodes() -> None:
    queue = queue_of(
        replica("p"),
        replica("ahead", priority=10),
        replica("created", priority=5),
        affected_nodes=AFFECTED_NODES,
    )
    assert [(entry.pod.name, entry.nodes) for entry in queue] == [
        ("ahead", AFFECTED_NODES),
        ("created", NODES),
        ("p", NODES),
    ]
    assert [entry.is_subject for entry in queue] == [False, False, True]
    assert [entry.generates_claims for entry in queue] == [False, True, False]


def test_the_queue_ends_with_the_subject() -> None:
    queue = queue_of(replica("p", priority=10), replica("z"), affected_nodes=AFFECTED_NODES)
    assert [entry.pod.name for entry in queue] == ["p"]


def test_pods_ahead_are_not_tried_if_the_change_affects_no_node() -> None:
    queue = queue_of(replica("p"), replica("ahead", priority=10), affected_nodes=frozenset())
    assert [entry.pod.name for entry in queue] == ["p"]


def test_pods_outside_the_scheduling_queue_are_not_pending() -> None:
    gated = replica("gated", schedulingGates=[{"name": "example.com/wait"}])
    foreign = replica("foreign", schedulerName="other-scheduler")
    scheduler = scheduler_of(replica("bound", on="n-1", gpu="gpu-0"), gated, foreign, replica("p"))
    pending_pods = list_pending_pods(scheduler.state)
    assert [pod.name for pod in pending_pods] == ["p"]


def entries(scheduler: Scheduler, *names: str) -> list[QueuedPod]:
    return [QueuedPod(scheduler.state.pod(("ml", name))) for name in names]


def test_pods_of_one_queue_share_the_devices() -> None:
    scheduler = scheduler_of(machine("n-1", "gpu-0"), machine("n-2", "gpu-0"), *map(replica, "abc"))
    queue_result = schedule_pods(scheduler, entries(scheduler, "a", "b", "c"), {}, ())
    assert queue_result.placements == ((("ml", "a"), "n-1"), (("ml", "b"), "n-2"))
    pods = queue_result.scheduler.state.objects("Pod")
    assert [pods["ml", name]["spec"].get("nodeName") for name in "abc"] == ["n-1", "n-2", None]


def test_the_queue_stops_once_a_subject_has_a_node() -> None:
    scheduler = scheduler_of(machine("n-1", "gpu-0", "gpu-1"), *map(replica, "ab"))
    (first, second) = entries(scheduler, "a", "b")
    subject = QueuedPod(first.pod, is_subject=True)
    queue_result = schedule_pods(scheduler, [subject, second], {}, ())
    assert queue_result.placements == ((("ml", "a"), "n-1"),)


def test_a_pod_is_tried_once_after_the_same_history() -> None:
    scheduler = scheduler_of(machine("n-1", "gpu-0"), *map(replica, "ab"))
    cache: PlacementCache = {}
    for history in (("uncordon",), ("uncordon",), ("delete",)):
        schedule_pods(scheduler, entries(scheduler, "a", "b"), cache, history)
    assert [(key[0], key[2]) for key in cache] == [
        (("uncordon",), ("ml", "a")),
        (("uncordon",), ("ml", "b")),
        (("delete",), ("ml", "a")),
        (("delete",), ("ml", "b")),
    ]


def test_equal_placements_make_one_cluster() -> None:
    scheduler = scheduler_of(machine("n-1", "gpu-0"), replica("a"))
    queue = entries(scheduler, "a")
    first, again = (schedule_pods(scheduler, queue, {}, ()).scheduler.state for _ in range(2))
    assert first is again
    older = Scheduler(scheduler.state, Features.for_release("1.34"))
    assert schedule_pods(older, queue, {}, ()).scheduler.state is not first
