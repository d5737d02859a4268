"""Roll out a Deployment.

Upstream: kubernetes pkg/controller/deployment, sync.go, rolling.go and recreate.go.
"""

from math import ceil, floor

from msgspec import Struct

from dractl.cluster.state import ClusterState
from dractl.simulation.controllers.change import NO_ACTION, ControllerAction, WorkloadChange
from dractl.simulation.controllers.replicas import is_available, rank_for_deletion, replica_count
from dractl.views import Pod, View, Workload

_REVISION_ANNOTATION = "deployment.kubernetes.io/revision"


class Fenceposts(Struct, frozen=True):
    """The limits of a rolling update: pods beyond the replicas, and unavailable replicas."""

    max_surge: int
    """Pods that may exist beyond the replicas."""

    max_unavailable: int
    """Replicas that may be unavailable."""


def resolve_fenceposts(deployment: Workload) -> Fenceposts | None:
    """Return the fenceposts of a rolling update, None for the strategy Recreate.

    Upstream: pkg/controller/deployment/util/deployment_util.go ResolveFenceposts.
    """
    if deployment.strategy_type == "Recreate":
        return None
    replicas, update = replica_count(deployment), deployment.rolling_update
    surge = _resolve_percentage(update.get("maxSurge", "25%"), replicas, round_up=True)
    unavailable = _resolve_percentage(update.get("maxUnavailable", "25%"), replicas, round_up=False)
    # A rollout that may neither add nor remove a pod would never proceed.
    return Fenceposts(surge, unavailable) if surge or unavailable else Fenceposts(0, 1)


def _resolve_percentage(value: object, replicas: int, *, round_up: bool) -> int:
    """Return a number of pods that is given as a number or as a percentage of the replicas."""
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdigit():
        pods = int(value[:-1]) * replicas / 100
        return ceil(pods) if round_up else floor(pods)
    return value if isinstance(value, int) else 0


def is_rolling_out(change: WorkloadChange) -> bool:
    """Return whether a Deployment replaces its pods after the change.

    A changed strategy counts, too, since it affects a rollout that is in progress.
    """
    if not change.current.exists or change.current.is_paused:
        return False
    if change.template_changed or _is_resumed(change):
        return True
    return bool(change.previous.spec.get("strategy") != change.current.spec.get("strategy"))


def _is_resumed(change: WorkloadChange) -> bool:
    """Return whether the change resumes a paused Deployment, whose template may have changed."""
    return change.previous.is_paused


def roll_out(state: ClusterState, change: WorkloadChange) -> ControllerAction:
    """Advance a rollout by one step: create new pods, or delete old ones.

    Each new pod is given as an old pod that it resembles, since only the caller knows the new
    template.
    """
    revisions = _split_by_revision(state, change)
    fenceposts = resolve_fenceposts(change.current)
    if fenceposts is None:
        return _recreate(change, revisions)
    pods_to_create = _count_new_pods_to_create(change, revisions, fenceposts)
    if pods_to_create > 0:
        return ControllerAction(pods_to_create=change.previous_pods[:1] * pods_to_create)
    return _scale_down_old_pods(change, revisions, fenceposts)


class _PodRevisions(Struct, frozen=True):
    """The active pods of a Deployment by revision."""

    old_pods: tuple[Pod, ...]
    """Pods of earlier revisions."""

    new_pods: tuple[Pod, ...]
    """Pods of the revision that is rolled out."""


def _split_by_revision(state: ClusterState, change: WorkloadChange) -> _PodRevisions:
    old_pods: list[Pod] = []
    new_pods: list[Pod] = []
    for pod in change.active_pods:
        if _has_newest_revision(state, change, pod):
            new_pods.append(pod)
        else:
            old_pods.append(pod)
    return _PodRevisions(tuple(old_pods), tuple(new_pods))


def _has_newest_revision(state: ClusterState, change: WorkloadChange, pod: Pod) -> bool:
    """Return whether a pod has the revision that is rolled out."""
    if pod.uid in change.created_uids:
        return True
    if change.template_changed or _is_resumed(change):
        return False
    revisions = _revisions(state, change)
    replica_set = pod.controller.name if pod.controller is not None else ""
    return replica_set in revisions and revisions[replica_set] == max(revisions.values())


def _revisions(state: ClusterState, change: WorkloadChange) -> dict[str, int]:
    """Return the revision of each ReplicaSet of a Deployment, by the name of the ReplicaSet."""
    namespace, deployment = change.key
    revisions: dict[str, int] = {}
    for key, replica_set in state.objects("ReplicaSet").items():
        view = View(replica_set, key)
        if key[0] != namespace or all(owner.name != deployment for owner in view.owners):
            continue
        revision = str(view.annotations.get(_REVISION_ANNOTATION))
        if revision.isdigit():
            revisions[key[1]] = int(revision)
    return revisions


def _recreate(change: WorkloadChange, revisions: _PodRevisions) -> ControllerAction:
    """Delete all old pods before the first new pod is created (recreate.go)."""
    if revisions.old_pods:
        return ControllerAction(pods_to_delete=revisions.old_pods)
    missing_pods = replica_count(change.current) - len(revisions.new_pods) - change.rejections
    return ControllerAction(pods_to_create=change.previous_pods[:1] * max(missing_pods, 0))


def _count_new_pods_to_create(
    change: WorkloadChange, revisions: _PodRevisions, fenceposts: Fenceposts
) -> int:
    """Return how many new pods the fenceposts allow (rolling.go reconcileNewReplicaSet).

    Pods that the API server rejected count as created: the new ReplicaSet keeps trying to create
    them.
    """
    replicas = replica_count(change.current)
    new_count = len(revisions.new_pods) + change.rejections
    total = new_count + len(revisions.old_pods)
    return min(replicas - new_count, replicas + fenceposts.max_surge - total)


def _scale_down_old_pods(
    change: WorkloadChange, revisions: _PodRevisions, fenceposts: Fenceposts
) -> ControllerAction:
    """Delete old pods: first pods that are not available, then pods that are not needed.

    Upstream: rolling.go reconcileOldReplicaSets, cleanupUnhealthyReplicas.
    """
    min_available = replica_count(change.current) - fenceposts.max_unavailable
    unavailable_new_pods = change.rejections + sum(
        not is_available(pod) for pod in revisions.new_pods
    )
    total = len(revisions.new_pods) + change.rejections + len(revisions.old_pods)
    max_scaled_down = total - min_available - unavailable_new_pods
    if max_scaled_down <= 0:
        return NO_ACTION
    unhealthy = [pod for pod in revisions.old_pods if not is_available(pod)]
    if unhealthy:
        return ControllerAction(pods_to_delete=tuple(unhealthy[:max_scaled_down]))
    spare = sum(map(is_available, change.active_pods)) - min_available
    victims = rank_for_deletion("ReplicaSet", revisions.old_pods, change.active_pods)
    return ControllerAction(pods_to_delete=victims[: max(min(max_scaled_down, spare), 0)])
