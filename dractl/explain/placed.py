"""The state of a pod after scheduling: its phase, what its containers wait for, what its kubelet says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.allocation import DeviceID
from dractl.cluster.pods import ended, event_about
from dractl.cluster.state import map_at, maps_at, text_at
from dractl.explain.fixes.tolerations import evicting, survives
from dractl.reasons.phrases import terminating
from dractl.reasons.refusals import taint_text
from dractl.reasons.scheduling import NotPrepared

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from dractl.cluster.state import ClusterState
    from dractl.drivers.opaque import OpaqueFault
    from dractl.explain.answer import AllocatedDevice
    from dractl.model import ResourceSlice
    from dractl.scheduler.claims import PodClaim

    Raw = Mapping[str, Any]

_CONTAINERS = ("initContainers", "containers")
# tags.cncf.io/container-device-interface pkg/cdi/cache.go, InjectDevices; containerd and CRI-O pass it on
_UNKNOWN_TO_RUNTIME = "unresolvable CDI devices"


def headline(pod: Raw) -> str:
    """Where a pod is and how far it got there; that it runs only if its kubelet says so."""
    node, phase = text_at(pod, "spec", "nodeName"), text_at(pod, "status", "phase")
    if ended(pod):
        why = ": ".join(filter(None, (text_at(pod, "status", "reason"), text_at(pod, "status", "message"))))
        how = "failed" if phase == "Failed" else "ended"
        return " ".join(filter(None, (how, f"on {node}" if node else ""))) + (f": {why}" if why else "")
    since = text_at(pod, "metadata", "deletionTimestamp")
    if since:
        return terminating(node, since)
    waiting = _waiting(pod)
    if phase == "Running":
        return f"started on {node}, and now {waiting}" if waiting else f"runs on {node}"
    return f"scheduled on {node}, " + (f"where {waiting}" if waiting else "whose kubelet has said nothing of it yet")


def _waiting(pod: Raw) -> str:
    """``container main waits: CrashLoopBackOff (back-off 5m0s …)``."""
    for field in ("initContainerStatuses", "containerStatuses"):
        for status in maps_at(pod, "status", field):
            state = map_at(status, "state", "waiting")
            if state and text_at(state, "reason") != "PodInitializing":
                message = f" ({text_at(state, 'message')})" if text_at(state, "message") else ""
                return f"container {text_at(status, 'name')} waits: {text_at(state, 'reason')}{message}"
    return ""


def unprepared(
    state: ClusterState, pod: Raw, claims: Sequence[PodClaim], allocated: Sequence[AllocatedDevice]
) -> NotPrepared | None:
    """The kubelet's refusal of a pod that has not started, with what the driver would find in its configuration; or the
    container runtime's, which does not know the devices any more."""
    if ended(pod):
        return None
    node, waiting = text_at(pod, "spec", "nodeName"), _waiting(pod)
    drivers = tuple(dict.fromkeys(device.driver for device in allocated))
    if allocated and _UNKNOWN_TO_RUNTIME in waiting:
        return NotPrepared(
            event=waiting,
            nodes=(node,),
            drivers=drivers,
            vanished=True,
        )
    event = event_about(state, pod, "FailedPrepareDynamicResources")
    phase, leaving = text_at(pod, "status", "phase"), text_at(pod, "metadata", "deletionTimestamp")
    if not event or phase == "Running":
        return None
    from dractl.drivers import opaque  # drivers' schemas: few runs get here

    faults = tuple(
        (claim.name, ".".join(map(str, fault.path)), _why(fault))
        for claim in claims
        for _, _, fault in opaque.refused(maps_at(claim.value, "spec", "devices", "config"))
    )
    return NotPrepared(
        event=event,
        leaving=leaving,
        faults=faults,
        nodes=(node,),
        drivers=drivers,
    )


def _why(fault: OpaqueFault) -> str:
    return f"{fault.message}; did you mean {fault.nearest}?" if fault.nearest else fault.message


def evicted(claims: Sequence[PodClaim], slices: Iterable[ResourceSlice]) -> Iterator[str]:
    """Devices with a taint for which the eviction controller ends the pod although the scheduler has placed it."""
    taints = evicting(slices)
    for claim in claims if taints else ():
        allocation = claim.claim.status.allocation if claim.claim is not None else None
        if allocation is None:
            continue
        for given in allocation.devices.results:
            device = DeviceID(given.driver, given.pool, given.device)
            taint = next((t for t in taints.get(device, ()) if not survives(given.tolerations, t)), None)
            if taint is not None:
                yield (
                    f"device {given.device} has taint {taint_text(taint)}, for which pods are evicted: a toleration "
                    "keeps them there only if it names effect NoExecute"
                )
                return


def unused(pod: Raw, claims: Sequence[PodClaim]) -> Iterator[str]:
    """Devices that are allocated and reach no container. Neither scheduler nor kubelet object: the kubelet gives a
    container the devices of the requests that it names (kubernetes pkg/kubelet/cm/dra/manager.go GetResources)."""
    spec = map_at(pod, "spec")
    named = [
        (text_at(container, "name"), text_at(entry, "name"), text_at(entry, "request"))
        for kind in _CONTAINERS
        for container in maps_at(spec, kind)
        for entry in maps_at(container, "resources", "claims")
    ]
    pod_level = {text_at(entry, "name") for entry in maps_at(spec, "resources", "claims")}
    for claim in claims:
        if not claim.name or claim.claim is None:
            continue
        entries = [(container, request) for container, name, request in named if name == claim.name]
        if not entries and claim.name not in pod_level:
            yield f"no container lists claim {claim.name} in resources.claims: its devices reach none of them"
        known = [request.name for request in claim.claim.spec.devices.requests]
        for container, request in entries:
            if request and request not in known:
                yield (
                    f"container {container} gets no device of claim {claim.name}: it names request {request}, and the "
                    f"claim has {', '.join(known)}"
                )
