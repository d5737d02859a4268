"""The state of a pod after scheduling: it runs on its node, or a cause keeps it from running."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import (
    DeviceID,
    Features,
    eviction_delay,
    find_evicting_taint,
    is_tolerated,
    list_evicting_taints,
)
from dractl.cluster import kubelet
from dractl.cluster.clock import read_time
from dractl.cluster.events import END_REASONS, TIMESTAMP_SECONDS, events_about, newest_event
from dractl.cluster.start_failures import (
    START_STEPS,
    has_restarted,
    newest_start_event,
    reveal_failure,
)
from dractl.cluster.state import ClusterState
from dractl.explain.answer import AllocatedDevice
from dractl.explain.diagnosis.driver_plugins import (
    find_domain_state,
    find_driver_root,
    find_failing_pods,
    find_plugin_state,
    find_refused_deployments,
)
from dractl.explain.diagnosis.refusals import (
    Refusal,
    RefusedPod,
    explain_driver_words,
    explain_runtime_words,
    explain_words,
)
from dractl.explain.reasons import running
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.drivers import (
    DeploymentRefused,
    DomainState,
    DriverRoot,
    DriverWaits,
    PluginFails,
    PluginState,
)
from dractl.explain.reasons.recreation import HeldClaim
from dractl.facts.drivers import driver as driver_facts, names as driver_names
from dractl.facts.parameters import kind_for, kind_of, sharing_gate
from dractl.facts.refusals import KUBELET, refusals
from dractl.model import DeviceRequestAllocationResult, DeviceTaint, ResourceSlice
from dractl.model.taints import format_taint
from dractl.objects import Raw
from dractl.scheduler.claims import PodClaim
from dractl.views import Claim, ContainerStatus, Event, Pod, age, parse_timestamp

if TYPE_CHECKING:
    # Only for type checkers: the schemas of drivers need jsonschema
    from dractl.drivers.opaque import OpaqueFault

_CONTAINERS = ("initContainers", "containers")
_RUNTIME_STEPS = frozenset({"FailedCreatePodSandBox", "FailedCreatePodContainer", "Failed"})
"""Steps whose messages come from the container runtime, or from a driver that it calls through
NRI."""
_EVENT_PREFIXES = ("Failed to create pod sandbox: ", "Error: ", "network is not ready: ")
# Reasons for which a container waits while nothing is wrong: kubernetes pkg/kubelet/kubelet_pods.go
_HARMLESS_WAITS = frozenset({"PodInitializing", "ContainerCreating", ""})
# pkg/kubelet/kuberuntime/kuberuntime_container.go and pkg/kubelet/images/types.go
_FAILED_WAITS = {
    "CreateContainerConfigError": "configure container",
    "CreateContainerError": "create container",
    "RunContainerError": "start container",
    "PreCreateHookError": "create container",
    "PreStartHookError": "start container",
    "PostStartHookError": "start container",
}
_SILENT_S, _SLOW_S, _LOOP_S = 20.0, 120.0, 60.0


class UnlistedClaims(Struct, frozen=True):
    """The claims of a pod whose devices no container gets."""

    sentences: tuple[str, ...]
    """A sentence for each such claim."""
    listing: frozenset[str]
    """The containers that list a claim."""


class PlacedPod(Struct, frozen=True):
    """A pod that has its node or has ended, with its claims and their devices."""

    state: ClusterState
    pod: Pod
    events: tuple[Event, ...]
    """The events about the pod, oldest first."""
    claims: Sequence[PodClaim]
    """The pod's claims, with the claim for extended resources."""
    allocated: Sequence[AllocatedDevice]
    slices: Sequence[ResourceSlice]
    unlisted: UnlistedClaims

    @property
    def nodes(self) -> tuple[str]:
        """The pod's node, as a tuple for the field ``nodes`` of causes."""
        return (self.pod.node_name,)

    @property
    def os_image(self) -> str:
        """The system of the pod's node; "" if unknown."""
        return self.state.node(self.pod.node_name).os_image

    @property
    def drivers(self) -> tuple[str, ...]:
        """The drivers of the pod's devices."""
        return tuple(dict.fromkeys(device.driver for device in self.allocated))

    @property
    def silent_drivers(self) -> tuple[str, ...]:
        """The drivers of the pod's devices that publish no slice on its node.

        The kubelet deletes the slices of a driver 30 s after the driver stops.
        """
        if not self.state.covers("ResourceSlice") or not self.drivers:
            return ()
        publishing = {
            item.spec.driver
            for item in self.slices
            if item.spec.node_name in (None, "", self.pod.node_name)
        }
        return tuple(driver for driver in self.drivers if driver not in publishing)

    @property
    def unpublished_devices(self) -> tuple[str, ...]:
        """The devices of the pod that their driver no longer publishes, in pools of which the input
        has all slices.
        """
        if not self.state.covers("ResourceSlice"):
            return ()
        pools: dict[tuple[str, str], list[ResourceSlice]] = {}
        for item in self.slices:
            pools.setdefault((item.spec.driver, item.spec.pool.name), []).append(item)
        return tuple(
            device.device
            for device in self.allocated
            if (published := pools.get((device.driver, device.pool)))
            and len(published) >= published[0].spec.pool.resource_slice_count
            and not any(
                one.name == device.device for item in published for one in item.spec.devices
            )
        )

    def plugins(self, drivers: Iterable[str]) -> tuple[PluginState, ...]:
        """Return the states of the drivers' plug-ins on the node, as far as the input shows
        them.
        """
        node = self.pod.node_name
        states = (find_plugin_state(self.state, self.slices, name, node) for name in drivers)
        return tuple(state for state in states if state is not None)


