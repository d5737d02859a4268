"""The next step of a workload's controller after a change: pods to delete, and pods to create.

One module per controller, named as in kubernetes pkg/controller. In every module, a pod on a node
counts as available unless it reports that it is not ready.
"""

from dractl.simulation.controllers.change import NO_ACTION, ControllerAction, WorkloadChange
from dractl.simulation.controllers.dispatch import SIMULATED_OWNERS, reconcile
from dractl.simulation.controllers.replicas import filter_active_pods

__all__ = [
    "NO_ACTION",
    "SIMULATED_OWNERS",
    "ControllerAction",
    "WorkloadChange",
    "filter_active_pods",
    "reconcile",
]
