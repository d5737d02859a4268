"""InterPodAffinity: required affinity and anti-affinity between pods.

kubernetes pkg/scheduler/framework/plugins/interpodaffinity/filtering.go.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from dractl.properties import cached_property
from dractl.scheduler.bound_pods import BoundPod, BoundPods
from dractl.scheduler.rejection import AntiAffinityConflict, PodAffinityMismatch, Rejection
from dractl.scheduler.snapshot import NodeInfo
from dractl.views import Pod
from dractl.views.selectors import AffinityTerm


class TermDomains(Struct, frozen=True):
    """An anti-affinity term of the pod, and the first pod that it selects in each domain."""

    term: AffinityTerm
    pods: Mapping[str, Pod]


class PodAffinity:
    """The affinity between one pod and the pods on nodes."""

    def __init__(self, others: BoundPods) -> None:
        self.others = others
        self.pod = others.pod
        self.snapshot = others.snapshot

    # -- PreFilter -------------------------------------------------------------------------------

    @cached_property
    def affinity_matches(self) -> Sequence[BoundPod]:
        """The pods on nodes that match all affinity terms."""
        return [entry for entry in self.others.bound_pods if self._matches_affinity(entry.pod)]

    @cached_property
    def affinity_domains(self) -> Mapping[str, frozenset[str]]:
        """The domains with a pod that matches all affinity terms, by topology key.

        updateWithAffinityTerms.
        """
        nodes = [entry.node for entry in self.affinity_matches]
        keys = {term.topology_key for term in self.pod.pod_affinity}
        return {
            key: frozenset(node.labels[key] for node in nodes if key in node.labels) for key in keys
        }

    @cached_property
    def anti_affinity_domains(self) -> Sequence[TermDomains]:
        """For each anti-affinity term of the pod, the domains with a pod that the term selects."""
        domains = []
        for term in self.pod.pod_anti_affinity:
            pods: dict[str, Pod] = {}
            for entry in self.others.bound_pods:
                domain = entry.node.labels.get(term.topology_key)
                if domain is not None and self._selects(term, entry.pod, self.pod):
                    pods.setdefault(domain, entry.pod)
            domains.append(TermDomains(term, pods))
        return domains

    @cached_property
    def repelling_pods(self) -> Mapping[tuple[str, str], tuple[int, Pod]]:
        """The first pod whose anti-affinity keeps this pod away, by topology key and domain.

        Each pod comes with its position among the pods of the cluster.
        """
        pods: dict[tuple[str, str], tuple[int, Pod]] = {}
        others = self.others.bound_pods if self.snapshot.has_anti_affinity else ()
        for position, entry in enumerate(others):
            for term in entry.pod.pod_anti_affinity:
                domain = entry.node.labels.get(term.topology_key)
                if domain is not None and self._selects(term, self.pod, entry.pod):
                    pods.setdefault((term.topology_key, domain), (position, entry.pod))
        return pods

    @property
    def first_affinity_match(self) -> tuple[str, str] | None:
        """The first pod that meets all affinity terms, with its node."""
        return next(((each.pod.full_name, each.node.name) for each in self.affinity_matches), None)

    def match_in_other_namespace(self, term: AffinityTerm) -> str | None:
        """Return the first pod that has the labels of a term, but is in a namespace that the term
        does not name.
        """
        if term.selector is None:
            return None
        for entry in self.others.bound_pods:
            if term.selector.matches(entry.pod.labels) and not self._selects(
                term, entry.pod, self.pod
            ):
                return entry.pod.full_name
        return None

    def _matches_affinity(self, pod: Pod) -> bool:
        return all(self._selects(term, pod, self.pod) for term in self.pod.pod_affinity)

    def _selects(self, term: AffinityTerm, pod: Pod, owner: Pod) -> bool:
        """Decide whether a term of ``owner`` selects ``pod``."""
        if term.namespace_selector is not None:
            labels = self.snapshot.state.namespace(pod.namespace).labels
            in_namespace = pod.namespace in term.namespaces or term.namespace_selector.matches(
                labels
            )
        elif term.namespaces:
            in_namespace = pod.namespace in term.namespaces
        else:
            in_namespace = pod.namespace == owner.namespace
        return in_namespace and term.selector is not None and term.selector.matches(pod.labels)

    # -- Filter ----------------------------------------------------------------------------------

    def check(self, node: NodeInfo) -> Rejection | None:
        """Reject a node where affinity or anti-affinity is violated (Filter)."""
        rejection = None
        if self.pod.pod_affinity:
            rejection = self._check_affinity(node)
        if rejection is None and self.pod.pod_anti_affinity:
            rejection = self._check_anti_affinity(node)
        if rejection is None and self.repelling_pods:
            rejection = self._check_others_anti_affinity(node)
        return rejection

    def _check_affinity(self, node: NodeInfo) -> Rejection | None:
        term = self._unmet_term(node)
        if term is None:
            return None
        labels = tuple(term.selector.match_labels.items()) if term.selector is not None else ()
        match = self.first_affinity_match
        outside = self.match_in_other_namespace(term) if match is None else None
        unmet = PodAffinityMismatch(term.topology_key, match, labels, outside)
        text = "node(s) didn't match pod affinity rules"
        return Rejection("InterPodAffinity", (text,), True, (unmet,))

    def _unmet_term(self, node: NodeInfo) -> AffinityTerm | None:
        """Return the first affinity term that the node does not satisfy (satisfyPodAffinity)."""
        terms, domains = self.pod.pod_affinity, self.affinity_domains
        for term in terms:
            if term.topology_key not in node.labels:
                return term
        for term in terms:
            if node.labels[term.topology_key] not in domains[term.topology_key]:
                # The first pod of a group with mutual affinity may go anywhere.
                is_first = not any(domains.values()) and self._matches_affinity(self.pod)
                return None if is_first else term
        return None

    def _check_anti_affinity(self, node: NodeInfo) -> Rejection | None:
        for domains in self.anti_affinity_domains:
            key = domains.term.topology_key
            other = domains.pods.get(node.labels[key]) if key in node.labels else None
            if other is not None:
                text = "node(s) didn't match pod anti-affinity rules"
                return _repel(text, AntiAffinityConflict(other.full_name, theirs=False))
        return None

    def _check_others_anti_affinity(self, node: NodeInfo) -> Rejection | None:
        pods = self.repelling_pods
        repelling = [pods[label] for label in node.labels.items() if label in pods]
        if not repelling:
            return None
        _, other = min(repelling, key=lambda entry: entry[0])
        text = "node(s) didn't satisfy existing pods anti-affinity rules"
        return _repel(text, AntiAffinityConflict(other.full_name, theirs=True))


def _repel(text: str, unmet: AntiAffinityConflict) -> Rejection:
    return Rejection("InterPodAffinity", (text,), False, (unmet,), pods=(unmet.pod,))