def headline_of(pod: Pod) -> str:
    """Return the headline of a pod without a known fault: where it is and how far it got."""
    node = pod.node_name
    if pod.has_ended:
        return f"ended on {node}" if node else "ended"
    waiting = next((c for c in pod.container_statuses if not _is_healthy(pod, c)), None)
    if pod.phase == "Running":
        if waiting is None:
            gate = pod.condition("Ready")
            unmet = gate.reason == "ReadinessGatesNotReady"
            return f"started on {node}; not ready: {gate.message}" if unmet else f"runs on {node}"
        if waiting.state == "running":
            return f"started on {node}, where container {waiting.name} is not ready yet"
        return f"started on {node}, and now {running.describe_end(waiting)}"
    if waiting is not None and waiting.reason != "PodInitializing" and waiting.state == "waiting":
        return f"scheduled on {node}, where container {waiting.name} waits: {waiting.reason}"
    if waiting is not None:
        return f"scheduled on {node}, where container {waiting.name} is not ready yet"
    return f"scheduled on {node}, whose kubelet has said nothing yet"


def _is_healthy(pod: Pod, container: ContainerStatus) -> bool:
    """Return True if a container of a running pod is as it should be."""
    if container.is_init:
        return container.state == "terminated" and not container.has_failed
    if container.state == "terminated":
        return not container.has_failed and pod.restart_policy in ("Never", "OnFailure")
    return container.state == "running" and container.is_ready


def find_cause(placed: PlacedPod) -> Cause | None:
    """Return the cause that keeps a pod from running on its node, or that ended it; None if nothing
    is wrong.
    """
    if placed.pod.has_ended:
        end = _termination_cause(placed)
        if end is not None or not placed.pod.deletion_timestamp:
            return end
    silence = kubelet.node_silence(placed.state, placed.pod.node_name)
    if silence is not None:
        return running.NodeSilent(
            nodes=placed.nodes,
            why=silence.message,
            since=silence.since,
            leaving=placed.pod.deletion_timestamp,
            finalizers=_foreign_finalizers(placed.pod),
        )
    if placed.pod.deletion_timestamp:
        return _deletion_cause(placed)
    return (
        _health_cause(placed)
        or _start_cause(placed)
        or _readiness_cause(placed)
        or _node_readiness_cause(placed)
        or _kubelet_silence_cause(placed)
    )


def _termination_cause(placed: PlacedPod) -> Cause | None:
    """Return the cause for which a pod has ended; None if it ended normally."""
    pod = placed.pod
    nodes = (pod.node_name,) if pod.node_name else ()
    target = pod.condition("DisruptionTarget")
    eviction = newest_event(placed.events, END_REASONS)
    if target.status == "True" or eviction is not None or pod.reason == "Evicted":
        messages = (target.message, eviction.message if eviction is not None else "", pod.message)
        parts = dict.fromkeys(part.strip().rstrip(".") for part in messages if part)
        return running.Evicted(nodes=nodes, why="; ".join(parts) or pod.reason or target.reason)
    if pod.phase != "Failed":
        return None
    failed_container = next((c for c in pod.container_statuses if c.has_failed), None)
    why = ": ".join(filter(None, (pod.reason, pod.message)))
    if failed_container is not None:
        return running.ContainerFailed(
            nodes=(pod.node_name,),
            container=failed_container,
            over=True,
            why=why,
            missing=_find_missing_devices(placed, failed_container),
            os_image=placed.os_image,
        )
    resource = pod.reason.removeprefix("OutOf")
    return running.Failed(
        nodes=nodes,
        why=why,
        resource=resource if resource in pod.extended_claim_resources else "",
        claim=pod.extended_claim_name,
    )


