"""The pods of a node that is drained: the pods that go, in their order, and the pods that never
end.

Upstream: k8s.io/kubectl pkg/drain. ``kubectl drain`` refuses to evict any pod if a pod has no
controller or has an emptyDir. It leaves pods of DaemonSets and static pods, and repeats the
eviction requests for the other pods until they are gone.
"""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from dractl.cluster.shell import NextStep, quote_command
from dractl.cluster.state import Key
from dractl.impact.aftermath import Aftermath, compare_pending_pods, evict_pods
from dractl.impact.budgets import Budgets, list_idle_budgets
from dractl.impact.devices import compare_devices, list_rows
from dractl.impact.nodes import (
    NodeInQuestion,
    explain_hold,
    judge_terminating_pod,
    note_environment,
    note_state,
)
from dractl.impact.result import DeviceChange, Impact, PodImpact, sort_pods
from dractl.scheduler.attempt import Scheduler
from dractl.views import Pod


class _Drain(Struct, frozen=True):
    """A drain that has gone as far as budgets and other pods allow."""

    node: NodeInQuestion
    fixed: dict[Key, PodImpact]
    """The impacts on pods for which no eviction is requested."""
    evictable: list[Pod]
    """The pods for which an eviction is requested."""
    rounds: dict[Key, int]
    """The round in which each evictable pod is evicted."""
    budgets: Budgets
    """The budgets at the end."""
    aftermath: Aftermath

    @property
    def refused(self) -> list[str]:
        """The pods that make kubectl refuse to evict any pod of the node."""
        return [impact.name for impact in self.fixed.values() if _is_refused(impact)]


def find_drain_impact(node: NodeInQuestion) -> Impact:
    """Return the effects of a drain: the pods that go, the pods that stay, and the pods that never
    end.
    """
    fixed = {pod.key: impact for pod in node.pods if (impact := _judge_without_budget(node, pod))}
    evictable = [pod for pod in node.pods if pod.key not in fixed]
    budgets = Budgets(node.state)
    rounds, aftermath = _evict_in_rounds(node, evictable, budgets)
    drain = _Drain(node, fixed, evictable, rounds, budgets, aftermath)
    return Impact(
        (f"drain Node/{node.name}",),
        tuple(_list_freed_devices(node, aftermath)),
        sort_pods(list(_list_pods(drain))),
        compare_pending_pods(Scheduler(node.state, node.features), aftermath),
        tuple(_list_drain_steps(node, fixed.values())),
        tuple(
            dict.fromkeys(
                (
                    *note_state(node),
                    *_note_order(evictable, rounds, budgets),
                    *aftermath.notes,
                    *_note_budgets(node),
                    *note_environment(node, "drain"),
                )
            )
        ),
    )


# -- pods --


def _list_pods(drain: _Drain) -> Iterator[PodImpact]:
    """Yield the impact on every pod of the node, and on pods that end as a consequence."""
    aftermath, refused = drain.aftermath, drain.refused
    impacts = {**drain.fixed, **{pod.key: _judge_evictable(drain, pod) for pod in drain.evictable}}
    for key, why in aftermath.followers.items():
        if key not in drain.fixed:
            impacts[key] = PodImpact(key, "evicted", why, None, aftermath.nodes.get(key))
    for impact in impacts.values():
        yield _postpone(impact, refused) if refused else impact


def _judge_evictable(drain: _Drain, pod: Pod) -> PodImpact:
    """Return the impact on a pod for which kubectl drain requests an eviction."""
    number, node = drain.rounds.get(pod.key), drain.aftermath.nodes.get(pod.key)
    if number is None:
        why = f"{drain.budgets.find_refusal(pod)}: kubectl drain tries again for ever"
        return PodImpact(pod.key, "blocked", why)
    if pod.foreign_finalizers or drain.node.find_missing_plugin(pod):
        return PodImpact(pod.key, "blocked", explain_hold(drain.node, pod), fits=node)
    at = 0 if number == 0 else None
    return PodImpact(pod.key, "evicted", _explain_eviction(pod, number), at, node)


