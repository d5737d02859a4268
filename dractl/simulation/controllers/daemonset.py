"""Roll out a DaemonSet (kubernetes pkg/controller/daemon/update.go)."""

from dractl.simulation.controllers.change import NO_ACTION, ControllerAction, WorkloadChange
from dractl.simulation.controllers.replicas import is_available


def replaces_pods(change: WorkloadChange) -> bool:
    """Return whether the change makes a DaemonSet replace its pods."""
    return change.template_changed and change.current.update_strategy_type != "OnDelete"


def roll_out_to_nodes(change: WorkloadChange) -> ControllerAction:
    """Replace the old pods that are not available; the controller replaces the others later, one by
    one.
    """
    unavailable = tuple(
        pod
        for pod in change.active_pods
        if pod.uid not in change.created_uids and not is_available(pod)
    )
    missing = len(change.previous_pods) - len(change.active_pods) - change.rejections
    if not unavailable and missing <= 0:
        return NO_ACTION
    names = {pod.name for pod in change.active_pods}
    absent = [pod for pod in change.previous_pods if pod.name not in names]
    return ControllerAction(unavailable, tuple(absent[: max(missing, 0)]))
