"""The state of a driver on a node: its kubelet plug-in, and the objects that it makes for
claims.
"""

from collections.abc import Collection, Iterator
from operator import attrgetter

from dractl.cluster.clock import read_time
from dractl.cluster.driver_workloads import (
    DriverWorkloads,
    describe_workload,
    find_driver_workloads,
)
from dractl.cluster.state import ClusterState
from dractl.cluster.workloads import newest_refusal
from dractl.explain.reasons.drivers import (
    MAX_MESSAGE_CHARS,
    DaemonSetRuns,
    DeploymentRefused,
    DomainState,
    DriverRoot,
    PluginAbsent,
    PluginFails,
    PluginLeaves,
    PluginNotWanted,
    PluginRepelled,
    PluginRuns,
    PluginStarts,
    PluginState,
)
from dractl.explain.reasons.refusals import label_selector_text
from dractl.facts.drivers import driver as facts_about, names
from dractl.model import ResourceSlice
from dractl.model.paths import text_at
from dractl.model.taints import format_taint
from dractl.scheduler.node_constraints import check_node_affinity, check_taints
from dractl.scheduler.rejection import LabelMismatch, NodeAffinityMismatch, UntoleratedTaint
from dractl.scheduler.snapshot import NodeInfo
from dractl.views import (
    Claim,
    ComputeDomain,
    ContainerStatus,
    Node,
    Pod,
    Workload,
    age,
    parse_timestamp,
)

YOUNG_NODE_SECONDS = 900
"""The age up to which a node counts as new: its drivers may still be starting."""
SLOW_START_SECONDS = 300
"""The time after which an init container of a plug-in is no longer expected to end by itself."""
_START_FAILURES = frozenset({"FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"})
"""Reasons of the kubelet's events about pods of which no container can start."""
_DAEMON_TAINTS = "node.kubernetes.io/"
"""Taints with this prefix are tolerated by the pods of every DaemonSet, except taints about the
network (kubernetes pkg/controller/daemon/util/daemonset_util.go AddOrUpdateDaemonPodTolerations).
"""
_DOMAIN_LABEL = "resource.nvidia.com/computeDomain"
"""kubernetes-sigs/dra-driver-nvidia-gpu cmd/compute-domain-controller/computedomain.go."""


def list_publishing_nodes(slices: Collection[ResourceSlice], driver: str) -> frozenset[str]:
    """Return the nodes for which a driver publishes devices."""
    return frozenset(
        item.spec.node_name
        for item in slices
        if item.spec.driver == driver and item.spec.node_name and item.spec.devices
    )


def find_plugin_state(
    state: ClusterState, slices: Collection[ResourceSlice], driver: str, node: str
) -> PluginState | None:
    """Return the state of a driver's plug-in on a node; None if the input does not show it."""
    workloads = find_driver_workloads(state, driver, list_publishing_nodes(slices, driver))
    return plugin_state_of(state, workloads, node)


def plugin_state_of(
    state: ClusterState, workloads: DriverWorkloads, node_name: str
) -> PluginState | None:
    """Return the state of a driver's plug-in on a node, as its ``workloads`` show it."""
    if not workloads.are_known:
        return None
    pods, node = workloads.pods_on(node_name), state.node(node_name)
    for pod in pods:
        return _state_of_pod(state, workloads, node, pod)
    daemon_sets = sorted(workloads.daemon_sets, key=attrgetter("key"))
    if not daemon_sets or not node.exists:
        return None
    refusals = [_refusal_of_node(workloads, node, daemon_set) for daemon_set in daemon_sets]
    selecting = [one for one, refusal in zip(daemon_sets, refusals, strict=True) if refusal is None]
    if not selecting:
        return refusals[0]
    return _state_of_daemon_set(state, workloads, node, selecting[0])


def _state_of_pod(
    state: ClusterState, workloads: DriverWorkloads, node: Node, pod: Pod
) -> PluginState:
    driver, name = workloads.driver, "/".join(pod.key)
    if pod.deletion_timestamp:
        return PluginLeaves(driver=driver, node=node.name, pod=name, since=pod.deletion_timestamp)
    wanted = _container_name(driver)
    containers = sorted(pod.container_statuses, key=lambda one: one.name != wanted)
    serving = [one for one in containers if one.name == wanted] or containers
    failing = next((one for one in containers if one.is_init and _fails(one)), None) or next(
        (one for one in serving if _fails(one)), None
    )
    if failing is not None:
        return PluginFails(driver=driver, node=node.key[1], pod=name, container=failing)
    waiting = next((one for one in containers if one.is_init and not _is_done(one)), None) or next(
        (one for one in serving if not one.is_init and not one.is_ready), None
    )
    readiness = pod.condition("Ready").status
    if waiting is not None or (not containers and readiness != "True"):
        now = read_time(state)
        duration = _slow_start_age(waiting, now)
        after = f" after {duration}" if duration else ""
        failure = _start_failure(state, pod)
        return PluginStarts(
            is_passing=not (duration or failure),
            failure=failure,
            driver=driver,
            node=node.key[1],
            pod=name,
            waits_for=_describe_wait(waiting, readiness) + after,
            node_age=_young_age(node, now),
            slow_container=waiting.name if waiting is not None and duration else "",
        )
    container = next((one for one in serving if not one.is_init), None)
    return PluginRuns(
        driver=driver,
        node=node.key[1],
        pod=name,
        container=wanted if container is not None and container.name == wanted else "",
        lacks=wanted if wanted and wanted not in _names_of_containers(pod) else "",
    )


