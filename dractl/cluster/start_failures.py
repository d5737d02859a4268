"""Failures in the start of a pod, as the events and the status of the pod have them."""

from collections.abc import Sequence

from msgspec.structs import replace

from dractl.cluster.events import TIMESTAMP_SECONDS, events_about
from dractl.cluster.kubelet import parse_missing_cdi_device
from dractl.cluster.state import ClusterState
from dractl.views import ContainerStatus, Event, Pod

# kubernetes pkg/kubelet/events/event.go (the same names at v1.34.4 to v1.37.1) and the kubelet's
# action at each event. The order is the order of the steps that start a pod (pkg/kubelet/kubelet.go
# SyncPod, kuberuntime_manager.go SyncPod).
START_STEPS = {
    "FailedAttachVolume": "attach its volumes",
    "FailedMapVolume": "map its volumes",
    "FailedMount": "mount its volumes",
    "NetworkNotReady": "set up its network",
    "FailedPrepareDynamicResources": "prepare its devices",
    "FailedCreatePodSandBox": "create its sandbox",
    "FailedCreatePodContainer": "create its containers",
    "Failed": "start its containers",
}
_SANDBOX_STEPS = frozenset({"FailedPrepareDynamicResources", "FailedCreatePodSandBox"})
"""Steps that the kubelet takes once for a pod and its sandbox, not for each start of a
container.
"""
_BACK_OFF = "CrashLoopBackOff"
"""The reason for which a container waits that the kubelet starts again later."""


def newest_start_event(events: Sequence[Event]) -> Event | None:
    """Return the newest event that names the failure in the start of a pod; of equally new events,
    the one of the latest step.
    """
    order = list(START_STEPS)
    steps = [event for event in events if event.reason in START_STEPS]
    return max(
        steps,
        key=lambda event: (event.last_seen[:TIMESTAMP_SECONDS], order.index(event.reason)),
        default=None,
    )


def has_restarted(pod: Pod, step: Event) -> bool:
    """Return True if the kubelet starts a pod again, as after a reboot, and fails at a step.

    The states of its containers are then out of date, since no container has run after the restart.
    """
    if step.reason not in _SANDBOX_STEPS:
        return False
    failed_at = step.last_seen[:TIMESTAMP_SECONDS]
    return any(container.last_change for container in pod.container_statuses) and not any(
        container.state == "running" or container.last_change[:TIMESTAMP_SECONDS] >= failed_at
        for container in pod.container_statuses
    )


def reveal_failure(events: Sequence[Event], container: ContainerStatus) -> ContainerStatus:
    """Return the status of a container with the kubelet's message about its failed start, if it
    waits in CrashLoopBackOff and has not run since it ended last; else the status as it is.

    The back-off counts from the end of the container, and replaces the failure in its status for
    most of the time (kubernetes pkg/kubelet/kuberuntime/kuberuntime_manager.go doBackOff).
    """
    if container.state != "waiting" or container.reason != _BACK_OFF or not container.last_change:
        return container
    ended_at = container.last_change[:TIMESTAMP_SECONDS]
    for event in reversed(events):
        if (
            event.reason == "Failed"
            and event.regarding.container in ("", container.name)
            and event.last_seen[:TIMESTAMP_SECONDS] > ended_at
        ):
            return replace(container, message=event.message.removeprefix("Error: "))
    return container


def lacks_devices(state: ClusterState, pod: Pod) -> bool:
    """Return True if a pod has run on its node, and the kubelet or the container runtime can no
    longer give it its devices, as after a reboot.
    """
    if pod.phase != "Running" or pod.condition("Ready").status == "True" or pod.deletion_timestamp:
        return False
    events = events_about(state, pod)
    step = newest_start_event(events)
    if step is not None and has_restarted(pod, step):
        return step.reason == "FailedPrepareDynamicResources" or _names_cdi_device(step.message)
    return any(
        _names_cdi_device(reveal_failure(events, container).message)
        for container in pod.container_statuses
        if container.state == "waiting"
    )


def _names_cdi_device(message: str) -> bool:
    return parse_missing_cdi_device(message) is not None