def _foreign_finalizers(pod: Pod) -> tuple[str, ...]:
    """Return the finalizers of a pod except the finalizer of Jobs, which is removed as soon as the
    pod has ended (kubernetes pkg/controller/job).
    """
    return tuple(name for name in pod.finalizers if name != "batch.kubernetes.io/job-tracking")


def _deletion_cause(placed: PlacedPod) -> Cause:
    """Return the cause for which a Terminating pod still waits."""
    pod, now = placed.pod, read_time(placed.state)
    deadline = parse_timestamp(pod.deletion_timestamp)
    failure = newest_event(placed.events, ("FailedKillPod", "FailedUnMount", "FailedUnmount"))
    # The kubelet reports that a pod has ended only after it has unprepared the pod's claims:
    # pkg/kubelet/kubelet.go SyncTerminatingPod.
    drivers = () if pod.has_ended else placed.drivers
    return running.Stuck(
        nodes=placed.nodes,
        until=pod.deletion_timestamp,
        late=now is not None and deadline is not None and now > deadline,
        running=tuple(c.name for c in pod.container_statuses if c.state == "running"),
        known=bool(pod.container_statuses),
        has_ended=pod.has_ended,
        drivers=drivers,
        lost=placed.silent_drivers if drivers else (),
        finalizers=_foreign_finalizers(pod),
        reported=failure.message if failure is not None else "",
        forgotten=() if pod.has_ended else _find_forgotten_claims(placed),
        plugins=placed.plugins(drivers),
        os_image=placed.os_image,
    )


def _find_forgotten_claims(placed: PlacedPod) -> tuple[running.ForgottenClaim, ...]:
    """Return the allocated claims that were made for a pod and that its status does not name; none
    if the node's kubelet does not need the names.

    The claim controller writes no names into the status of a pod that is being deleted (kubernetes
    pkg/controller/resourceclaim/controller.go syncPod).
    """
    pod = placed.pod
    if not placed.state.node(pod.node_name).kubelet_needs_claim_statuses:
        return ()
    entries = {reference.name for reference in pod.uncreated_claim_references}
    claims = map(placed.state.claim, placed.state.claims_of_pod(pod.key))
    return tuple(
        running.ForgottenClaim(claim.pod_claim_name, claim.name)
        for claim in claims
        if claim.pod_claim_name in entries and claim.is_allocated and pod.name in claim.owner_pods
    )


def _health_cause(placed: PlacedPod) -> Cause | None:
    pod = placed.pod
    if not pod.unhealthy_devices:
        return None
    names = [device.device for device in placed.allocated]
    devices = dict.fromkeys(
        name for health in pod.unhealthy_devices if (name := health.match_device(names)) is not None
    )
    stopped_container = next((c for c in pod.container_statuses if not _is_healthy(pod, c)), None)
    return running.DeviceUnhealthy(
        nodes=placed.nodes,
        health=pod.unhealthy_devices,
        devices=tuple(devices),
        stopped=stopped_container,
        held=_find_held_claim(placed),
    )


def _start_cause(placed: PlacedPod) -> Cause | None:
    """Return the cause for which the pod does not start or has failed. It comes from the
    containers, else from the newest event.
    """
    pod = placed.pod
    has_begun = pod.phase == "Running" or any(
        container.has_started for container in pod.container_statuses
    )
    step = newest_start_event(placed.events)
    if step is not None and has_restarted(pod, step):
        return _cause_of_step(placed, step, has_begun=True)
    for reported in pod.container_statuses:
        container = reveal_failure(placed.events, reported)
        if container.state == "waiting" and container.reason not in _HARMLESS_WAITS:
            cdi_device = (
                kubelet.parse_missing_cdi_device(container.message or container.reason)
                if placed.allocated
                else None
            )
            if cdi_device is not None:
                why = f"{container.reason} ({container.message or container.reason})"
                return _injection_cause(
                    placed, container.name, why, container.has_started, cdi_device
                )
            is_image = "image" in container.reason.lower()
            if container is not reported or container.reason in _FAILED_WAITS or is_image:
                default = "pull the image of container" if is_image else "start container"
                action = _FAILED_WAITS.get(container.reason, default)
                why = (
                    f"{container.reason} ({container.message})"
                    if container.message
                    else container.reason
                )
                return running.NotStarted(
                    nodes=placed.nodes,
                    what=f"{action} {container.name}",
                    why=why,
                    roots=_find_roots(placed, why),
                    refusal=_explain_start(placed, why, not is_image),
                    shared=_find_shared_claim(placed, why),
                )
            return _container_cause(placed, container)
        if (
            container.state == "terminated" and not _is_healthy(pod, container)
        ) or _is_crash_looping(placed.state, container):
            return _container_cause(placed, container)
    if has_begun and pod.condition("PodReadyToStartContainers").status != "False":
        return None
    return _driver_refusal(placed) if step is None else _cause_of_step(placed, step, has_begun)


