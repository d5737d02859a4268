"""Scale a ReplicaSet, or a Deployment that is not rolling out.

Upstream: kubernetes pkg/controller/replicaset.
"""

from dractl.simulation.controllers.change import NO_ACTION, ControllerAction, WorkloadChange
from dractl.simulation.controllers.replicas import rank_for_deletion, replica_count


def scale(change: WorkloadChange) -> ControllerAction:
    """Scale the workload by the difference in ``spec.replicas``.

    The difference is added to the number of pods that the input shows, since it may lack some. Pods
    to delete are ranked as in pkg/controller/controller_utils.go ActivePodsWithRanks.
    """
    wanted = max(len(change.previous_pods) + _replica_difference(change), 0)
    surplus = len(change.active_pods) + change.rejections - wanted
    if surplus < 0:
        candidates = (*change.deleted_pods, *change.previous_pods)
        return ControllerAction(pods_to_create=candidates[:-surplus])
    if surplus > 0:
        victims = rank_for_deletion(change.kind, change.active_pods, change.active_pods)
        return ControllerAction(pods_to_delete=victims[:surplus])
    return NO_ACTION


def _replica_difference(change: WorkloadChange) -> int:
    if not change.previous.exists or not change.current.exists:
        return 0
    return replica_count(change.current) - replica_count(change.previous)
