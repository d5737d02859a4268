"""Whether a driver's kubelet plug-in can prepare and unprepare claims on a node.

The kubelet calls it when a pod with claims starts, and before a pod with claims is gone: without
it the pod stays Terminating (kubernetes pkg/kubelet/kubelet.go SyncTerminatingPod,
pkg/kubelet/cm/dra/manager.go unprepareResources). It deletes the driver's slices of the node 30 s
after the plug-in is gone.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from dractl.cluster.driver_workloads import DriverWorkloads, find_driver_workloads
from dractl.cluster.state import ClusterState, Key
from dractl.views import Pod

WIPING_SECONDS = 30
"""Seconds after which the kubelet deletes the slices of a driver whose plug-in is gone
(pkg/kubelet/cm/dra/manager.go defaultWipingDelay).
"""
_UNPREPARE_SKIPS = frozenset({"*", "NodeUnprepareResources"})


class PluginOnNode(Struct, frozen=True):
    """A driver's kubelet plug-in on one node, as far as the input shows it."""

    driver: str
    node: str
    status: Literal["runs", "gone", "unknown"]
    why: str
    """What shows it, as a clause."""
    workloads: DriverWorkloads
    """The workloads of the driver in the whole cluster."""


def find_plugin(state: ClusterState, driver: str, node: str) -> PluginOnNode:
    """Return the state of a driver's plug-in on a node.

    Its pod is the best evidence. Without one, slices of the node show that it ran half a minute
    ago at the latest.
    """
    slices = [item for item in state.slices if item.spec.driver == driver]
    publishing = {item.spec.node_name for item in slices if item.spec.node_name}
    workloads = find_driver_workloads(state, driver, publishing)
    pods = [pod for pod in workloads.pods_on(node) if not pod.has_ended]
    ready = next((pod for pod in pods if _serves(pod)), None)
    if ready is not None:
        return PluginOnNode(driver, node, "runs", f"pod {ready.full_name} is ready", workloads)
    if pods:
        why = f"pod {pods[0].full_name} of its plug-in is not ready"
        return PluginOnNode(driver, node, "gone", why, workloads)
    is_local = not slices or bool(publishing)
    if node in publishing or not is_local:
        return PluginOnNode(driver, node, "runs", f"it publishes devices of {node}", workloads)
    if state.covers("ResourceSlice"):
        why = f"it publishes nothing on {node}"
        return PluginOnNode(driver, node, "gone", why, workloads)
    why = "the input shows neither its pods nor its slices"
    return PluginOnNode(driver, node, "unknown", why, workloads)


def _serves(pod: Pod) -> bool:
    if pod.deletion_timestamp:
        return False
    return pod.is_ready or ("Ready" not in pod.conditions and pod.phase == "Running")


def list_drivers_to_unprepare(state: ClusterState, pod: Pod) -> Iterator[str]:
    """Yield the drivers that the kubelet asks before a pod can be gone, each once.

    A claim that another pod on the same node uses is unprepared with the last of them.
    """
    drivers: dict[str, None] = {}
    for key in _list_allocated_claims(state, pod):
        claim = state.decode_claim(key)
        allocation = claim.status.allocation if claim is not None else None
        for result in allocation.devices.results if allocation is not None else ():
            if not _UNPREPARE_SKIPS.intersection(result.skip_node_operations):
                drivers[result.driver] = None
    yield from drivers


def _list_allocated_claims(state: ClusterState, pod: Pod) -> list[Key]:
    keys = [(pod.key[0], name) for name in sorted(pod.claim_names)]
    return [key for key in keys if state.claim(key).is_allocated]