def _cause_of_step(placed: PlacedPod, step: Event, has_begun: bool) -> Cause:
    """Return the cause that an event about a step of the start describes."""
    why = step.message
    for prefix in _EVENT_PREFIXES:
        why = why.removeprefix(prefix)
    if step.reason == "FailedPrepareDynamicResources":
        failure = kubelet.parse_prepare_failure(step.message)
        return _preparation_cause(placed, failure, has_begun=has_begun)
    cdi_device = kubelet.parse_missing_cdi_device(step.message) if placed.allocated else None
    if cdi_device is not None:
        return _injection_cause(placed, "", why, has_begun, cdi_device)
    return running.NotStarted(
        nodes=placed.nodes,
        what=START_STEPS[step.reason],
        why=why,
        roots=_find_roots(placed, why),
        refusal=_explain_start(placed, why, step.reason in _RUNTIME_STEPS),
        shared=_find_shared_claim(placed, why),
    )


def _explain_start(placed: PlacedPod, why: str, is_of_runtime: bool) -> Refusal | None:
    """Return the explanation of the container runtime's words; None if no entry explains them, or
    if the words are the kubelet's or a driver's.
    """
    return explain_runtime_words(why, _make_refused_pod(placed)) if is_of_runtime else None


def _find_roots(placed: PlacedPod, why: str) -> tuple[DriverRoot, ...]:
    """Return the folders in which the drivers of a pod's devices look for files of their vendor.

    The result is empty if a volume of the pod names the missing path, since that is no fault of the
    drivers.
    """
    path = kubelet.parse_missing_dependency(why).name
    if path.startswith(placed.pod.host_paths):
        return ()
    return tuple(find_driver_root(placed.state, driver) for driver in placed.drivers)


def _is_crash_looping(state: ClusterState, container: ContainerStatus) -> bool:
    """Return True if a container that is in a crash loop happens to run at this moment: it has
    restarted, and started just now.
    """
    if (
        container.state != "running"
        or container.last is None
        or not container.last.has_failed
        or container.restarts < 2
    ):
        return False
    now, started = read_time(state), parse_timestamp(container.started_at)
    return not container.is_ready or (
        now is not None and started is not None and now - started < _LOOP_S
    )


def _container_cause(placed: PlacedPod, container: ContainerStatus) -> Cause:
    sentences = placed.unlisted.sentences
    lists_no_claim = (
        placed.claims and not sentences and container.name not in placed.unlisted.listing
    )
    why = "it lists no claim in resources.claims, so it has no device" if lists_no_claim else ""
    remarks = sentences or ((why,) if why else ())
    return running.ContainerFailed(
        nodes=placed.nodes,
        container=container,
        why=why,
        claims=bool(placed.claims),
        without=remarks,
        missing=_find_missing_devices(placed, container),
        os_image=placed.os_image,
    )


def _find_missing_devices(
    placed: PlacedPod, container: ContainerStatus
) -> running.MissingDevices | None:
    """Return the devices that a program has not found although they are allocated to its pod.

    The end of the program's log must match the facts about the vendor's libraries.
    """
    words = " ".join(
        state.message
        for state in (container, container.last)
        if state is not None and state.message
    )
    for driver in placed.drivers:
        libraries = driver_facts(driver).libraries if driver in driver_names() else None
        if libraries is not None and libraries.reports_no_device(words):
            plugins = placed.plugins((driver,))
            return running.MissingDevices(
                driver, libraries.device_files, libraries.check, plugins[0] if plugins else None
            )
    return None


def _injection_cause(
    placed: PlacedPod, container: str, why: str, begun: bool, absent: str
) -> Cause:
    return running.NotInjected(
        nodes=placed.nodes,
        container=container,
        why=why,
        begun=begun,
        rebooted=_find_reboot(placed),
        host=absent,
        drivers=placed.drivers,
        os_image=placed.os_image,
        refusal=explain_runtime_words(why, _make_refused_pod(placed)),
        held=_find_held_claim(placed),
    )