def _judge_without_budget(node: NodeInQuestion, pod: Pod) -> PodImpact | None:
    """Return the impact on a pod for which kubectl drain requests no eviction."""
    owner = pod.controller
    if pod.is_mirror:
        return PodImpact(pod.key, "kept", "a static pod: kubectl drain leaves it")
    if owner is not None and owner.kind == "DaemonSet":
        key = (pod.key[0], owner.name)
        if node.state.get("DaemonSet", key) is None and node.state.shows("DaemonSet", key[0]):
            why = f"its DaemonSet {owner.name} is gone: kubectl drain refuses it without --force"
            return PodImpact(pod.key, "blocked", why)
        return PodImpact(pod.key, "kept", f"DaemonSet {owner.name}: kubectl drain leaves its pods")
    if pod.deletion_timestamp:
        return judge_terminating_pod(node, pod)
    if owner is None:
        why = "no controller creates it again: kubectl drain refuses it without --force"
        return PodImpact(pod.key, "blocked", why)
    return None


def _evict_in_rounds(
    node: NodeInQuestion, pods: list[Pod], budgets: Budgets
) -> tuple[dict[Key, int], Aftermath]:
    """Evict pods as long as their budgets allow it. Return the round of each pod, and the
    aftermath.

    A pod that gets another node counts as ready there in the next round.
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
        aftermath = evict_pods(aftermath, [pod.key for pod in wave], stuck)
        for pod in wave:
            rounds[pod.key] = number
            if aftermath.nodes.get(pod.key) is not None:
                budgets.add(pod)
        waiting = [pod for pod in waiting if pod.key not in {*rounds, *aftermath.followers}]
        number += 1
    return rounds, aftermath


def _explain_eviction(pod: Pod, number: int) -> str:
    owner = pod.workload
    name = f"{owner[0]} {owner[1]} creates it again" if owner is not None else "evicted"
    if number:
        name += "; evicted once the pods that replace others of its budget are ready"
    if pod.has_empty_dir:
        name += "; the data of its emptyDir goes (--delete-emptydir-data)"
    return name


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
    """Yield the steps that must wait until the last pod with a claim is gone."""
    if not node.plugins:
        return
    yield NextStep(
        "wait until no pod with a claim is left",
        quote_command("kubectl get pods -A --field-selector spec.nodeName={}", node.name),
    )
    names = ", ".join(node.plugins)
    yield NextStep(f"only now stop the plug-in of {names}, then unload the kernel driver or reboot")


def _is_refused(impact: PodImpact) -> bool:
    return impact.effect == "blocked" and impact.why.endswith("--force")


def _postpone(impact: PodImpact, refused: list[str]) -> PodImpact:
    """Return the impact on a pod that waits for its eviction, since kubectl drain evicts no pod as
    long as the ``refused`` pods are on the node.
    """
    if impact.effect != "evicted":
        return impact
    verb = "is" if len(refused) == 1 else "are"
    first = f"kubectl drain evicts no pod until {', '.join(refused)} {verb} gone; then"
    return PodImpact(impact.key, "waits", f"{first} {impact.why}", fits=impact.fits)


def _note_order(pods: Iterable[Pod], rounds: Mapping[Key, int], budgets: Budgets) -> Iterator[str]:
    """Yield a note on each budget that allows some evictions at once, and others later or never."""
    first: set[str] = set()
    others: set[str] = set()
    for pod in pods:
        names = {"/".join(budget.key) for budget in budgets.list_budgets(pod)}
        (first if rounds.get(pod.key) == 0 else others).update(names)
    for name in sorted(first & others):
        yield (
            f"it is unknown which pods of PodDisruptionBudget {name} are evicted first: kubectl"
            " drain requests all evictions at once"
        )


def _note_budgets(node: NodeInQuestion) -> Iterator[str]:
    if not node.state.shows("Pod"):
        return
    for key in list_idle_budgets(node.state, node.pods):
        yield f"PodDisruptionBudget {'/'.join(key)} selects no pod: it protects nothing"
