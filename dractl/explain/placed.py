"""The state of a pod after scheduling: what keeps it from running on its node, or that nothing does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import DeviceID
from dractl.cluster import kubelet
from dractl.cluster.devices import result_device
from dractl.cluster.kubelet import ContainerStatus, Event, KubeletReport
from dractl.cluster.state import ClusterState, at, map_at, maps_at, text_at
from dractl.explain.answer import AllocatedDevice
from dractl.explain.fixes.tolerations import evicting, patience, survives
from dractl.explain.reasons import running
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.refusals import taint_text
from dractl.facts.parameters import kind_for, kind_of, sharing_gate
from dractl.model import ResourceSlice
from dractl.objects import Raw
from dractl.scheduler.claims import PodClaim

if TYPE_CHECKING:
    from dractl.drivers.opaque import OpaqueFault  # the drivers' schemas need jsonschema

_CONTAINERS = ("initContainers", "containers")
# kubernetes pkg/kubelet/events/event.go (the same names at v1.34.4 to v1.37.1) and what the kubelet does then. What
# comes later in the start of a pod (pkg/kubelet/kubelet.go SyncPod, kuberuntime_manager.go SyncPod) comes later here.
_STEPS = {
    "FailedAttachVolume": "attach its volumes",
    "FailedMapVolume": "map its volumes",
    "FailedMount": "mount its volumes",
    "NetworkNotReady": "set up its network",
    "FailedPrepareDynamicResources": "prepare its devices",
    "FailedCreatePodSandBox": "create its sandbox",
    "FailedCreatePodContainer": "create its containers",
    "Failed": "start its containers",
}
_BEGINS = ("Failed to create pod sandbox: ", "Error: ", "network is not ready: ")
# What a container waits for while nothing is wrong: kubernetes pkg/kubelet/kubelet_pods.go
_STARTING = frozenset({"PodInitializing", "ContainerCreating", ""})
_WAITS = {  # pkg/kubelet/kuberuntime/kuberuntime_container.go and pkg/kubelet/images/types.go
    "CreateContainerConfigError": "configure container",
    "CreateContainerError": "create container",
    "RunContainerError": "start container",
    "PreCreateHookError": "create container",
    "PreStartHookError": "start container",
    "PostStartHookError": "start container",
}
_SILENT_S, _SLOW_S, _LOOP_S = 20.0, 120.0, 60.0


class Unlisted(Struct, frozen=True):
    """What of a pod's devices reaches no container, in sentences, and the names of containers that list a claim."""

    sentences: tuple[str, ...]
    listing: frozenset[str]


class OnNode(Struct, frozen=True):
    """A pod that has its node or has ended: its claims with that for extended resources, and their devices."""

    state: ClusterState
    pod: KubeletReport
    claims: Sequence[PodClaim]
    allocated: Sequence[AllocatedDevice]
    slices: Iterable[ResourceSlice]
    without: Unlisted

    @property
    def nodes(self) -> tuple[str]:
        """The pod's node, as causes have it."""
        return (self.pod.node,)

    @property
    def drivers(self) -> tuple[str, ...]:
        """The drivers of the pod's devices."""
        return tuple(dict.fromkeys(device.driver for device in self.allocated))

    @property
    def lost(self) -> tuple[str, ...]:
        """Those of them that publish nothing on the node: kubelet deletes their slices 30 s after they are gone."""
        if not self.state.listed("ResourceSlice") or not self.drivers:
            return ()
        there = {
            item.spec.driver
            for item in self.slices
            if item.spec.node_name in (None, "", self.pod.node)
        }
        return tuple(driver for driver in self.drivers if driver not in there)