def _find_held_claim(placed: PlacedPod) -> HeldClaim | None:
    """Return a claim of the pod that stays prepared and allocated if only the pod is deleted; None
    if there is none. A claim from a template ends with its pod.
    """
    state, pod = placed.state, placed.pod
    owner = pod.controller
    workload = pod.workload if owner is not None and owner.kind == "ReplicaSet" else None
    for each in placed.claims:
        if each.value is None or Claim(each.value).owner_pods:
            continue
        users = [name for name in Claim(each.value).consumer_pods if name != pod.name]
        others = tuple(
            name
            for name in users
            if workload is None or state.pod((pod.namespace, name)).workload != workload
        )
        if workload is not None or others:
            replicas = 1 if workload is None else _count_replicas(state, workload, pod.namespace)
            return HeldClaim(each.key[1], others, workload, replicas)
    return None


def _count_replicas(state: ClusterState, workload: tuple[str, str], namespace: str) -> int:
    """Return the number of pods that a workload wants, or else has."""
    kind, name = workload
    wanted = state.workload(kind, (namespace, name)).replicas
    return wanted or sum(
        pod.workload == workload and pod.namespace == namespace for pod in state.pods.values()
    )


def _find_reboot(placed: PlacedPod) -> str:
    """Return the time of a reboot of the node after the pod got its devices; "" if no event of its
    kubelet says so (kubernetes pkg/kubelet/kubelet_node_status.go, NodeRebooted).
    """
    state, node = placed.state, placed.pod.node_name
    reboots = (
        event.last_seen
        for event in (*state.events_of(("", node)), *state.events_of(("default", node)))
        if event.reason == "Rebooted" and event.regarding.kind == "Node"
    )
    reboot = max(reboots, default="")
    begins = [Claim(claim.value).allocation_timestamp for claim in placed.claims if claim.allocated]
    begin = max(filter(None, begins), default=placed.pod.creation_timestamp)
    return reboot if reboot[:TIMESTAMP_SECONDS] > begin[:TIMESTAMP_SECONDS] else ""


def _find_shared_claim(placed: PlacedPod, why: str) -> running.SharedClaim | None:
    """Return a claim that was prepared for another pod before. The kubelet then skips the other
    claims of the pod, such as the one that the message ``why`` names.
    """
    node = placed.state.node(placed.pod.node_name)
    if "unable to get claim info" not in why or not node.kubelet_skips_claims:
        return None
    words = why.replace(")", " ").split()
    others = (claim for claim in placed.claims if claim.key[1] not in words)
    for claim in others:
        for name in Claim(claim.value).consumer_pods:
            user = placed.state.pod((placed.pod.namespace, name))
            is_beside = user.node_name == placed.pod.node_name and user.phase == "Running"
            if is_beside and name != placed.pod.name:
                return running.SharedClaim(claim.key[1], "/".join(user.key), node.kubelet_version)
    return None


def _driver_refusal(placed: PlacedPod) -> Cause | None:
    """Return the driver's own words as a cause, if the kubelet reports none.

    They are in an event of the driver about a claim (dra.net writes ClaimPrepareFailed).
    """
    for claim in placed.claims if placed.pod.phase == "Pending" else ():
        events = events_about(placed.state, Claim(claim.value))
        refusal = newest_event(events, ("ClaimPrepareFailed",))
        if refusal is not None:
            return running.NotPrepared(
                nodes=placed.nodes,
                prepare=kubelet.PrepareFailure("refused", refusal.message),
                faults=_configuration_faults(placed.claims)[0],
                drivers=placed.drivers,
                refusal=explain_driver_words(refusal.message, _make_refused_pod(placed)),
            )
    return None


def _make_refused_pod(placed: PlacedPod, driver: str = "", claim: str = "") -> RefusedPod:
    return RefusedPod(
        state=placed.state,
        pod=placed.pod,
        allocated=placed.allocated,
        slices=placed.slices,
        driver=driver,
        claim=claim,
    )


def _explain_failure(placed: PlacedPod, failure: kubelet.PrepareFailure) -> Refusal | None:
    """Return the explanation of the words of the kubelet or a driver about a failure; None if no
    entry explains them.
    """
    refused = _make_refused_pod(placed, failure.driver, failure.claim)
    if failure.answer == "unregistered":
        return None
    kubelet_words = explain_words(failure.words, refused, refusals(KUBELET))
    return kubelet_words or explain_driver_words(failure.words, refused)


