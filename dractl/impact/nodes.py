"""The pods of a node that is cordoned, drained or rebooted.

Upstream: k8s.io/kubectl pkg/drain. ``kubectl drain`` refuses before it evicts anybody if a pod has
no controller or an emptyDir, leaves pods of DaemonSets and static pods, and asks the eviction API
for the others until each is gone.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from dractl.allocation import Features
from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import ClusterState, Key
from dractl.errors import UsageError
from dractl.impact.aftermath import Aftermath, compare_pending_pods, end_pods
from dractl.impact.budgets import Budgets, list_idle_budgets
from dractl.impact.coverage import note_missing_kinds
from dractl.impact.deadlocks import Operation, note_deadlocks
from dractl.impact.devices import compare_devices, list_rows
from dractl.impact.plugins import PluginOnNode, find_plugin, list_drivers_to_unprepare
from dractl.impact.result import DeviceChange, Impact, PodImpact, sort_pods
from dractl.model.nearest import nearest_names
from dractl.objects import items
from dractl.scheduler.attempt import Scheduler
from dractl.views import Pod

NodeAction = Literal["cordon", "drain", "reboot"]
CORDON_TAINT = "node.kubernetes.io/unschedulable"
_KUBERNETES_FINALIZERS = ("batch.kubernetes.io/job-tracking", "foregroundDeletion", "orphan")
# pkg/controller/nodelifecycle/config/v1alpha1/defaults.go NodeMonitorGracePeriod, and
# plugin/pkg/admission/defaulttolerationseconds
_SILENCE = (
    "a node that is silent for 50 s counts as unreachable, and its pods are deleted 300 s later"
    " unless they tolerate node.kubernetes.io/unreachable for longer"
)
_KINDS = ("Pod", "ResourceClaim", "ResourceSlice", "PodDisruptionBudget")


class NodeInQuestion(Struct, frozen=True):
    """A node, its pods, and the plug-ins of the drivers that have claims there."""

    state: ClusterState
    features: Features
    name: str
    pods: tuple[Pod, ...]
    """The pods that run on it, those that are Terminating included."""
    plugins: dict[str, PluginOnNode]
    """The plug-in of each driver whose devices the pods hold."""

    @property
    def cordoned(self) -> ClusterState:
        """The cluster in which the node takes no further pods."""
        node = self.state.node(self.name)
        if node.unschedulable:
            return self.state
        taint = {"key": CORDON_TAINT, "effect": "NoSchedule"}
        taints = [*items(node.spec.get("taints")), taint]
        spec = {**node.spec, "unschedulable": True, "taints": taints}
        return self.state.replace("Node", ("", self.name), {**node.raw, "spec": spec})

    def find_missing_plugin(self, pod: Pod) -> PluginOnNode | None:
        """Return a plug-in without which a pod cannot be gone, and that does not run."""
        drivers = list_drivers_to_unprepare(self.state, pod)
        plugins = (self.plugins[driver] for driver in drivers)
        return next((plugin for plugin in plugins if plugin.status == "gone"), None)


def find_node(state: ClusterState, features: Features, name: str) -> NodeInQuestion:
    """Return a node with what runs there.

    Raises UsageError with the nearest name if there is none.
    """
    names = {key[1] for key in state.nodes} | {pod.node_name for pod in state.pods.values()}
    if name not in names:
        near = nearest_names(name, names - {""}, most=1)
        raise UsageError(
            f"no node {name}" + (f"; did you mean {near[0]}?" if near else ""),
            hint=f"the input has {', '.join(sorted(names - {''})[:8]) or 'no nodes'}",
        )
    pods = tuple(p for p in state.pods.values() if p.node_name == name and not p.has_ended)
    drivers = dict.fromkeys(d for pod in pods for d in list_drivers_to_unprepare(state, pod))
    plugins = {driver: find_plugin(state, driver, name) for driver in drivers}
    return NodeInQuestion(state, features, name, pods, plugins)


def find_cordon_impact(node: NodeInQuestion) -> Impact:
    """Return what a cordon does: nothing to what runs, and pending pods lose the node."""
    after = Aftermath(Scheduler(node.cordoned, node.features))
    kept = [PodImpact(pod.key, "kept", "a cordon ends nothing") for pod in node.pods]
    return Impact(
        (f"cordon Node/{node.name}",),
        pods=sort_pods(kept),
        pending=compare_pending_pods(Scheduler(node.state, node.features), after),
        steps=(NextStep(f"cordon {node.name}", quote_command("kubectl cordon {}", node.name)),),
        notes=(
            *_note_state(node),
            "pods of DaemonSets still come to a cordoned node",
            *note_missing_kinds(node.state, ("Pod",)),
        ),
    )


def find_drain_impact(node: NodeInQuestion) -> Impact:
    """Return what a drain does: the pods that go, those that stay, and what never ends."""
    fixed = {pod.key: impact for pod in node.pods if (impact := _judge_without_budget(node, pod))}
    budgets = Budgets(node.state)
    evictable = [pod for pod in node.pods if pod.key not in fixed]
    held = [p for p in evictable if _find_finalizers(p) or node.find_missing_plugin(p)]
    evicted, aftermath = _evict_in_rounds(node, evictable, budgets)
    pods = [*fixed.values()]
    for pod in evictable:
        if pod.key not in evicted:
            why = budgets.find_refusal(pod)
            pods.append(PodImpact(pod.key, "blocked", f"{why}: kubectl drain tries again for ever"))
        elif pod in held:
            why = _explain_hold(node, pod)
            pods.append(PodImpact(pod.key, "blocked", why, fits=aftermath.nodes.get(pod.key)))
        else:
            at = 0 if evicted[pod.key] == 0 else None
            why = _explain_eviction(pod, evicted[pod.key])
            pods.append(PodImpact(pod.key, "evicted", why, at, aftermath.nodes.get(pod.key)))
    return Impact(
        (f"drain Node/{node.name}",),
        tuple(_list_freed_devices(node, aftermath)),
        sort_pods(pods),
        compare_pending_pods(Scheduler(node.state, node.features), aftermath),
        tuple(_list_drain_steps(node, fixed.values())),
        tuple(
            dict.fromkeys(
                (
                    *_note_state(node),
                    *_note_refusal(node, fixed.values()),
                    *aftermath.notes,
                    *_note_budgets(node),
                    *_note_environment(node, "drain"),
                )
            )
        ),
    )


def find_reboot_impact(node: NodeInQuestion) -> Impact:
    """Return what a reboot without a drain does: no eviction, and claims prepared anew."""
    pods = [_judge_reboot(node, pod) for pod in node.pods]
    ended = [impact.key for impact in pods if impact.effect == "evicted"]
    aftermath = end_pods(Aftermath(Scheduler(node.cordoned, node.features)), ended)
    nodes = aftermath.nodes
    return Impact(
        (f"reboot Node/{node.name}",),
        pods=sort_pods([PodImpact(i.key, i.effect, i.why, i.at, nodes.get(i.key)) for i in pods]),
        pending=compare_pending_pods(Scheduler(node.state, node.features), aftermath),
        steps=tuple(_list_reboot_steps(node)),
        notes=tuple(
            dict.fromkeys(
                (
                    "a reboot asks no PodDisruptionBudget; drain first to move what can move",
                    _SILENCE,
                    *_note_state(node),
                    *_note_environment(node, "reboot"),
                )
            )
        ),
    )


# -- pods --


def _judge_without_budget(node: NodeInQuestion, pod: Pod) -> PodImpact | None:
    """Return the impact on a pod that kubectl drain does not ask the eviction API about."""
    owner = pod.controller
    if pod.is_mirror:
        return PodImpact(pod.key, "kept", "a static pod: kubectl drain leaves it")
    if owner is not None and owner.kind == "DaemonSet":
        key = (pod.key[0], owner.name)
        if node.state.get("DaemonSet", key) is None and node.state.has("DaemonSet"):
            why = f"its DaemonSet {owner.name} is gone: kubectl drain refuses it without --force"
            return PodImpact(pod.key, "blocked", why)
        return PodImpact(pod.key, "kept", f"DaemonSet {owner.name}: kubectl drain leaves its pods")
    if pod.deletion_timestamp:
        if _find_finalizers(pod) or node.find_missing_plugin(pod):
            return PodImpact(pod.key, "blocked", f"Terminating already; {_explain_hold(node, pod)}")
        return PodImpact(pod.key, "evicted", "it is Terminating already", 0)
    if owner is None:
        why = "no controller creates it again: kubectl drain refuses it without --force"
        return PodImpact(pod.key, "blocked", why)
    return None


def _evict_in_rounds(
    node: NodeInQuestion, pods: list[Pod], budgets: Budgets
) -> tuple[dict[Key, int], Aftermath]:
    """Evict pods as long as their budgets allow it. Return the round of each, and what follows.

    A pod that finds another node counts as ready there in the next round.
    """
    aftermath = Aftermath(Scheduler(node.cordoned, node.features))
    rounds: dict[Key, int] = {}
    waiting, number = list(pods), 0
    while waiting:
        wave: list[Pod] = []
        for pod in waiting:
            if not budgets.find_refusal(pod):
                budgets.subtract(pod)
                wave.append(pod)
        if not wave:
            break
        stuck = [pod.key for pod in wave if node.find_missing_plugin(pod)]
        aftermath = end_pods(aftermath, [pod.key for pod in wave], stuck)
        for pod in wave:
            rounds[pod.key] = number
            if aftermath.nodes.get(pod.key) is not None:
                budgets.add(pod)
        waiting = [pod for pod in waiting if pod.key not in rounds]
        number += 1
    return rounds, aftermath


def _find_finalizers(pod: Pod) -> list[str]:
    return [name for name in pod.finalizers if name not in _KUBERNETES_FINALIZERS]


def _explain_hold(node: NodeInQuestion, pod: Pod) -> str:
    """Return why an evicted pod is never gone."""
    plugin = node.find_missing_plugin(pod)
    if plugin is not None:
        return (
            f"it stays Terminating: driver {plugin.driver} has to unprepare its claim, and"
            f" {plugin.why}"
        )
    finalizers = ", ".join(_find_finalizers(pod))
    return f"its containers end, and finalizer {finalizers} keeps it until its owner removes it"


def _explain_eviction(pod: Pod, number: int) -> str:
    owner = pod.workload
    name = f"{owner[0]} {owner[1]} creates it again" if owner is not None else "evicted"
    if number:
        name += "; evicted once the pods that replace others of its budget are ready"
    if pod.has_empty_dir:
        name += "; the data of its emptyDir goes (--delete-emptydir-data)"
    return name


def _judge_reboot(node: NodeInQuestion, pod: Pod) -> PodImpact:
    drivers = list(list_drivers_to_unprepare(node.state, pod))
    if pod.restart_policy == "Never" and not pod.is_mirror:
        owner = pod.controller
        why = "its containers end, and restartPolicy is Never: it fails"
        if owner is None:
            why += "; no controller creates it again"
        return PodImpact(pod.key, "evicted", why, 0)
    gone = node.find_missing_plugin(pod)
    if gone is not None:
        why = f"its containers cannot start again: {gone.why}, and its claim is prepared anew"
        return PodImpact(pod.key, "blocked", why)
    why = "its containers end, and start again on the node"
    if drivers:
        why += f" once {', '.join(drivers)} has registered and prepared its claim anew"
    return PodImpact(pod.key, "waits", why)


# -- devices, steps and notes --


def _list_freed_devices(node: NodeInQuestion, aftermath: Aftermath) -> Iterator[DeviceChange]:
    before = list_rows(node.state, node.features)
    after = list_rows(aftermath.scheduler.state, node.features)
    yield from compare_devices(before, after, ())


def _list_drain_steps(node: NodeInQuestion, fixed: Iterable[PodImpact]) -> Iterator[NextStep]:
    name, refused = node.name, [one for one in fixed if _is_refused(one)]
    yield NextStep(f"cordon {name}", quote_command("kubectl cordon {}", name))
    for plugin in node.plugins.values():
        if plugin.status == "gone":
            text = f"start driver {plugin.driver} on {name} first: without it nothing is unprepared"
            yield NextStep(text)
    for namespace, pod in (impact.key for impact in refused):
        yield NextStep(
            f"end pod {namespace}/{pod} yourself, or let drain end it with --force",
            quote_command("kubectl delete pod {} -n {}", pod, namespace),
        )
    flags = " --ignore-daemonsets"
    if any(pod.has_empty_dir for pod in node.pods):
        flags += " --delete-emptydir-data"
    yield NextStep(
        "evict the pods; the drivers' plug-ins stay, since each pod with a claim needs them to end",
        quote_command(f"kubectl drain {{}}{flags}", name),
    )
    yield from _list_late_steps(node)
    yield NextStep(f"uncordon {name} afterwards", quote_command("kubectl uncordon {}", name))


def _list_late_steps(node: NodeInQuestion) -> Iterator[NextStep]:
    """Yield the steps that must come after the last pod with a claim is gone."""
    if not node.plugins:
        return
    yield NextStep(
        "wait until no pod with a claim is left",
        quote_command("kubectl get pods -A --field-selector spec.nodeName={}", node.name),
    )
    names = ", ".join(node.plugins)
    yield NextStep(f"only now stop the plug-in of {names}, then unload the kernel driver or reboot")


def _list_reboot_steps(node: NodeInQuestion) -> Iterator[NextStep]:
    yield NextStep(
        "drain it first: what can move moves, and claims are unprepared while the drivers run",
        quote_command("kubectl drain {} --ignore-daemonsets", node.name),
    )
    yield NextStep(f"reboot {node.name}")
    for driver in node.plugins:
        yield NextStep(
            f"wait until {driver} publishes the devices of {node.name} again",
            quote_command(
                "kubectl get resourceslices --field-selector spec.nodeName={}", node.name
            ),
        )
    yield NextStep(f"uncordon {node.name}", quote_command("kubectl uncordon {}", node.name))


def _is_refused(impact: PodImpact) -> bool:
    return impact.effect == "blocked" and impact.why.endswith("--force")


def _note_refusal(node: NodeInQuestion, fixed: Iterable[PodImpact]) -> Iterator[str]:
    refused = [one.name for one in fixed if _is_refused(one)]
    if refused:
        yield (
            f"kubectl drain evicts nobody on {node.name} until {', '.join(refused)}"
            f" {'is' if len(refused) == 1 else 'are'} gone, or --force is given"
        )


def _note_state(node: NodeInQuestion) -> Iterator[str]:
    if node.state.has("Node") and not node.state.node(node.name).exists:
        yield f"there is no Node {node.name}, and pods name it: they are garbage of a deleted node"
    elif node.state.node(node.name).unschedulable:
        yield f"{node.name} is cordoned already"
    for plugin in node.plugins.values():
        if plugin.status == "unknown":
            yield f"whether driver {plugin.driver} runs on {node.name} is unknown: {plugin.why}"


def _note_budgets(node: NodeInQuestion) -> Iterator[str]:
    if not node.state.shows("Pod"):
        return
    for key in list_idle_budgets(node.state, node.pods):
        yield f"PodDisruptionBudget {'/'.join(key)} selects no pod: it protects nothing"


def _note_environment(node: NodeInQuestion, operation: Operation) -> Iterator[str]:
    yield from note_deadlocks(node.state, node.name, list(node.plugins.values()), operation)
    yield from note_missing_kinds(node.state, _KINDS)
