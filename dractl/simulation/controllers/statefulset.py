"""Replace and scale the pods of a StatefulSet.

Upstream: kubernetes pkg/controller/statefulset/stateful_set_control.go.
"""

from dractl.cluster.workloads import ordinal
from dractl.simulation.controllers.change import NO_ACTION, ControllerAction, WorkloadChange
from dractl.simulation.controllers.replicas import is_available, replica_count
from dractl.views import Pod, Workload


def reconcile_stateful_set(change: WorkloadChange) -> ControllerAction:
    """Delete pods beyond the replicas, then replace missing ones under their names.

    With the policy OrderedReady, each pod waits until all pods with lower ordinals are available.
    """
    end = _end_of_ordinals(change.current)
    surplus = [pod for pod in change.active_pods if end is not None and ordinal(pod.raw) >= end]
    if surplus:
        return ControllerAction(pods_to_delete=tuple(surplus))
    missing = _list_missing_pods(change, end)
    if change.current.pod_management_policy == "Parallel":
        return ControllerAction(pods_to_create=tuple(missing[change.rejections :]))
    if not missing or change.rejections:
        return NO_ACTION
    predecessors = [pod for pod in change.active_pods if ordinal(pod.raw) < ordinal(missing[0].raw)]
    if not all(map(is_available, predecessors)):
        return NO_ACTION
    return ControllerAction(pods_to_create=(missing[0],))


def _end_of_ordinals(stateful_set: Workload) -> int | None:
    """Return the ordinal after the last replica's; None if the input lacks the StatefulSet."""
    if not stateful_set.exists:
        return None
    return stateful_set.first_ordinal + replica_count(stateful_set)


def _list_missing_pods(change: WorkloadChange, end: int | None) -> list[Pod]:
    """Return the deleted pods below ``end`` that have not been replaced yet, lowest ordinal
    first.
    """
    names = {pod.name for pod in change.active_pods}
    missing = (
        pod
        for pod in change.deleted_pods
        if pod.name not in names and (end is None or ordinal(pod.raw) < end)
    )
    return sorted(missing, key=lambda pod: ordinal(pod.raw))