def _names_of_containers(pod: Pod) -> frozenset[str]:
    return frozenset(container.name for container in pod.containers_in("containers"))


def _container_name(driver: str) -> str:
    return facts_about(driver).container if driver in names() else ""


def _fails(container: ContainerStatus) -> bool:
    if container.state == "terminated":
        return container.has_failed
    waits = container.state == "waiting" and container.reason not in (
        "",
        "PodInitializing",
        "ContainerCreating",
    )
    ended = container.last is not None and container.last.has_failed
    return waits or (ended and not container.is_ready and not container.is_init)


def _start_failure(state: ClusterState, pod: Pod) -> str:
    """Return the kubelet's message if the newest event about a pod says why no container can start;
    "" for any other event.
    """
    if any(one.has_started or one.restarts for one in pod.container_statuses):
        return ""
    events = [one for one in state.events_of(pod.key) if one.regarding.uid in ("", pod.uid)]
    event = max(events, key=attrgetter("last_seen"), default=None)
    if event is None or event.reason not in _START_FAILURES:
        return ""
    return f"{event.reason}: {' '.join(event.message.split())[:MAX_MESSAGE_CHARS]}"


def _is_done(container: ContainerStatus) -> bool:
    return container.state == "terminated" and not container.has_failed


def _slow_start_age(container: ContainerStatus | None, now: float | None) -> str:
    """Return how long an init container has run, such as ``20m``; "" if that is not long."""
    if container is None or not container.is_init or container.state != "running":
        return ""
    started = parse_timestamp(container.started_at)
    if started is None or now is None or now - started < SLOW_START_SECONDS:
        return ""
    return age(container.started_at, now)


def _describe_wait(container: ContainerStatus | None, readiness: str) -> str:
    if container is None and readiness:
        return "and it is not ready"
    if container is None:
        return "and its kubelet has not reported on it"
    kind = "init container" if container.is_init else "container"
    if container.state == "running":
        verb = "still runs" if container.is_init else "is not ready"
        return f"{kind} {container.name} {verb}"
    return f"{kind} {container.name} waits: {container.reason or 'not started'}"


def _young_age(node: Node, now: float | None) -> str:
    """Return the age of a node that is minutes old, such as ``4m``; "" for any other."""
    created = parse_timestamp(node.creation_timestamp)
    if created is None or now is None or now - created > YOUNG_NODE_SECONDS:
        return ""
    return age(node.creation_timestamp, now)


def _refusal_of_node(
    workloads: DriverWorkloads, node: Node, daemon_set: Workload
) -> PluginState | None:
    """Return why a DaemonSet does not run on a node; None if it selects the node and tolerates the
    node's taints.
    """
    pod, info = daemon_set.template_pod, NodeInfo(node.raw)
    name, driver = describe_workload(daemon_set), workloads.driver
    affinity = check_node_affinity(pod, info)
    for unmet in affinity.unmet if affinity is not None else ():
        match unmet:
            case LabelMismatch(key, value):
                label = f"{key}={value}"
                requirement = label if value else f"label {key}"
            case NodeAffinityMismatch(selector):
                requirement = label_selector_text(selector)
                label = _helpful_label(unmet)
            case _:
                continue
        return PluginNotWanted(
            driver=driver,
            node=node.key[1],
            daemon_set=name,
            requirement=requirement,
            label=label,
            desired=daemon_set.desired_number_scheduled,
            is_cordoned=node.unschedulable,
            is_inferred=workloads.is_inferred,
        )
    taints = check_taints(pod, info)
    for unmet in taints.unmet if taints is not None else ():
        if isinstance(unmet, UntoleratedTaint) and not str(unmet.taint.key).startswith(
            _DAEMON_TAINTS
        ):
            return PluginRepelled(
                driver=driver,
                node=node.key[1],
                daemon_set=name,
                taint=format_taint(unmet.taint),
                is_inferred=workloads.is_inferred,
            )
    return None


def _helpful_label(mismatch: NodeAffinityMismatch) -> str:
    """Return one label that would make a node match, from the last term that has such a label.

    Charts put the labels of feature discovery first, and a label that people set by hand last
    (kubernetes-sigs/dra-driver-nvidia-gpu deployments/helm values.yaml kubeletPlugin.affinity).
    """
    for term in reversed(mismatch.wanted.node_selector_terms):
        if term.match_fields or len(term.match_expressions) != 1:
            continue
        requirement = term.match_expressions[0]
        if requirement.operator == "In" and requirement.values:
            return f"{requirement.key}={requirement.values[0]}"
        if requirement.operator == "Exists":
            return f"{requirement.key}="
    return ""


