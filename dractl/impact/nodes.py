"""A node with its pods and plug-ins, and the effects of a cordon on it."""

from collections.abc import Iterator

from msgspec import Struct

from dractl.allocation import Features
from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import ClusterState
from dractl.errors import UsageError
from dractl.impact.aftermath import Aftermath, compare_pending_pods
from dractl.impact.coverage import note_missing_kinds
from dractl.impact.deadlocks import Operation, note_deadlocks
from dractl.impact.plugins import PluginOnNode, find_plugin, list_drivers_to_unprepare
from dractl.impact.result import Impact, PodImpact, sort_pods
from dractl.model.nearest import nearest_names
from dractl.objects import items
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.cache import add_nodes_of_slices
from dractl.views import Pod

CORDON_TAINT = "node.kubernetes.io/unschedulable"
_KINDS = ("Pod", "ResourceClaim", "ResourceSlice", "PodDisruptionBudget")


class NodeInQuestion(Struct, frozen=True):
    """A node, its pods, and the plug-ins of the drivers that have claims there."""

    state: ClusterState
    features: Features
    name: str
    pods: tuple[Pod, ...]
    """The pods that run on the node, including Terminating ones."""
    plugins: dict[str, PluginOnNode]
    """The plug-in of each driver whose devices the pods hold."""

    @property
    def cordoned(self) -> ClusterState:
        """The cluster in which the node takes no further pods."""
        state = add_nodes_of_slices(self.state)
        node = state.node(self.name)
        if node.unschedulable or not node.exists:
            return state
        taint = {"key": CORDON_TAINT, "effect": "NoSchedule"}
        taints = [*items(node.spec.get("taints")), taint]
        spec = {**node.spec, "unschedulable": True, "taints": taints}
        return state.replace("Node", ("", self.name), {**node.raw, "spec": spec})

    def find_missing_plugin(self, pod: Pod) -> PluginOnNode | None:
        """Return a plug-in that must run before a pod can be deleted, and that does not run."""
        drivers = list_drivers_to_unprepare(self.state, pod)
        plugins = (self.plugins[driver] for driver in drivers)
        return next((plugin for plugin in plugins if plugin.status == "gone"), None)


def find_node(state: ClusterState, features: Features, name: str) -> NodeInQuestion:
    """Return a node with its pods and plug-ins.

    Raises UsageError with the nearest name if there is no such node.
    """
    names = {key[1] for key in state.nodes} | {pod.node_name for pod in state.pods.values()}
    if name not in names:
        near = nearest_names(name, names - {""}, most=1)
        raise UsageError(
            f"no node {name}" + (f"; did you mean {near[0]}?" if near else ""),
            hint=f"the input has {', '.join(sorted(names - {''})[:8]) or 'no nodes'}",
        )
    on_node = [pod for pod in state.pods.values() if pod.node_name == name and not pod.has_ended]
    pods = tuple(sorted(on_node, key=lambda pod: pod.key))  # in the order of kubectl drain
    drivers = dict.fromkeys(d for pod in pods for d in list_drivers_to_unprepare(state, pod))
    plugins = {driver: find_plugin(state, driver, name) for driver in drivers}
    return NodeInQuestion(state, features, name, pods, plugins)


def find_cordon_impact(node: NodeInQuestion) -> Impact:
    """Return the effects of a cordon: running pods stay, and pending pods cannot get the node."""
    after = Aftermath(Scheduler(node.cordoned, node.features))
    kept = [PodImpact(pod.key, "kept", "a cordon ends nothing") for pod in node.pods]
    return Impact(
        (f"cordon Node/{node.name}",),
        pods=sort_pods(kept),
        pending=compare_pending_pods(Scheduler(node.state, node.features), after),
        steps=(NextStep(f"cordon {node.name}", quote_command("kubectl cordon {}", node.name)),),
        notes=(
            *note_state(node),
            "pods of DaemonSets still come to a cordoned node",
            *note_missing_kinds(node.state, ("Pod",)),
        ),
    )


def judge_terminating_pod(node: NodeInQuestion, pod: Pod) -> PodImpact:
    """Return the effect on a pod that is already Terminating."""
    if pod.foreign_finalizers or node.find_missing_plugin(pod):
        return PodImpact(pod.key, "blocked", f"Terminating already; {explain_hold(node, pod)}")
    return PodImpact(pod.key, "evicted", "it is Terminating already", 0)


def explain_hold(node: NodeInQuestion, pod: Pod) -> str:
    """Return why an evicted pod would never be deleted."""
    plugin = node.find_missing_plugin(pod)
    if plugin is not None:
        return (
            f"it stays Terminating: driver {plugin.driver} has to unprepare its claim, and"
            f" {plugin.why}"
        )
    finalizers = ", ".join(pod.foreign_finalizers)
    return f"its containers end, and finalizer {finalizers} keeps it until its owner removes it"


def note_state(node: NodeInQuestion) -> Iterator[str]:
    if node.state.lists_all_nodes and not node.state.node(node.name).exists:
        yield f"there is no Node {node.name}: pods that name it are left over from a deleted node"
    elif node.state.node(node.name).unschedulable:
        yield f"{node.name} is cordoned already"
    for plugin in node.plugins.values():
        if plugin.status == "unknown":
            yield f"whether driver {plugin.driver} runs on {node.name} is unknown: {plugin.why}"


def note_environment(node: NodeInQuestion, operation: Operation) -> Iterator[str]:
    yield from note_deadlocks(node.state, {node.name}, list(node.plugins.values()), operation)
    yield from note_missing_kinds(node.state, _KINDS if operation == "drain" else _KINDS[:-1])
