"""The restart or the end of a driver, during which pods with its claims can neither start nor end.

Running pods are not affected: the kubelet asks a driver only when a pod with a claim starts or ends
(kubernetes pkg/kubelet/cm/dra/manager.go).
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from dractl.allocation import Features
from dractl.cluster.driver_workloads import DriverWorkloads, find_driver_workloads
from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import ClusterState
from dractl.errors import UsageError
from dractl.impact.aftermath import Aftermath, compare_pending_pods
from dractl.impact.coverage import note_missing_kinds
from dractl.impact.deadlocks import note_deadlocks
from dractl.impact.devices import compare_devices, list_rows
from dractl.impact.plugins import WIPING_SECONDS, find_plugins, list_drivers_to_unprepare
from dractl.impact.result import DeviceChange, Impact, PodImpact, sort_pods
from dractl.impact.summary import join
from dractl.model.nearest import nearest_names
from dractl.objects import slice_of
from dractl.scheduler.attempt import Scheduler
from dractl.views import Pod


class DriverInQuestion(Struct, frozen=True):
    """A driver, and the nodes on which its plug-in stops."""

    state: ClusterState
    features: Features
    name: str
    nodes: tuple[str, ...]
    """The nodes for which the driver publishes devices, or where pods hold some of its devices,
    sorted.
    """
    workloads: DriverWorkloads
    restarts: bool
    """True if the plug-in starts again at once; otherwise it stays away."""

    @property
    def is_everywhere(self) -> bool:
        """True if the plug-in stops on every node that the driver serves."""
        return set(self.nodes) >= list_nodes_of_driver(self.state, self.name)


def find_driver(
    state: ClusterState, features: Features, name: str, node: str | None, *, restarts: bool
) -> DriverInQuestion:
    """Return a driver of the cluster on one node, or on all of its nodes.

    Raises UsageError, with the nearest name, if the input does not mention the driver, or if the
    driver has no device on the node.
    """
    drivers = _list_drivers(state)
    if name not in drivers:
        near = nearest_names(name, drivers, most=1)
        raise UsageError(
            f"no driver {name}" + (f"; did you mean {near[0]}?" if near else ""),
            hint=f"the input has {', '.join(sorted(drivers)) or 'no drivers'}",
        )
    nodes = list_nodes_of_driver(state, name)
    if node is not None and node not in nodes:
        near = nearest_names(node, nodes, most=1)
        raise UsageError(
            f"driver {name} has no device and no claim on node {node}"
            + (f"; did you mean {near[0]}?" if near else ""),
            hint=f"it has on {', '.join(sorted(nodes)[:8]) or 'no node'}",
        )
    chosen = (node,) if node is not None else tuple(sorted(nodes))
    workloads = find_driver_workloads(state, name, nodes)
    return DriverInQuestion(state, features, name, chosen, workloads, restarts)


def list_nodes_of_driver(state: ClusterState, driver: str) -> set[str]:
    """Return the nodes for which a driver publishes devices, or where a pod holds some of them."""
    slices = map(slice_of, state.objects("ResourceSlice").values())
    nodes = {item.node for item in slices if item.driver == driver and item.node}
    return nodes | {
        pod.node_name
        for pod in state.pods.values()
        if pod.node_name and driver in list_drivers_to_unprepare(state, pod)
    }


def _list_drivers(state: ClusterState) -> set[str]:
    published = {slice_of(item).driver for item in state.objects("ResourceSlice").values()}
    held = {device.driver for claim in state.claims.values() for device in claim.allocated_devices}
    return (published | held) - {""}


def find_driver_impact(driver: DriverInQuestion) -> Impact:
    """Return the effects on pods whose claims cannot be prepared or unprepared while the plug-in is
    away.
    """
    state, features = driver.state, driver.features
    pods = [
        _judge_pod(driver, pod)
        for pod in state.pods.values()
        if pod.node_name in driver.nodes
        and not pod.has_ended
        and driver.name in list_drivers_to_unprepare(state, pod)
    ]
    later = state if driver.restarts else _remove_slices(driver)
    after = Aftermath(Scheduler(later, features))
    verb = "restart" if driver.restarts else "stop"
    place = "" if driver.is_everywhere else f" on {', '.join(driver.nodes)}"
    return Impact(
        (f"{verb} {driver.name}{place}",),
        tuple(_list_lost_devices(driver, later)),
        sort_pods(pods),
        compare_pending_pods(Scheduler(state, features), after),
        tuple(_list_steps(driver, pods)),
        tuple(dict.fromkeys(_list_notes(driver, pods))),
    )


def _judge_pod(driver: DriverInQuestion, pod: Pod) -> PodImpact:
    name = driver.name
    if pod.deletion_timestamp:
        if driver.restarts:
            return PodImpact(pod.key, "waits", f"Terminating until {name} has unprepared its claim")
        why = f"it stays Terminating: nobody unprepares its claim of {name}"
        return PodImpact(pod.key, "blocked", why)
    if not _has_started(pod):
        if driver.restarts:
            return PodImpact(pod.key, "waits", f"it starts once {name} has prepared its claim")
        return PodImpact(
            pod.key, "blocked", f"it cannot start: nobody prepares its claim of {name}"
        )
    if driver.restarts:
        return PodImpact(pod.key, "kept", "it runs on; it cannot end before the driver is back")
    return PodImpact(pod.key, "kept", "it runs on; once deleted it stays Terminating")


def _has_started(pod: Pod) -> bool:
    """Return whether the kubelet has prepared the claims of a pod, which is so if a container has
    run.
    """
    if not pod.container_statuses:
        return pod.phase == "Running"
    return any(one.state in ("running", "terminated") for one in pod.container_statuses)


def _remove_slices(driver: DriverInQuestion) -> ClusterState:
    """Return the cluster without the driver's slices for the nodes in question, since the kubelet
    deletes these slices.
    """
    slices = {
        key: raw
        for key, raw in driver.state.objects("ResourceSlice").items()
        if not ((item := slice_of(raw)).driver == driver.name and item.node in driver.nodes)
    }
    return driver.state.with_kinds({"ResourceSlice": slices})


def _list_lost_devices(driver: DriverInQuestion, later: ClusterState) -> Iterator[DeviceChange]:
    if later is not driver.state:
        before, after = (list_rows(state, driver.features) for state in (driver.state, later))
        yield from compare_devices(before, after, ())


def _list_steps(driver: DriverInQuestion, pods: Sequence[PodImpact]) -> Iterator[NextStep]:
    waiting = [pod.name for pod in pods if pod.effect in ("waits", "blocked")]
    if waiting:
        yield NextStep(f"wait until {', '.join(waiting[:3])} has started or is gone")
    if driver.restarts:
        yield from _list_restart_steps(driver)
        yield NextStep(
            f"wait until {driver.name} publishes its devices",
            quote_command(
                "kubectl get resourceslices --field-selector spec.driver={}", driver.name
            ),
        )
        return
    for node in driver.nodes[:1]:
        others = len(driver.nodes) - 1
        yield NextStep(
            f"end the pods with claims of {driver.name} on {node} first"
            + (f", then so on {others} other nodes" if others else ""),
            quote_command("kubectl drain {} --ignore-daemonsets", node),
        )
    for workload in driver.workloads.daemon_sets:
        namespace, name = workload.key
        yield NextStep(
            "only then stop it", quote_command("kubectl delete daemonset {} -n {}", name, namespace)
        )


def _list_restart_steps(driver: DriverInQuestion) -> Iterator[NextStep]:
    if driver.is_everywhere:
        for workload in driver.workloads.daemon_sets:
            namespace, name = workload.key
            yield NextStep(
                "restart it, one node after the other",
                quote_command("kubectl rollout restart daemonset {} -n {}", name, namespace),
            )
        return
    for node in driver.nodes:
        for pod in driver.workloads.pods_on(node):
            yield NextStep(
                f"restart it on {node}: its DaemonSet creates the pod again",
                quote_command("kubectl delete pod {} -n {}", pod.key[1], pod.key[0]),
            )


def _list_notes(driver: DriverInQuestion, pods: Sequence[PodImpact]) -> Iterator[str]:
    name, place = driver.name, join(driver.nodes) or "any node"
    if not pods:
        yield f"no pod on {place} holds a device of {name}: safe to restart"
    else:
        yield (
            f"meanwhile no pod with a claim of {name} can start or end on {place}:"
            " a pod that is deleted stays Terminating, one that is placed waits"
        )
    yield (
        f"after {WIPING_SECONDS} s without the plug-in the kubelet deletes its slices, and the"
        " scheduler places no pod on these devices until it is back"
    )
    if driver.restarts and not driver.workloads.are_known:
        yield f"the input shows no workload of {name}: how it is restarted is unknown"
    plugins = find_plugins(driver.state, name, driver.nodes)
    absent = [plugin for plugin in plugins.values() if plugin.status == "gone"]
    if absent:
        nodes = join([plugin.node for plugin in absent])
        yield f"{name} does not serve {nodes} now: {absent[0].why}"
    some = list(plugins.values())[:1]
    yield from note_deadlocks(driver.state, set(driver.nodes), some, "restart")
    yield from note_missing_kinds(driver.state, ("Pod", "ResourceClaim"))
