"""The scheduler's node filters that run before DRA, in their order.

Sentences and order are those of kube-scheduler (kubernetes pkg/scheduler/apis/config/v1/default_plugins.go and the
plugins' own folders). Not checked: extenders and other plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from dractl.allocation import Features
from dractl.cluster.state import at, map_at, maps_at
from dractl.model import NodeSelector, Quantity, SaturatingQuantity, Taint, Toleration
from dractl.objects import Raw
from dractl.scheduler.rejection import (
    AffinityUnmet,
    Cordoned,
    Insufficient,
    LabelUnmet,
    NodeLabel,
    NoDomain,
    OtherNode,
    OtherNodes,
    PodAffinityUnmet,
    PortTaken,
    Rejection,
    Repelled,
    Skewed,
    TooFewDomains,
    TooManyPods,
    Unmet,
    Untolerated,
    instead,
)
from dractl.scheduler.snapshot import (
    ANY_ADDRESS,
    AffinityTerm,
    NodeInfo,
    PodInfo,
    Snapshot,
    SpreadConstraint,
    units,
)
from dractl.scheduler.volumes import Volumes

_BASIC = ("cpu", "memory", "ephemeral-storage")


class NodeFilters:
    """The filters for one pod. What PreFilter gathers for all nodes is gathered once.

    ``delegated`` are extended resources that NodeResourcesFit leaves to DRA.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        pod: PodInfo,
        features: Features,
        *,
        delegated: frozenset[str] = frozenset(),
    ) -> None:
        self.snapshot = snapshot
        self.pod = pod
        self.features = features
        self.delegated = delegated
        self.named_nodes = _named_nodes(pod.node_affinity)
        checks = _SINCE_1_37 if features.has("filters-of-1.37") else _BEFORE_1_37
        self._checks = (*checks, *_CHECKS)
        self.volumes = Volumes(snapshot, pod)

    def first(self, node: NodeInfo) -> Rejection | None:
        """The first filter that refuses the node, which is what the scheduler reports; None if none does."""
        return next(self.refusals(node), None)

    def refusals(self, node: NodeInfo) -> Iterator[Rejection]:
        """Every filter that refuses the node, in the scheduler's order."""
        if self.named_nodes is not None and node.name not in self.named_nodes:
            # PreFilter keeps only the named nodes (schedule_one.go findNodesThatFitPod).
            text = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
            yield Rejection(
                "NodeAffinity", (text,), True, (OtherNodes(tuple(sorted(self.named_nodes))),)
            )
        for check in self._checks:
            rejection = check(self, node)
            if rejection is not None:
                yield rejection

    @cached_property
    def local(self) -> bool:
        """True if a node and the pods on it alone decide whether it is refused."""
        pod = self.pod
        return not (
            pod.spread
            or pod.affinity
            or pod.anti_affinity
            or self.volumes.names
            or self.snapshot.repels
        )

    @cached_property
    def wanted(self) -> Sequence[str]:
        """The resources that the pod asks for, in the order in which they are looked at."""
        return sorted(
            self.pod.amounts,
            key=lambda n: (n not in _BASIC, _BASIC.index(n) if n in _BASIC else 0, n),
        )

    @property
    def read(self) -> str:
        """All of a pod that decides whether a node refuses it, where these filters are :attr:`local`."""
        pod = self.pod
        placed = pod.node_name, pod.node_selector, pod.node_affinity
        return repr((pod.requests, pod.tolerations, pod.host_ports, *placed))

    def without(self, pods: Sequence[PodInfo]) -> NodeFilters:
        """The same filters as if some pods were not there."""
        return NodeFilters(
            self.snapshot.without(pods), self.pod, self.features, delegated=self.delegated
        )

    def on(self, node: NodeInfo) -> Sequence[PodInfo]:
        """The other pods of a node."""
        if self.pod.node_name != node.name:
            return node.pods
        return [other for other in node.pods if other is not self.pod]

    @cached_property
    def placed(self) -> Sequence[tuple[NodeInfo, PodInfo]]:
        """Every other pod of the cluster that is on a known node, in the order of the pods."""
        order = {id(pod): number for number, pod in enumerate(self.snapshot.known.values())}
        found = [(node, other) for node in self.snapshot.nodes.values() for other in self.on(node)]
        return sorted(found, key=lambda entry: order.get(id(entry[1]), 0))

    # -- what PreFilter gathers ----------------------------------------------------------------------------------------

    @cached_property
    def spread_counts(self) -> Sequence[tuple[SpreadConstraint, Mapping[str, int]]]:
        """By constraint the matching pods in each domain.

        Only nodes with the labels of all constraints count, and pods that are being deleted do not
        (podtopologyspread/filtering.go calPreFilterState).
        """
        keys = {constraint.topology_key for constraint in self.pod.spread}
        found = []
        for constraint in self.pod.spread:
            counts: dict[str, int] = {}
            for node in self.snapshot.nodes.values():
                if not keys <= node.labels.keys() or not self._spreads_over(constraint, node):
                    continue
                count = sum(
                    other.namespace == self.pod.namespace
                    and not other.deleted
                    and _spreads(constraint, other)
                    for other in self.on(node)
                )
                domain = node.labels[constraint.topology_key]
                counts[domain] = counts.get(domain, 0) + count
            found.append((constraint, counts))
        return found

    def _spreads_over(self, constraint: SpreadConstraint, node: NodeInfo) -> bool:
        """True if the constraint's node inclusion policies include the node."""
        if not constraint.ignores_affinity and _affinity(self, node) is not None:
            return False
        return not constraint.honors_taints or _taints(self, node) is None

    @cached_property
    def friends(self) -> Mapping[str, frozenset[str]]:
        """By topology key of the pod's affinity the domains with a pod that matches all terms
        (interpodaffinity/filtering.go updateWithAffinityTerms)."""
        terms = self.pod.affinity
        there = [node for node, other in self.placed if self.all_select(terms, other)]
        keys = {term.topology_key for term in terms}
        return {
            key: frozenset(node.labels[key] for node in there if key in node.labels) for key in keys
        }

    @cached_property
    def enemies(self) -> Sequence[tuple[AffinityTerm, Mapping[str, PodInfo]]]:
        """By anti-affinity term of the pod the domains with a pod that it selects, with the first such pod."""
        found = []
        for term in self.pod.anti_affinity:
            domains: dict[str, PodInfo] = {}
            for node, other in self.placed:
                if term.topology_key in node.labels and self.selects(term, other, self.pod):
                    domains.setdefault(node.labels[term.topology_key], other)
            found.append((term, domains))
        return found

    @cached_property
    def repelling(self) -> Mapping[tuple[str, str], tuple[int, PodInfo]]:
        """By topology key and domain the first pod there whose anti-affinity selects this pod, with its number."""
        found: dict[tuple[str, str], tuple[int, PodInfo]] = {}
        for number, (node, other) in enumerate(self.placed if self.snapshot.repels else ()):
            for term in other.anti_affinity:
                if term.topology_key in node.labels and self.selects(term, self.pod, other):
                    found.setdefault(
                        (term.topology_key, node.labels[term.topology_key]), (number, other)
                    )
        return found

    @cached_property
    def friend(self) -> tuple[str, str] | None:
        """The first pod that meets all terms of the pod's affinity, and its node."""
        friends = (entry for entry in self.placed if self.all_select(self.pod.affinity, entry[1]))
        return next(((pod.full_name, node.name) for node, pod in friends), None)

    def stranger(self, term: AffinityTerm) -> str | None:
        """The first pod with the labels of a term in a namespace that the term does not name."""
        alike = (
            pod
            for _, pod in self.placed
            if term.selector is not None and term.selector.matches(pod.labels)
        )
        return next((pod.full_name for pod in alike if not self.selects(term, pod, self.pod)), None)

    def all_select(self, terms: Sequence[AffinityTerm], pod: PodInfo) -> bool:
        """True if all terms of the pod in question select another."""
        return all(self.selects(term, pod, self.pod) for term in terms)

    def selects(self, term: AffinityTerm, pod: PodInfo, owner: PodInfo) -> bool:
        """True if a term of ``owner`` selects ``pod``."""
        if term.namespace_selector is not None:
            labels = map_at(
                self.snapshot.state.get("Namespace", ("", pod.namespace)), "metadata", "labels"
            )
            chosen = pod.namespace in term.namespaces or term.namespace_selector.matches(labels)
        elif term.namespaces:
            chosen = pod.namespace in term.namespaces
        else:
            chosen = pod.namespace == owner.namespace
        return chosen and term.selector is not None and term.selector.matches(pod.labels)