def headline(pod: KubeletReport) -> str:
    """Where a pod is and how far it got, where nothing is known to be wrong."""
    node = pod.node
    if pod.ended:
        return f"ended on {node}" if node else "ended"
    waits = next((c for c in pod.containers if not _goes(pod, c)), None)
    if pod.phase == "Running":
        if waits is None:
            gate = pod.condition("Ready")
            unmet = gate.reason == "ReadinessGatesNotReady"
            return f"started on {node}; not ready: {gate.message}" if unmet else f"runs on {node}"
        if waits.state == "running":
            return f"started on {node}, where container {waits.name} is not ready yet"
        return f"started on {node}, and now {running.ended(waits)}"
    if waits is not None and waits.reason != "PodInitializing" and waits.state == "waiting":
        return f"scheduled on {node}, where container {waits.name} waits: {waits.reason}"
    if waits is not None:
        return f"scheduled on {node}, where container {waits.name} is not ready yet"
    return f"scheduled on {node}, whose kubelet has said nothing of it yet"


def _goes(pod: KubeletReport, container: ContainerStatus) -> bool:
    """True if a container does what it should in a pod that runs."""
    if container.init:
        return container.state == "terminated" and not container.failed
    if container.state == "terminated":
        return not container.failed and pod.restarts in ("Never", "OnFailure")
    return container.state == "running" and container.ready


def cause_of(on: OnNode) -> Cause | None:
    """What keeps a pod that is on its node, or has ended, from running there; None if nothing does."""
    if on.pod.ended:
        return _over(on.pod)
    silent = kubelet.silence(on.state, on.pod.node)
    if silent is not None:
        return running.NodeSilent(
            nodes=on.nodes, why=silent.message, since=silent.since, leaving=on.pod.until
        )
    if on.pod.until:
        return _stuck(on)
    return _unhealthy(on) or _failing(on) or _not_ready(on) or _unready(on) or _silent(on)


def _over(pod: KubeletReport) -> Cause | None:
    """Why a pod has ended, unless it ended well."""
    nodes = (pod.node,) if pod.node else ()
    target = pod.condition("DisruptionTarget")
    evicted = kubelet.newest(pod.events, kubelet.ENDS)
    if target.status == "True" or evicted is not None or pod.reason == "Evicted":
        said = (target.message, evicted.message if evicted is not None else "", pod.message)
        parts = dict.fromkeys(part.strip().rstrip(".") for part in said if part)
        return running.Evicted(nodes=nodes, why="; ".join(parts) or pod.reason or target.reason)
    if pod.phase != "Failed":
        return None
    failed = next((c for c in pod.containers if c.failed), None)
    why = ": ".join(filter(None, (pod.reason, pod.message)))
    if failed is not None:
        return running.ContainerFailed(nodes=(pod.node,), container=failed, over=True, why=why)
    return running.Failed(nodes=nodes, why=why)


def _stuck(on: OnNode) -> Cause:
    """What a pod that is Terminating still waits for."""
    pod, now = on.pod, kubelet.now_of(on.state)
    failed = kubelet.newest(pod.events, ("FailedKillPod", "FailedUnMount", "FailedUnmount"))
    return running.Stuck(
        nodes=on.nodes,
        until=pod.until,
        late=now is not None and pod.due is not None and now > pod.due,
        running=tuple(c.name for c in pod.containers if c.state == "running"),
        known=bool(pod.containers),
        drivers=on.drivers,
        lost=on.lost,
        finalizers=pod.finalizers,
        reported=failed.message if failed is not None else "",
    )


def _unhealthy(on: OnNode) -> Cause | None:
    pod = on.pod
    if not pod.unhealthy:
        return None
    names = [device.device for device in on.allocated]
    devices = dict.fromkeys(
        name for health in pod.unhealthy if (name := health.of(names)) is not None
    )
    stopped = next((c for c in pod.containers if not _goes(pod, c)), None)
    return running.DeviceUnhealthy(
        nodes=on.nodes, health=pod.unhealthy, devices=tuple(devices), stopped=stopped
    )