def _preparation_cause(
    placed: PlacedPod, failure: kubelet.PrepareFailure, *, has_begun: bool
) -> Cause:
    named_devices = tuple(
        device.device for device in placed.allocated if device.device in failure.mentioned_names
    )
    faults, gates = _configuration_faults(placed.claims)
    if faults and failure.answer == "unasked":
        failure = replace(failure, answer="refused")
    refusal = _explain_failure(placed, failure)
    is_of_parameters = refusal is None or refusal.blames == "parameters"
    refused = failure.answer == "refused"
    if refused and not faults:
        faults = tuple(_configurations_of_other_types(placed.claims, placed.slices))
    blamed_drivers = (failure.driver,) if failure.driver else placed.drivers
    return running.NotPrepared(
        nodes=placed.nodes,
        prepare=failure,
        faults=faults if refused and is_of_parameters else (),
        gates=gates if refused and is_of_parameters else (),
        drivers=placed.drivers,
        lost=() if refused else placed.silent_drivers,
        devices=named_devices or tuple(device.device for device in placed.allocated),
        unpublished=placed.unpublished_devices if refused else (),
        refusal=refusal,
        plugins=placed.plugins(blamed_drivers),
        os_image=placed.os_image,
        held=_find_held_claim(placed),
        has_begun=has_begun,
        made=(
            *(_find_waits(placed) if failure.answer == "silent" else ()),
            *_find_made_objects(placed, blamed_drivers, refusal, failure),
        ),
    )


def _find_waits(placed: PlacedPod) -> Iterator[DriverWaits]:
    """Yield the devices of a pod whose driver is known to wait inside NodePrepareResources."""
    types = _device_types(placed.slices)
    for device in placed.allocated:
        kind = types.get(DeviceID(device.driver, device.pool, device.device))
        waits = driver_facts(device.driver).waits if device.driver in driver_names() else ()
        for wait in waits:
            if kind in wait.devices:
                pods = (
                    f"pod {pod.full_name}"
                    for pod in placed.state.pods.values()
                    if pod.node_name == placed.pod.node_name and not pod.has_ended
                    if any(word in pod.name for word in wait.holders)
                )
                yield DriverWaits(
                    device.driver,
                    device.device,
                    placed.pod.node_name,
                    wait.about,
                    wait.step,
                    tuple(pods),
                )


def _device_types(slices: Iterable[ResourceSlice]) -> dict[DeviceID, object]:
    """Return the attribute ``type`` of the drivers' own domains, for devices that have it."""
    types: dict[DeviceID, object] = {}
    for item in slices:
        for published in item.spec.devices:
            attribute = published.attribute(f"{item.spec.driver}/type", item.spec.driver)
            if attribute is not None:
                device = DeviceID(item.spec.driver, item.spec.pool.name, published.name)
                types[device] = attribute.value
    return types


def _find_made_objects(
    placed: PlacedPod,
    drivers: Iterable[str],
    refusal: Refusal | None,
    failure: kubelet.PrepareFailure,
) -> Iterator[DeploymentRefused | DomainState | PluginFails]:
    """Yield the objects that drivers have made for the claims of a pod and that are not ready.

    A driver that is not registered with the kubelet was not asked for the claim. A ComputeDomain
    then waits for the driver, and not the other way round.
    """
    for claim in placed.claims if failure.answer != "unregistered" else ():
        domain = find_domain_state(placed.state, Claim(claim.value), placed.pod.node_name)
        if domain is not None:
            yield domain
    for driver in drivers:
        yield from find_refused_deployments(placed.state, driver)
    if refusal is not None and refusal.waits_for:
        yield from find_failing_pods(
            placed.state, refusal.driver, placed.pod.node_name, refusal.waits_for
        )


def _configuration_faults(
    claims: Sequence[PodClaim],
) -> tuple[tuple[tuple[str, str, str], ...], tuple[str, ...]]:
    """Return the faults that drivers would find in the configurations of claims: pod claim, path,
    and reason.

    Also return the feature gates that the drivers need before they accept the right values.
    """
    from dractl.drivers import opaque

    refusals = [
        (claim.name, driver, fault)
        for claim in claims
        for _, driver, fault in opaque.find_faults_in_claim(Claim(claim.value).config_entries)
    ]
    gates = (sharing_gate(driver, fault.nearest) for _, driver, fault in refusals if fault.nearest)
    faults = tuple(
        (claim, ".".join(map(str, fault.path)), _fault_text(fault)) for claim, _, fault in refusals
    )
    return faults, tuple(dict.fromkeys(filter(None, gates)))