# -- the filters -------------------------------------------------------------------------------------------------------

_UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", effect="NoSchedule")


def _unschedulable(filters: NodeFilters, node: NodeInfo) -> Rejection | None:
    if not node.unschedulable or tolerated(_UNSCHEDULABLE, filters.pod.tolerations):
        return None
    return Rejection("NodeUnschedulable", ("node(s) were unschedulable",), True, (Cordoned(),))


def _node_name(filters: NodeFilters, node: NodeInfo) -> Rejection | None:
    wanted = filters.pod.node_name
    if not wanted or wanted == node.name:
        return None
    text = "node(s) didn't match the requested node name"
    return Rejection("NodeName", (text,), True, (OtherNode(wanted),))


def _taints(filters: NodeFilters, node: NodeInfo) -> Rejection | None:
    refusing = (taint for taint in node.taints if taint.effect in ("NoSchedule", "NoExecute"))
    unmet = tuple(
        Untolerated(taint) for taint in refusing if not tolerated(taint, filters.pod.tolerations)
    )
    return (
        Rejection("TaintToleration", ("node(s) had untolerated taint(s)",), True, unmet)
        if unmet
        else None
    )


def _affinity(filters: NodeFilters, node: NodeInfo) -> Rejection | None:
    text = ("node(s) didn't match Pod's node affinity/selector",)
    for key, value in filters.pod.node_selector.items():
        if node.labels.get(key) != value:
            there = NodeLabel(key, node.labels.get(key))
            return Rejection("NodeAffinity", text, True, (LabelUnmet(key, value),), (there,))
    required = filters.pod.node_affinity
    if required is None or node.matches(required):
        return None
    return Rejection(
        "NodeAffinity", text, True, (AffinityUnmet(required),), instead(required, node.labels)
    )


