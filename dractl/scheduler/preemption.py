"""PostFilter: the pods of lower priority that the scheduler evicts so that a pod passes the filters
before DRA.

kubernetes pkg/scheduler/framework/preemption/preemption.go and
plugins/defaultpreemption/default_preemption.go. The scheduler never evicts a pod for its devices.
DRA refuses a node as UnschedulableAndUnresolvable, so such a node is no candidate. A claim keeps
its devices while its pod is only assumed to be gone.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.state import ClusterState
from dractl.scheduler import condition
from dractl.scheduler.node_filters import NodeFilters
from dractl.scheduler.rejection import Rejection
from dractl.scheduler.snapshot import NodeInfo
from dractl.scheduler.verdict import NodeVerdict
from dractl.views import Pod
from dractl.views.quota import DisruptionBudget

# DefaultPreemptionArgs: the search ends after this number of nodes on which evictions help, or
# after this share of all nodes if that is more.
_MIN_CANDIDATE_NODES, _MIN_CANDIDATE_SHARE = 100, 0.1


class Preemption(Struct, frozen=True):
    """The result of PostFilter."""

    nodes: tuple[NodeVerdict, ...] = ()
    """The verdicts with victims, if evictions help on some node."""
    texts: tuple[str, ...] = ()
    """The sentences about all nodes, if evictions help on none."""


def victims_being_preempted(state: ClusterState, pod: Pod) -> tuple[str, ...]:
    """Return the pods (``namespace/name``) with a lower priority that are terminating on a pod's
    nominated node.

    The scheduler waits for them (plugins/defaultpreemption PodEligibleToPreemptOthers).
    """
    node = pod.nominated_node_name
    if not node:
        return ()
    return tuple(
        "/".join(key)
        for key, other in state.pods.items()
        if other.node_name == node and other.deletion_timestamp and other.priority < pod.priority
    )


def preempt(
    filters: NodeFilters,
    nodes: Sequence[NodeVerdict],
    dra_texts: Callable[[NodeVerdict], tuple[str, ...]],
) -> Preemption:
    """Search for victims on each node.

    ``dra_texts`` returns the sentences of DRA about a node; none if the pod's claims can be
    allocated there.
    """
    texts: list[str] = []
    verdicts: list[NodeVerdict] = []
    candidates = 0
    limit = max(_MIN_CANDIDATE_NODES, int(len(nodes) * _MIN_CANDIDATE_SHARE))
    for verdict in nodes:
        if verdict.rejection is None or verdict.rejection.unresolvable or candidates >= limit:
            texts.append(condition.NOT_HELPFUL)
            verdicts.append(verdict)
            continue
        node = filters.snapshot.nodes[verdict.name]
        lower = lower_priority_pods(filters.pod, node)
        refusals = _refusals_without(filters, lower, node) if lower else (condition.NO_VICTIMS,)
        if refusals is None:
            refusals = dra_texts(verdict)
        texts += refusals
        if refusals:
            verdicts.append(verdict)
            continue
        candidates += 1
        victims = tuple(victim.full_name for victim in select_victims(filters, lower, node))
        verdicts.append(replace(verdict, victims=victims))
    return Preemption(nodes=tuple(verdicts)) if candidates else Preemption(texts=tuple(texts))


def lower_priority_pods(pod: Pod, node: NodeInfo) -> list[Pod]:
    """Return the pods of a node that the scheduler may evict in favour of another."""
    if not pod.may_preempt:
        return []
    return [other for other in node.pods if other is not pod and other.priority < pod.priority]


def select_victims(filters: NodeFilters, lower: Sequence[Pod], node: NodeInfo) -> list[Pod]:
    """Return the pods that have to be evicted.

    Each pod that can stay beside the new pod is kept. To find these pods, pods whose eviction
    violates a PodDisruptionBudget are tried first, then the more important pods.
    """
    ranked = sorted(lower, key=lambda pod: (-pod.priority, pod.start_time or "~"))
    protected = _budget_violations(filters.snapshot.budgets, ranked)
    others = [pod for pod in ranked if not any(pod is other for other in protected)]
    evicted = list(lower)
    victims = []
    for pod in (*protected, *others):
        without_pod = [other for other in evicted if other is not pod]
        if _first_rejection_without(filters, without_pod, node) is None:
            evicted = without_pod
        else:
            victims.append(pod)
    return victims


def _refusals_without(
    filters: NodeFilters, pods: Sequence[Pod], node: NodeInfo
) -> tuple[str, ...] | None:
    rejection = _first_rejection_without(filters, pods, node)
    return None if rejection is None else rejection.texts


def _first_rejection_without(
    filters: NodeFilters, pods: Sequence[Pod], node: NodeInfo
) -> Rejection | None:
    """Return the first rejection of a node after some of its pods are removed; None if it passes
    all filters.
    """
    filters = filters.exclude(pods) if pods else filters
    return filters.first_rejection(filters.snapshot.nodes[node.name])


def _budget_violations(budgets: Sequence[DisruptionBudget], pods: Sequence[Pod]) -> list[Pod]:
    """Return the pods whose eviction violates a budget, if the pods are evicted one after the other
    (filterPodsWithPDBViolation).
    """
    allowed = [budget.allowed_disruptions for budget in budgets]
    violations = []
    for pod in pods:
        violates = False
        for number, budget in enumerate(budgets):
            if budget.protects(pod):
                allowed[number] -= 1
                violates = violates or allowed[number] < 0
        if violates:
            violations.append(pod)
    return violations
