"""PostFilter: the pods of lower priority that the scheduler evicts so that the filters before DRA let a pod through.

kubernetes pkg/scheduler/framework/preemption/preemption.go and plugins/defaultpreemption/default_preemption.go. The
scheduler never evicts a pod for its devices: DRA refuses a node as UnschedulableAndUnresolvable, so such a node is no
candidate, and a claim keeps its devices while its pod is only assumed to be gone.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from dractl.cluster.state import ClusterState, text_at
from dractl.objects import Raw
from dractl.scheduler import condition
from dractl.scheduler.node_filters import NodeFilters
from dractl.scheduler.rejection import Rejection
from dractl.scheduler.snapshot import Budget, NodeInfo
from dractl.scheduler.verdict import NodeVerdict
from dractl.views import Pod

# DefaultPreemptionArgs: nodes that are tried at most, as a number and as a share of all nodes.
_CANDIDATES, _SHARE = 100, 0.1


def preempted(state: ClusterState, pod: Raw) -> tuple[str, ...]:
    """The pods (``namespace/name``) that end on the node that the scheduler has nominated for a pod, and have a lower
    priority: it waits for them (plugins/defaultpreemption PodEligibleToPreemptOthers)."""
    node = text_at(pod, "status", "nominatedNodeName")
    if not node:
        return ()
    classes = state.all("PriorityClass")
    own = Pod(pod, priority_classes=classes).priority
    return tuple(
        "/".join(key)
        for key, other in state.all("Pod").items()
        if text_at(other, "spec", "nodeName") == node
        and text_at(other, "metadata", "deletionTimestamp")
        and Pod(other, priority_classes=classes).priority < own
    )


def preempt(
    filters: NodeFilters,
    verdicts: Sequence[NodeVerdict],
    dra_texts: Callable[[NodeVerdict], tuple[str, ...]],
) -> tuple[tuple[NodeVerdict, ...], list[str]]:
    """The verdicts with victims, if evicting them helps on some node; else what preemption says of each node.

    ``dra_texts`` gives what DRA says of a node, nothing if the pod's claims can be allocated there.
    """
    texts: list[str] = []
    found: list[NodeVerdict] = []
    candidates = 0
    enough = max(_CANDIDATES, int(len(verdicts) * _SHARE))
    for verdict in verdicts:
        if verdict.rejection is None or verdict.rejection.final or candidates >= enough:
            texts.append(condition.NOT_HELPFUL)
            found.append(verdict)
            continue
        node = filters.snapshot.nodes[verdict.name]
        lower = lower_priority(filters.pod, node)
        if not lower:
            said: tuple[str, ...] = (condition.NO_VICTIMS,)
        else:
            refused = _first(filters, lower, node)
            said = refused.texts if refused is not None else dra_texts(verdict)
        texts += said
        if said:
            found.append(verdict)
            continue
        candidates += 1
        names = tuple(victim.full_name for victim in victims(filters, lower, node))
        found.append(replace(verdict, victims=names))
    return (tuple(found), []) if candidates else ((), texts)


def lower_priority(pod: Pod, node: NodeInfo) -> list[Pod]:
    """The pods of a node that the scheduler may evict in favour of another: those of lower priority."""
    if not pod.may_preempt:
        return []
    return [other for other in node.pods if other is not pod and other.priority < pod.priority]


def victims(filters: NodeFilters, lower: Sequence[Pod], node: NodeInfo) -> list[Pod]:
    """The pods that have to go. Each is kept if the pod fits beside it, the more important ones first; before them
    those whose eviction violates a PodDisruptionBudget."""
    ranked = sorted(lower, key=lambda pod: (-pod.priority, pod.start_time or "~"))
    violating = _violating(filters.snapshot.budgets, ranked)
    gone = list(lower)
    found = []
    for pod in [*violating, *(p for p in ranked if not any(p is v for v in violating))]:
        rest = [other for other in gone if other is not pod]
        if _first(filters, rest, node) is None:
            gone = rest
        else:
            found.append(pod)
    return found


def _first(filters: NodeFilters, gone: Sequence[Pod], node: NodeInfo) -> Rejection | None:
    """The first filter that refuses a node without some of its pods."""
    emptied = filters.without(gone) if gone else filters
    return emptied.first_rejection(emptied.snapshot.nodes[node.name])


def _violating(budgets: Sequence[Budget], pods: Sequence[Pod]) -> list[Pod]:
    """The pods whose eviction, one after the other, violates a PodDisruptionBudget (filterPodsWithPDBViolation)."""
    allowed = [budget.allowed for budget in budgets]
    found = []
    for pod in pods:
        violated = False
        for number, budget in enumerate(budgets):
            if budget.protects(pod):
                allowed[number] -= 1
                violated = violated or allowed[number] < 0
        if violated:
            found.append(pod)
    return found