def _ports(filters: NodeFilters, node: NodeInfo) -> Rejection | None:
    wanted = filters.pod.host_ports
    if not wanted:
        return None
    for other in filters.on(node):
        for used in other.host_ports:
            for port in wanted:
                same_address = port.address == used.address or ANY_ADDRESS in (
                    port.address,
                    used.address,
                )
                if (port.protocol, port.port) == (used.protocol, used.port) and same_address:
                    text = "node(s) didn't have free ports for the requested pod ports"
                    taken = PortTaken(port.port, port.protocol, other.full_name)
                    return Rejection("NodePorts", (text,), False, (taken,), pods=(other.full_name,))
    return None


def _resources(filters: NodeFilters, node: NodeInfo) -> Rejection | None:
    """noderesources/fit.go fitsRequest."""
    if not node.reported:
        return None
    others = filters.on(node)
    allocatable = node.allocatable
    texts: list[str] = []
    unmet: list[Unmet] = []
    final = False
    first: tuple[str, str, str] | None = None
    limit = allocatable.get("pods", Quantity())
    if limit.value() < len(others) + 1:
        texts.append("Too many pods")
        unmet.append(TooManyPods(limit, len(others)))
        first = ("pods", str(len(others) + 1), str(limit))
    there = node if others is node.pods else NodeInfo(node.value, others)
    saturates = filters.features.has("saturating-quantities")
    for name in filters.wanted:
        have = allocatable.get(name, Quantity())
        if name in filters.delegated and _delegates(filters, node, name):
            continue
        want, total = (
            units(name, SaturatingQuantity.of(amount) if saturates else amount)
            for amount in (filters.pod.requests[name], have)
        )
        if want > total - there.requested.get(name, 0):
            asked, free = filters.pod.requests[name], have - there.used(name)
            texts.append(f"Insufficient {name}")
            unmet.append(Insufficient(name, asked, free, have))
            final = final or want > total
            first = first or (name, str(asked), str(free))
    if first is None:
        return None
    resource, want_text, free_text = first
    return Rejection(
        "NodeResourcesFit",
        tuple(texts),
        final,
        tuple(unmet),
        resource=resource,
        want=want_text,
        free=free_text,
    )


def _delegates(filters: NodeFilters, node: NodeInfo, resource: str) -> bool:
    """True if NodeResourcesFit leaves the resource to DRA on this node: no device plugin has it there.

    Up to 1.34 a device plugin that offers none counts as having it (fit.go shouldDelegateResourceToDRA)."""
    if not filters.features.has("delegates-unless-offered"):
        return resource not in node.allocatable
    return node.allocatable.get(resource, Quantity()).sign() == 0


def _topology_spread(filters: NodeFilters, node: NodeInfo) -> Rejection | None:
    """podtopologyspread/filtering.go Filter."""
    if not filters.pod.spread:
        return None
    for constraint, counts in filters.spread_counts:
        key = constraint.topology_key
        if key not in node.labels:
            text = "node(s) didn't match pod topology spread constraints (missing required label)"
            return Rejection("PodTopologySpread", (text,), True, (NoDomain(key),))
        here = counts.get(node.labels[key], 0)
        least = min(counts.values(), default=0)
        few = constraint.min_domains is not None and len(counts) < constraint.min_domains
        if few:
            least = 0
        own = 1 if _spreads(constraint, filters.pod) else 0
        if constraint.max_skew is not None and here + own - least > constraint.max_skew:
            text = "node(s) didn't match pod topology spread constraints"
            domain = node.labels[key]
            emptiest = min((name for name, count in counts.items() if count == least), default="")
            unmet: Unmet = Skewed(key, domain, here, least, constraint.max_skew, emptiest)
            if few:
                unmet = TooFewDomains(key, domain, here, len(counts), constraint.min_domains or 0)
            return Rejection("PodTopologySpread", (text,), False, (unmet,))
    return None