def _failing(on: OnNode) -> Cause | None:
    """Why the pod does not start, or what has failed in it: as its containers say, else by the newest event."""
    pod = on.pod
    begun = pod.phase == "Running" or any(container.begun for container in pod.containers)
    for container in pod.containers:
        if container.state == "waiting" and container.reason not in _STARTING:
            absent = container.uninjected if on.allocated else None
            if absent is not None:
                why = f"{container.reason} ({container.message or container.reason})"
                return _not_injected(on, container.name, why, container.begun, absent)
            if container.reason in _WAITS or "image" in container.reason.lower():
                what = _WAITS.get(container.reason, "pull the image of container")
                why = (
                    f"{container.reason} ({container.message})"
                    if container.message
                    else container.reason
                )
                return running.NotStarted(nodes=on.nodes, what=f"{what} {container.name}", why=why)
            return _failed(on, container)
        if (container.state == "terminated" and not _goes(pod, container)) or _loops(
            on.state, container
        ):
            return _failed(on, container)
    if begun and pod.condition("PodReadyToStartContainers").status != "False":
        return None
    step = _newest_step(pod.events)
    if step is None:
        return _refused_by_driver(on)
    why = step.message
    for lead in _BEGINS:
        why = why.removeprefix(lead)
    if step.reason == "FailedPrepareDynamicResources":
        return _not_prepared(on, step.prepare)
    absent = step.uninjected if on.allocated else None
    if absent is not None:
        return _not_injected(on, "", why, begun, absent)
    return running.NotStarted(nodes=on.nodes, what=_STEPS[step.reason], why=why)


def _newest_step(events: Sequence[Event]) -> Event | None:
    """The newest event that says what fails in the start of a pod; of equally new ones that of the latest step."""
    order = list(_STEPS)
    steps = [event for event in events if event.reason in _STEPS]
    return max(steps, key=lambda event: (event.when[:19], order.index(event.reason)), default=None)


def _loops(state: ClusterState, container: ContainerStatus) -> bool:
    """True if a container runs between two ends of a crash loop: it was started more than once, and just now."""
    if (
        container.state != "running"
        or container.last is None
        or not container.last.failed
        or container.restarts < 2
    ):
        return False
    now, began = kubelet.now_of(state), container.began
    return not container.ready or (now is not None and began is not None and now - began < _LOOP_S)


def _failed(on: OnNode, container: ContainerStatus) -> Cause:
    told = on.without.sentences
    none = on.claims and not told and container.name not in on.without.listing
    why = "it lists no claim in resources.claims, so it has no device" if none else ""
    without = told or ((why,) if why else ())
    return running.ContainerFailed(
        nodes=on.nodes, container=container, why=why, claims=bool(on.claims), without=without
    )


def _not_injected(on: OnNode, container: str, why: str, begun: bool, absent: str) -> Cause:
    return running.NotInjected(
        nodes=on.nodes, container=container, why=why, begun=begun, host=absent, drivers=on.drivers
    )


def _refused_by_driver(on: OnNode) -> Cause | None:
    """What a driver has written itself, where the kubelet has not: its event about a claim (dra.net writes
    ClaimPrepareFailed), or a condition of the claim."""
    for claim in on.claims if on.pod.phase == "Pending" else ():
        said = kubelet.newest(
            kubelet.events_about(on.state, claim.value or {}), ("ClaimPrepareFailed",)
        )
        if said is not None:
            prepare, faults = kubelet.Prepare("refused", said.message), _faults(on.claims)[0]
            return running.NotPrepared(
                nodes=on.nodes, prepare=prepare, faults=faults, drivers=on.drivers
            )
    return None