def _configurations_of_other_types(
    claims: Sequence[PodClaim], slices: Iterable[ResourceSlice]
) -> Iterator[tuple[str, str, str]]:
    """Yield allocated configurations that are for devices of another type: pod claim, path, and
    reason.

    Configurations that name no request are left out, since the driver ignores them.
    """
    types = _device_types(slices)
    for claim in claims:
        view = Claim(claim.value)
        for configuration in view.allocated_configurations:
            driver = configuration.driver
            configuration_kind = kind_of(driver, configuration.parameters)
            for device in view.allocated_devices if configuration_kind else ():
                type_ = types.get(device.id)
                is_named = any(
                    name in (device.request, device.request.partition("/")[0])
                    for name in configuration.requests
                )
                if (
                    configuration_kind
                    and is_named
                    and isinstance(type_, str)
                    and device.driver == driver
                    and type_ != configuration_kind[1]
                ):
                    fitting_kind = kind_for(driver, type_)
                    why = (
                        f"{configuration_kind[0]} is for devices of type {configuration_kind[1]},"
                        f" and {device.device} is a {type_}"
                    )
                    yield (
                        claim.name,
                        "kind",
                        f"{why}; did you mean {fitting_kind}?" if fitting_kind else why,
                    )
                    break


def _fault_text(fault: OpaqueFault) -> str:
    return f"{fault.message}; did you mean {fault.nearest}?" if fault.nearest else fault.message


def _readiness_cause(placed: PlacedPod) -> Cause | None:
    """Return the cause if a driver calls a device not ready, or if a container fails a probe."""
    for claim in placed.claims:
        for device in Claim(claim.value).reported_devices:
            ready = device.condition("Ready")
            if ready.status == "False":
                return running.DeviceNotReady(
                    nodes=placed.nodes,
                    claim=claim.full_name,
                    device=device.id.device,
                    driver=device.id.driver,
                    why=ready.message or ready.reason,
                )
    probe = newest_event(placed.events, ("Unhealthy",))
    for container in placed.pod.container_statuses:
        if (
            container.state == "running"
            and not container.is_ready
            and not container.is_init
            and probe is not None
        ):
            return running.ProbeFails(
                nodes=placed.nodes, container=container.name, why=probe.message
            )
    return None


def _node_readiness_cause(placed: PlacedPod) -> Cause | None:
    why = kubelet.unready_reason(placed.state, placed.pod.node_name)
    return (
        running.NodeUnready(nodes=placed.nodes, why=why, state=headline_of(placed.pod))
        if why
        else None
    )


def _kubelet_silence_cause(placed: PlacedPod) -> Cause | None:
    """Return the cause if the kubelet has been silent about a pod for longer than the pod's current
    step takes.
    """
    pod, now = placed.pod, read_time(placed.state)
    since = pod.condition("PodScheduled").last_transition or pod.creation_timestamp
    scheduled = parse_timestamp(since)
    if pod.phase != "Pending" or now is None or scheduled is None:
        return None
    seconds = now - scheduled
    if not pod.start_time and not pod.container_statuses:
        return (
            running.KubeletSilent(nodes=placed.nodes, silence=age(since, now))
            if seconds > _SILENT_S
            else None
        )
    creating = next((c for c in pod.container_statuses if c.reason == "ContainerCreating"), None)
    if creating is None or seconds <= _SLOW_S:
        return None
    why = (
        f"container {creating.name} waits: ContainerCreating for {age(since, now)}, and no event"
        " says why"
    )
    return running.NotStarted(nodes=placed.nodes, what="start it", why=why)


def make_notes(placed: PlacedPod, cause: Cause | None) -> Iterator[str]:
    """Yield further notes on a pod on its node.

    They are about what has ended the pod, a container that failed before, a driver that is gone,
    and the time that a driver may take to answer.
    """
    pod = placed.pod
    evictions = [event for event in placed.events if event.reason in END_REASONS]
    if pod.deletion_timestamp and evictions:
        event = evictions[-1]
        yield f"the pod was not deleted by hand: event {event.reason} ({event.message})"
    if cause is None and pod.phase == "Running":
        for container in pod.container_statuses:
            if (
                container.state == "running"
                and container.last is not None
                and container.last.has_failed
            ):
                plural = "" if container.restarts == 1 else "s"
                yield (
                    f"container {container.name} was restarted {container.restarts or 1}"
                    f" time{plural}; the last one ended with exit code {container.last.exit_code}"
                    + (
                        f" ({container.last.reason})"
                        if container.last.reason not in ("", "Error")
                        else ""
                    )
                )
        for driver in placed.silent_drivers:
            yield (
                f"driver {driver} publishes nothing on {pod.node_name} now: running pods go on, but"
                " no claim is prepared or unprepared until it does"
            )
    yield from _note_history(placed, cause)
    creating = any(container.reason == "ContainerCreating" for container in pod.container_statuses)
    if cause is None and creating and placed.drivers:
        yield (
            f"the kubelet may be waiting for driver {' or '.join(placed.drivers)} to prepare the"
            " devices: it says nothing for 45 s"
        )


