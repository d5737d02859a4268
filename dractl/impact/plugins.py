"""Decides whether a driver's kubelet plug-in can prepare and unprepare claims on a node.

The kubelet calls the plug-in when a pod with claims starts, and before a pod with claims is
deleted: without the plug-in, the pod stays Terminating (kubernetes pkg/kubelet/kubelet.go
SyncTerminatingPod, pkg/kubelet/cm/dra/manager.go unprepareResources). The kubelet deletes the
driver's slices of the node 30 s after the plug-in is gone.
"""

from collections.abc import Iterable, Iterator, Sequence
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


Status = Literal["runs", "gone", "unknown"]


class PluginOnNode(Struct, frozen=True):
    """A driver's kubelet plug-in on one node, as far as the input shows it."""

    driver: str
    node: str
    status: Status
    why: str
    """The evidence, as a clause."""
    workloads: DriverWorkloads
    """The workloads of the driver in the whole cluster."""


def find_plugin(state: ClusterState, driver: str, node: str) -> PluginOnNode:
    """Return the state of a driver's plug-in on a node."""
    return find_plugins(state, driver, (node,))[node]


def find_plugins(state: ClusterState, driver: str, nodes: Iterable[str]) -> dict[str, PluginOnNode]:
    """Return the state of a driver's plug-in on each of the nodes.

    The pod of the plug-in is the best evidence. If there is no pod, slices of the node show that
    the plug-in ran within the last half minute.
    """
    slices = [item for item in state.slices if item.spec.driver == driver]
    publishing = {item.spec.node_name for item in slices if item.spec.node_name}
    workloads = find_driver_workloads(state, driver, publishing)
    pods: dict[str, list[Pod]] = {}
    for pod in workloads.pods:
        for node in {pod.node_name, pod.target_node} if not pod.has_ended else ():
            pods.setdefault(node, []).append(pod)
    is_local = not slices or bool(publishing)
    plugins = {}
    for node in nodes:
        status, why = _judge_pods(pods.get(node, ())) or _judge_slices(
            state, node, is_published=node in publishing or not is_local
        )
        plugins[node] = PluginOnNode(driver, node, status, why, workloads)
    return plugins


def _judge_pods(pods: Sequence[Pod]) -> tuple[Status, str] | None:
    """Return the state according to the pods of a plug-in on a node; None if there are no pods."""
    ready = next((pod for pod in pods if _serves(pod)), None)
    if ready is not None:
        return "runs", f"pod {ready.full_name} is ready"
    if pods:
        return "gone", f"pod {pods[0].full_name} of its plug-in is not ready"
    return None


def _judge_slices(state: ClusterState, node: str, *, is_published: bool) -> tuple[Status, str]:
    if is_published:
        return "runs", f"it publishes devices of {node}"
    if state.covers("ResourceSlice"):
        return "gone", f"it publishes nothing on {node}"
    return "unknown", "the input shows neither its pods nor its slices"


def _serves(pod: Pod) -> bool:
    if pod.deletion_timestamp:
        return False
    return pod.is_ready or ("Ready" not in pod.conditions and pod.phase == "Running")


def list_drivers_to_unprepare(state: ClusterState, pod: Pod) -> Iterator[str]:
    """Yield the drivers that the kubelet calls before a pod can be deleted, each once.

    A claim that several pods of the node use is unprepared when the last pod ends.
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