def _not_prepared(on: OnNode, said: kubelet.Prepare) -> Cause:
    configured = {
        text_at(entry, "opaque", "driver")
        for claim in on.claims
        for place in (("spec", "devices", "config"), ("status", "allocation", "devices", "config"))
        for entry in maps_at(claim.value, *place)
    }
    named = tuple(device.device for device in on.allocated if device.device in said.mentioned)
    faults, gates = _faults(on.claims)
    if faults and said.answer == "unasked":
        said = replace(said, answer="refused")
    refused = said.answer == "refused"
    if refused and not faults:
        faults = tuple(_other_kinds(on.claims, on.slices))
    return running.NotPrepared(
        nodes=on.nodes,
        prepare=said,
        faults=faults if refused else (),
        gates=gates if refused else (),
        drivers=on.drivers,
        configured=tuple(driver for driver in on.drivers if driver in configured),
        lost=() if refused else on.lost,
        devices=named or tuple(device.device for device in on.allocated),
    )


def _faults(claims: Sequence[PodClaim]) -> tuple[tuple[tuple[str, str, str], ...], tuple[str, ...]]:
    """What drivers would find in the configurations of claims: pod claim, path, and why; and the feature gates without
    which they refuse the right values too."""
    from dractl.drivers import opaque

    found = [
        (claim.name, driver, fault)
        for claim in claims
        for _, driver, fault in opaque.refused(maps_at(claim.value, "spec", "devices", "config"))
    ]
    gates = (sharing_gate(driver, fault.nearest) for _, driver, fault in found if fault.nearest)
    faults = tuple(
        (claim, ".".join(map(str, fault.path)), _why(fault)) for claim, _, fault in found
    )
    return faults, tuple(dict.fromkeys(filter(None, gates)))


def _other_kinds(
    claims: Sequence[PodClaim], slices: Iterable[ResourceSlice]
) -> Iterator[tuple[str, str, str]]:
    """Configurations as they were allocated that are for devices of another type: pod claim, path, and why. The driver
    passes over one that names no request."""
    types: dict[DeviceID, object] = {}
    for item in slices:
        for device in item.spec.devices:
            found = device.attribute(f"{item.spec.driver}/type", item.spec.driver)
            if found is not None:
                types[DeviceID(item.spec.driver, item.spec.pool.name, device.name)] = found.value
    for claim in claims:
        for entry in maps_at(claim.value, "status", "allocation", "devices", "config"):
            driver = text_at(entry, "opaque", "driver")
            known = kind_of(driver, map_at(entry, "opaque", "parameters"))
            for result in (
                maps_at(claim.value, "status", "allocation", "devices", "results") if known else ()
            ):
                request, type_ = text_at(result, "request"), types.get(result_device(result))
                named = any(
                    name in (request, request.partition("/")[0])
                    for name in at(entry, "requests") or ()
                )
                if (
                    known
                    and named
                    and isinstance(type_, str)
                    and result.get("driver") == driver
                    and type_ != known[1]
                ):
                    right = kind_for(driver, type_)
                    why = f"{known[0]} is for devices of type {known[1]}, and {text_at(result, 'device')} is a {type_}"
                    yield claim.name, "kind", f"{why}; did you mean {right}?" if right else why
                    break


def _why(fault: OpaqueFault) -> str:
    return f"{fault.message}; did you mean {fault.nearest}?" if fault.nearest else fault.message


def _not_ready(on: OnNode) -> Cause | None:
    """A device that its driver calls not ready, or a probe that a container fails."""
    for claim in on.claims:
        for device in maps_at(claim.value, "status", "devices"):
            for condition in maps_at(device, "conditions"):
                if condition.get("type") == "Ready" and condition.get("status") == "False":
                    return running.DeviceNotReady(
                        nodes=on.nodes,
                        claim=claim.full_name,
                        device=text_at(device, "device"),
                        driver=text_at(device, "driver"),
                        why=text_at(condition, "message") or text_at(condition, "reason"),
                    )
    probe = kubelet.newest(on.pod.events, ("Unhealthy",))
    for container in on.pod.containers:
        if (
            container.state == "running"
            and not container.ready
            and not container.init
            and probe is not None
        ):
            return running.ProbeFails(nodes=on.nodes, container=container.name, why=probe.message)
    return None


