"""PodTopologySpread: constraints with ``whenUnsatisfiable: DoNotSchedule``.

kubernetes pkg/scheduler/framework/plugins/podtopologyspread/filtering.go.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dractl.properties import cached_property
from dractl.scheduler.bound_pods import BoundPods
from dractl.scheduler.node_constraints import check_node_affinity, check_taints
from dractl.scheduler.rejection import (
    MissingTopologyLabel,
    Rejection,
    SkewExceeded,
    TooFewDomains,
    UnmetRequirement,
)
from dractl.scheduler.snapshot import NodeInfo
from dractl.views import Pod
from dractl.views.selectors import SpreadConstraint


class DomainCounts(Struct, frozen=True):
    """A constraint, and the number of matching pods in each of its domains."""

    constraint: SpreadConstraint
    counts: Mapping[str, int]


class TopologySpread:
    """The spread constraints of one pod."""

    def __init__(self, others: BoundPods) -> None:
        self.others = others
        self.pod = others.pod

    @cached_property
    def domain_counts(self) -> Sequence[DomainCounts]:
        """The number of matching pods by constraint and domain (calPreFilterState).

        Only nodes with the labels of all constraints count; pods that are being deleted do not
        count.
        """
        keys = {constraint.topology_key for constraint in self.pod.spread_constraints}
        nodes = [node for node in self.others.snapshot.nodes.values() if keys <= node.labels.keys()]
        return [
            DomainCounts(constraint, self._count(constraint, nodes))
            for constraint in self.pod.spread_constraints
        ]

    def _count(self, constraint: SpreadConstraint, nodes: Sequence[NodeInfo]) -> Mapping[str, int]:
        counts: dict[str, int] = {}
        for node in nodes:
            if not self._includes(constraint, node):
                continue
            matching = sum(
                other.namespace == self.pod.namespace
                and not other.deletion_timestamp
                and _selects(constraint, other)
                for other in self.others.pods_on(node)
            )
            domain = node.labels[constraint.topology_key]
            counts[domain] = counts.get(domain, 0) + matching
        return counts

    def _includes(self, constraint: SpreadConstraint, node: NodeInfo) -> bool:
        """Decide whether the constraint's node inclusion policies include the node."""
        if not constraint.ignores_affinity and check_node_affinity(self.pod, node) is not None:
            return False
        return not constraint.honors_taints or check_taints(self.pod, node) is None

    def check(self, node: NodeInfo) -> Rejection | None:
        """Reject a node where the pod would violate a constraint (Filter)."""
        if not self.pod.spread_constraints:
            return None
        for domains in self.domain_counts:
            key = domains.constraint.topology_key
            if key not in node.labels:
                text = (
                    "node(s) didn't match pod topology spread constraints (missing required label)"
                )
                return Rejection("PodTopologySpread", (text,), True, (MissingTopologyLabel(key),))
            unmet = self._violation(domains, node.labels[key])
            if unmet is not None:
                text = "node(s) didn't match pod topology spread constraints"
                return Rejection("PodTopologySpread", (text,), False, (unmet,))
        return None

    def _violation(self, domains: DomainCounts, domain: str) -> UnmetRequirement | None:
        """Return how the pod would violate a constraint in one of its domains; None if it would
        not.
        """
        constraint, counts = domains.constraint, domains.counts
        key, here = constraint.topology_key, counts.get(domain, 0)
        too_few = constraint.min_domains is not None and len(counts) < constraint.min_domains
        minimum = 0 if too_few else min(counts.values(), default=0)
        added = 1 if _selects(constraint, self.pod) else 0
        if constraint.max_skew is None or here + added - minimum <= constraint.max_skew:
            return None
        if too_few:
            return TooFewDomains(key, domain, here, len(counts), constraint.min_domains or 0)
        emptiest = min((name for name, n in counts.items() if n == minimum), default="")
        return SkewExceeded(key, domain, here, minimum, constraint.max_skew, emptiest)


def _selects(constraint: SpreadConstraint, pod: Pod) -> bool:
    return constraint.selector is not None and constraint.selector.matches(pod.labels)