def _note_history(placed: PlacedPod, cause: Cause | None) -> Iterator[str]:
    """Yield notes on how often the kubelet has repeated the cause, and on what happened before
    it.
    """
    step = newest_start_event(placed.events)
    if step is None or not isinstance(cause, running.NotPrepared | running.NotStarted):
        return
    if step.count > 1 and step.first_seen and step.last_seen:
        yield (
            f"event {step.reason}: {step.count} times since {step.first_seen}, last at"
            f" {step.last_seen}"
        )
    if isinstance(cause, running.NotPrepared) and cause.has_begun:
        for container in placed.pod.container_statuses:
            if container.state == "terminated" and container.finished_at:
                yield f"before that, {running.describe_end(container)} at {container.finished_at}"


def note_overlooked_taints(
    claim: PodClaim | None, slices: Iterable[ResourceSlice], features: Features
) -> Iterator[str]:
    """Yield a note if a device of an extended resource has a NoExecute taint and yet its pod is not
    evicted.
    """
    if claim is None or features.has("evicts-extended-resources"):
        return
    taints = list_evicting_taints(slices)
    for device in Claim(claim.value).allocated_devices:
        for taint in taints.get(device.id, ())[:1]:
            since = f" since {taint.time_added}" if taint.time_added else ""
            yield (
                f"device {device.device} has taint {format_taint(taint)}{since}, and the pod is not"
                " evicted: up to Kubernetes 1.37.1 the eviction controller overlooks pods that have"
                " a device through an extended resource (kubernetes#141290, fixed in 1.37.2); end"
                " the pod yourself if it must leave the device"
            )
            return


def note_evicting_taints(
    claims: Sequence[PodClaim], slices: Iterable[ResourceSlice]
) -> Iterator[str]:
    """Yield a note on a device whose taint makes the eviction controller end the placed pod."""
    taints = list_evicting_taints(slices)
    for claim in claims if taints else ():
        allocation = claim.claim.status.allocation if claim.claim is not None else None
        results = allocation.devices.results if allocation is not None else ()
        tainted = find_evicting_taint(results, taints)
        if tainted is not None:
            device, taint = tainted
            yield (
                f"device {device.device} has taint {format_taint(taint)}, for which pods are"
                f" evicted: {_describe_toleration(claim, device, taint)}"
            )
            return


def _describe_toleration(
    claim: PodClaim, device: DeviceRequestAllocationResult, taint: DeviceTaint
) -> str:
    """Describe why the claim's tolerations delay an eviction, or do not prevent it."""
    delay = eviction_delay(device.tolerations, taint)
    if delay is not None:
        return (
            f"the claim's toleration keeps this one there until {delay} s after "
            f"{taint.time_added or 'the taint was added'}"
        )
    requests = claim.claim.spec.devices.requests if claim.claim is not None else ()
    asked = [
        toleration
        for request in requests
        for name, alternative in (
            (request.name, request.exactly),
            *((f"{request.name}/{each.name}", each) for each in request.first_available),
        )
        if name == device.request and alternative is not None
        for toleration in alternative.tolerations
    ]
    if is_tolerated(asked, taint):
        return (
            f"claim {claim.key[1]} tolerates it, but its allocation lacks the toleration, which"
            " kube-scheduler 1.33 and 1.34 may not copy (kubernetes/kubernetes#134434)"
        )
    return "a toleration keeps them there only if it names effect NoExecute"


def find_unlisted_claims(pod: Raw, claims: Sequence[PodClaim]) -> UnlistedClaims:
    """Return the allocated claims whose devices no container gets.

    Neither scheduler nor kubelet objects: the kubelet gives a container only the devices of the
    requests that the container names (kubernetes pkg/kubelet/cm/dra/manager.go GetResources).
    """
    view = Pod(pod)
    claim_uses = [
        (container.name, use.name, use.request)
        for field in _CONTAINERS
        for container in view.containers_in(field)
        for use in container.claims
    ]
    pod_level = {use.name for use in view.pod_level_claims}
    sentences: list[str] = []
    for claim in claims:
        if not claim.name or claim.claim is None:
            continue
        entries = [
            (container, request) for container, name, request in claim_uses if name == claim.name
        ]
        if not entries and claim.name not in pod_level:
            sentences.append(
                f"no container lists claim {claim.name} in resources.claims: its devices reach none"
                " of them"
            )
        request_names = [request.name for request in claim.claim.spec.devices.requests]
        sentences += [
            f"container {container} gets no device of claim {claim.name}: it names request"
            f" {request}, and the claim has {', '.join(request_names)}"
            for container, request in entries
            if request and request not in request_names
        ]
    return UnlistedClaims(tuple(sentences), frozenset(container for container, _, _ in claim_uses))