def _spreads(constraint: SpreadConstraint, pod: PodInfo) -> bool:
    return constraint.selector is not None and constraint.selector.matches(pod.labels)


def _pod_affinity(filters: NodeFilters, node: NodeInfo) -> Rejection | None:
    """interpodaffinity/filtering.go Filter."""
    term = _unmet(filters, node) if filters.pod.affinity else None
    if term is not None:
        text = "node(s) didn't match pod affinity rules"
        wants = tuple(term.selector.match_labels.items()) if term.selector is not None else ()
        stranger = filters.stranger(term) if filters.friend is None else None
        unmet = PodAffinityUnmet(term.topology_key, filters.friend, wants, stranger)
        return Rejection("InterPodAffinity", (text,), True, (unmet,))
    for term, domains in filters.enemies if filters.pod.anti_affinity else ():
        other = domains.get(node.labels.get(term.topology_key, ""))
        if other is not None and term.topology_key in node.labels:
            text = "node(s) didn't match pod anti-affinity rules"
            repelled = Repelled(other.full_name, theirs=False)
            return Rejection(
                "InterPodAffinity", (text,), False, (repelled,), pods=(other.full_name,)
            )
    if filters.repelling:
        there = [
            filters.repelling[entry] for entry in node.labels.items() if entry in filters.repelling
        ]
        if there:
            _, other = min(there, key=lambda found: found[0])
            text = "node(s) didn't satisfy existing pods anti-affinity rules"
            repelled = Repelled(other.full_name, theirs=True)
            return Rejection(
                "InterPodAffinity", (text,), False, (repelled,), pods=(other.full_name,)
            )
    return None


def _unmet(filters: NodeFilters, node: NodeInfo) -> AffinityTerm | None:
    """The first term of the pod's affinity that a node does not satisfy (satisfyPodAffinity)."""
    terms = filters.pod.affinity
    without = next((term for term in terms if term.topology_key not in node.labels), None)
    if without is not None:
        return without
    missing = next(
        (t for t in terms if node.labels[t.topology_key] not in filters.friends[t.topology_key]),
        None,
    )
    if missing is None:
        return None
    # The first pod of a group that wants to be together may go anywhere.
    lonely = not any(filters.friends.values()) and filters.all_select(terms, filters.pod)
    return None if lonely else missing


_BEFORE_1_37: tuple[Callable[[NodeFilters, NodeInfo], Rejection | None], ...] = (
    _unschedulable,
    _node_name,
)
_SINCE_1_37: tuple[Callable[[NodeFilters, NodeInfo], Rejection | None], ...] = (
    _node_name,
    _unschedulable,
)
_CHECKS: tuple[Callable[[NodeFilters, NodeInfo], Rejection | None], ...] = (
    _taints,
    _affinity,
    _ports,
    _resources,
    lambda filters, node: filters.volumes.restrictions(node),
    lambda filters, node: filters.volumes.binding(node),
    lambda filters, node: filters.volumes.zone(node),
    _topology_spread,
    _pod_affinity,
)


def _named_nodes(selector: NodeSelector | None) -> frozenset[str] | None:
    """The nodes that required node affinity names, if every term names some (nodeaffinity.go PreFilter)."""
    found: set[str] = set()
    for term in selector.node_selector_terms if selector is not None else ():
        named = [
            set(field.values)
            for field in term.match_fields
            if field.key == "metadata.name" and field.operator == "In"
        ]
        if not named:
            return None
        found |= set.intersection(*named)
    return frozenset(found) or None


# -- taints and features --------------------------------------------------------------------------------------------


def tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    """True if any toleration tolerates a node's taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """True if a pod's toleration tolerates a node's taint (k8s.io/api/core/v1/toleration.go ToleratesTaint).

    The operators Lt and Gt (gate TaintTolerationComparisonOperators, alpha) tolerate nothing here.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def declared_features(pod: Raw) -> list[str]:
    """The features that a node must declare for a pod (component-helpers/nodedeclaredfeatures InferForScheduling)."""
    spec = map_at(pod, "spec")
    containers = [c for kind in ("containers", "initContainers") for c in maps_at(spec, kind)]
    needed = []
    if any(
        r.get("action") == "RestartAllContainers"
        for c in containers
        for r in maps_at(c, "restartPolicyRules")
    ):
        needed.append("RestartAllContainersOnContainerExits")
    if at(spec, "hostNetwork") is True and at(spec, "hostUsers") is False:
        needed.append("UserNamespacesHostNetworkSupport")
    if any(
        mount.get("bindMountOptions") for c in containers for mount in maps_at(c, "volumeMounts")
    ):
        needed.append("VolumeBindMountOptions")
    return needed
