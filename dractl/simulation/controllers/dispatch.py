"""The choice of the controller that acts on a workload."""

from dractl.cluster.state import ClusterState
from dractl.simulation.controllers.change import ControllerAction, WorkloadChange
from dractl.simulation.controllers.daemonset import replaces_pods, roll_out_to_nodes
from dractl.simulation.controllers.deployment import is_rolling_out, roll_out
from dractl.simulation.controllers.job import reconcile_job
from dractl.simulation.controllers.replicas import recreate_deleted_pods
from dractl.simulation.controllers.replicaset import scale
from dractl.simulation.controllers.statefulset import reconcile_stateful_set

_REPLICATED_KINDS = ("Deployment", "ReplicaSet", "ReplicationController")
SIMULATED_OWNERS = (
    *_REPLICATED_KINDS,
    "StatefulSet",
    "DaemonSet",
    "Job",
    "Node",  # owns static pods, which its kubelet recreates
)
"""Kinds of owners whose reaction to a deleted pod is known; for other kinds it is assumed."""


def reconcile(state: ClusterState, change: WorkloadChange) -> ControllerAction:
    """Return the next action of a workload's controller; :data:`NO_ACTION` if it has nothing to
    do.
    """
    if change.kind == "Job":
        return reconcile_job(change)
    if change.kind == "Deployment" and is_rolling_out(change):
        return roll_out(state, change)
    if change.kind == "StatefulSet":
        return reconcile_stateful_set(change)
    if change.kind == "DaemonSet" and replaces_pods(change):
        return roll_out_to_nodes(change)
    if change.kind in _REPLICATED_KINDS:
        return scale(change)
    return recreate_deleted_pods(change)