def _state_of_daemon_set(
    state: ClusterState, workloads: DriverWorkloads, node: Node, daemon_set: Workload
) -> PluginState | None:
    """Return the state of a DaemonSet that selects a node and has no pod there in the input."""
    driver, name = workloads.driver, describe_workload(daemon_set)
    namespace, short = daemon_set.key
    refusal = newest_refusal(state, namespace, short)
    if workloads.pods or refusal is not None:
        return PluginAbsent(
            driver=driver,
            node=node.key[1],
            daemon_set=name,
            refusal=refusal[1] if refusal is not None else "",
        )
    return DaemonSetRuns(
        driver=driver,
        node=node.key[1],
        daemon_set=name,
        ready=daemon_set.ready_number,
        desired=daemon_set.desired_number_scheduled,
    )


# -- objects that drivers make for claims --


def find_refused_deployments(state: ClusterState, driver: str) -> Iterator[DeploymentRefused]:
    """Yield the Deployments of a driver whose pods are not created."""
    for deployment in find_driver_workloads(state, driver, ()).deployments:
        refusal = newest_refusal(state, *deployment.key)
        if refusal is not None:
            yield DeploymentRefused(
                driver,
                "/".join(deployment.key),
                refusal[1],
                deployment.condition("ReplicaFailure").last_transition,
            )


def find_failing_pods(
    state: ClusterState, driver: str, node: str, beginning: str
) -> Iterator[PluginFails]:
    """Yield the pods on a node that do not run, of Deployments whose names start with
    ``beginning``.
    """
    for key, pod in state.pods.items():
        kind, name = pod.workload or ("", "")
        if pod.node_name != node or kind != "Deployment" or not name.startswith(beginning):
            continue
        failing = next((one for one in pod.container_statuses if _fails(one)), None)
        if failing is not None:
            yield PluginFails(driver=driver, node=node, pod="/".join(key), container=failing)


def find_domain_state(state: ClusterState, claim: Claim, node: str) -> DomainState | None:
    """Return the ComputeDomain of a claim's channel if it is not ready; None if it is ready, or if
    the input has no such domain.

    The claim's configuration names the domain by its UID (kubernetes-sigs/dra-driver-nvidia-gpu
    api/nvidia.com/resource/v1beta1 ComputeDomainChannelConfig).
    """
    uids = {text_at(parameters, "domainID") for parameters in claim.parameters} - {""}
    domains = (ComputeDomain(raw, key) for key, raw in state.objects("ComputeDomain").items())
    domain = next((one for one in domains if one.uid in uids), None)
    if domain is None or domain.state == "Ready":
        return None
    daemons = [pod for pod in state.pods.values() if pod.labels.get(_DOMAIN_LABEL) == domain.uid]
    daemon = next((pod for pod in daemons if pod.node_name == node), None)
    return DomainState(
        domain="/".join(domain.key),
        status=domain.state,
        members=tuple(map(str, domain.nodes)),
        wanted=domain.wanted_nodes,
        node=node,
        has_joined=any(member.name == node for member in domain.nodes),
        is_labelled=state.node(node).labels.get(_DOMAIN_LABEL) == domain.uid
        or not state.node(node).exists,
        daemon="/".join(daemon.key) if daemon is not None else "",
        daemon_state=_readiness(daemon) if daemon is not None else "",
        others=tuple(
            "/".join(pod.key) for pod in daemons if pod is not daemon and not _is_ready(pod)
        ),
    )


def _is_ready(pod: Pod) -> bool:
    return pod.condition("Ready").status == "True"


def _readiness(pod: Pod) -> str:
    if _is_ready(pod):
        return "is ready"
    since = pod.condition("Ready").last_transition
    return f"is not ready since {since}" if since else "is not ready"


def find_driver_root(state: ClusterState, driver: str) -> DriverRoot:
    """Return the settings that name the folder where a driver looks for the files of its vendor."""
    setting = facts_about(driver).root if driver in names() else None
    if setting is None:
        return DriverRoot(driver)
    settings = {
        f"{setting.variable} of {describe_workload(daemon_set)}": value
        for daemon_set in find_driver_workloads(state, driver, ()).daemon_sets
        for name, value in daemon_set.template_pod.environment
        if name == setting.variable
    }
    for kind, path in setting.policies.items():
        for (_, name), policy in state.objects(kind).items():
            settings[f"{path.rpartition('.')[2]} of {kind} {name}"] = text_at(
                policy, *path.split(".")
            )
    named = tuple((name, value) for name, value in settings.items() if value)
    return DriverRoot(driver, named, setting.option)
