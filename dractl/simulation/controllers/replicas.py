"""Replicas of a workload: how many it wants, and which of its pods count."""

from collections.abc import Sequence

from dractl.cluster.pods import ended
from dractl.cluster.state import at, maps_at, text_at
from dractl.objects import Raw
from dractl.simulation.controllers.change import NO_ACTION, ControllerAction, WorkloadChange


def replica_count(workload: Raw | None) -> int:
    """Return ``spec.replicas`` of a workload, 1 by default."""
    replicas = at(workload, "spec", "replicas")
    return replicas if isinstance(replicas, int) else 1


def filter_active_pods(pods: Sequence[Raw]) -> tuple[Raw, ...]:
    """Return the pods that have neither ended nor are Terminating."""
    return tuple(
        pod for pod in pods if not ended(pod) and not text_at(pod, "metadata", "deletionTimestamp")
    )


def is_available(pod: Raw) -> bool:
    """Return whether a pod has a node and does not report that it is not ready."""
    conditions = maps_at(pod, "status", "conditions")
    ready = next((c for c in conditions if c.get("type") == "Ready"), None)
    return bool(text_at(pod, "spec", "nodeName")) and (
        ready is None or ready.get("status") == "True"
    )


def recreate_deleted_pods(change: WorkloadChange) -> ControllerAction:
    """Replace each pod that the change deletes."""
    missing = len(change.previous_pods) - len(change.active_pods) - change.rejections
    if missing <= 0:
        return NO_ACTION
    return ControllerAction(pods_to_create=change.deleted_pods[-missing:])