def _unready(on: OnNode) -> Cause | None:
    why = kubelet.unready(on.state, on.pod.node)
    return running.NodeUnready(nodes=on.nodes, why=why, state=headline(on.pod)) if why else None


def _silent(on: OnNode) -> Cause | None:
    """A kubelet that says nothing of a pod, or not why it does not start, for longer than it takes."""
    pod, now = on.pod, kubelet.now_of(on.state)
    if pod.phase != "Pending" or now is None or pod.placed is None:
        return None
    waits = now - pod.placed
    if not pod.heard and not pod.containers:
        return (
            running.KubeletSilent(nodes=on.nodes, seconds=int(waits)) if waits > _SILENT_S else None
        )
    creating = next((c for c in pod.containers if c.reason == "ContainerCreating"), None)
    if creating is None or waits <= _SLOW_S:
        return None
    why = f"container {creating.name} waits: ContainerCreating for {int(waits)} s, and no event says why"
    return running.NotStarted(nodes=on.nodes, what="start it", why=why)


def notes_of(on: OnNode, cause: Cause | None) -> Iterator[str]:
    """What else is worth knowing of a pod on its node: a container that has failed before, a driver that is gone, how
    long a driver may take to answer."""
    pod = on.pod
    if cause is None and pod.phase == "Running":
        for container in pod.containers:
            if (
                container.state == "running"
                and container.last is not None
                and container.last.failed
            ):
                plural = "" if container.restarts == 1 else "s"
                yield (
                    f"container {container.name} was restarted {container.restarts or 1} time{plural}; the last one "
                    f"ended with exit code {container.last.code}"
                    + (
                        f" ({container.last.reason})"
                        if container.last.reason not in ("", "Error")
                        else ""
                    )
                )
        for driver in on.lost:
            yield (
                f"driver {driver} publishes nothing on {pod.node} now: what runs goes on, but nothing new is prepared "
                "and nothing unprepared until it does"
            )
    creating = any(container.reason == "ContainerCreating" for container in pod.containers)
    if cause is None and creating and on.drivers:
        yield (
            f"the kubelet may be waiting for driver {' or '.join(on.drivers)} to prepare the devices: it says nothing "
            "for 45 s"
        )


def evicted(claims: Sequence[PodClaim], slices: Iterable[ResourceSlice]) -> Iterator[str]:
    """Devices with a taint for which the eviction controller ends the pod although the scheduler has placed it."""
    taints = evicting(slices)
    for claim in claims if taints else ():
        allocation = claim.claim.status.allocation if claim.claim is not None else None
        if allocation is None:
            continue
        for given in allocation.devices.results:
            device = DeviceID(given.driver, given.pool, given.device)
            taint = next(
                (t for t in taints.get(device, ()) if not survives(given.tolerations, t)), None
            )
            if taint is not None:
                stay = patience(given.tolerations, taint)
                yield (
                    f"device {given.device} has taint {taint_text(taint)}, for which pods are evicted: "
                    + (
                        "a toleration keeps them there only if it names effect NoExecute"
                        if stay is None
                        else f"the claim's toleration keeps this one there until {stay} s after "
                        f"{taint.time_added or 'the taint was added'}"
                    )
                )
                return


def without(pod: Raw, claims: Sequence[PodClaim]) -> Unlisted:
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
    sentences: list[str] = []
    for claim in claims:
        if not claim.name or claim.claim is None:
            continue
        entries = [(container, request) for container, name, request in named if name == claim.name]
        if not entries and claim.name not in pod_level:
            sentences.append(
                f"no container lists claim {claim.name} in resources.claims: its devices reach none of them"
            )
        known = [request.name for request in claim.claim.spec.devices.requests]
        sentences += [
            f"container {container} gets no device of claim {claim.name}: it names request {request}, and the claim "
            f"has {', '.join(known)}"
            for container, request in entries
            if request and request not in known
        ]
    return Unlisted(tuple(sentences), frozenset(container for container, _, _ in named))
