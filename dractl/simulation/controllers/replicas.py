"""Replicas of a workload: the number that it wants, and the pods that it has."""

from collections.abc import Iterable, Sequence

from dractl.cluster.workloads import deletion_rank
from dractl.simulation.controllers.change import NO_ACTION, ControllerAction, WorkloadChange
from dractl.views import Pod, Workload


def replica_count(workload: Workload) -> int:
    """Return ``spec.replicas`` of a workload, 1 by default."""
    return 1 if workload.replicas is None else workload.replicas


def filter_active_pods(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Return the pods that have neither ended nor are Terminating."""
    return tuple(pod for pod in pods if not pod.has_ended and not pod.deletion_timestamp)


def is_available(pod: Pod) -> bool:
    """Return whether a pod has a node and does not report that it is not ready."""
    is_ready = "Ready" not in pod.conditions or pod.conditions["Ready"].status == "True"
    return bool(pod.node_name) and is_ready


def rank_for_deletion(
    kind: str, pods: Sequence[Pod], active_pods: Sequence[Pod]
) -> tuple[Pod, ...]:
    """Return pods in the order in which a controller would delete them."""
    rank = deletion_rank(kind, [pod.raw for pod in active_pods])
    return tuple(sorted(pods, key=lambda pod: rank(pod.raw)))


def recreate_deleted_pods(change: WorkloadChange) -> ControllerAction:
    """Replace each pod that the change deletes."""
    missing = len(change.previous_pods) - len(change.active_pods) - change.rejections
    if missing <= 0:
        return NO_ACTION
    return ControllerAction(pods_to_create=change.deleted_pods[-missing:])
