"""The results of the node filters, which are cached as long as the objects that they read stay the
same.
"""

from collections.abc import Hashable, Iterable

from msgspec import Struct

from dractl.allocation import Features
from dractl.cluster.derived import update_from
from dractl.cluster.state import ClusterState
from dractl.scheduler.node_filters import NodeFilters
from dractl.scheduler.rejection import Rejection
from dractl.scheduler.snapshot import FILTER_KINDS, NodeInfo, Snapshot, snapshot_of
from dractl.views import Pod

_RejectionsByNode = dict[NodeInfo, Rejection | None]


class FirstRejections:
    """The first rejection of each node, computed on first use."""

    def __init__(self, filters: NodeFilters, by_node: _RejectionsByNode) -> None:
        self._filters = filters
        self._by_node = by_node
        """The rejections, by node. If all filters are local, pods that these filters cannot tell
        apart share the mapping, also across a change of the cluster.
        """

    def find(self, names: Iterable[str]) -> list[Rejection | None]:
        """Return the first rejection of each node with these names; None for an unknown node."""
        by_node = self._by_node
        return [
            by_node[node] if node in by_node else self._compute(node)
            for node in map(self._filters.snapshot.nodes.get, names)
        ]

    def _compute(self, node: NodeInfo | None) -> Rejection | None:
        if node is None:
            return None
        rejection = self._filters.first_rejection(node)
        if self._filters.pod.node_name != node.name:  # the pod cannot conflict with itself
            self._by_node[node] = rejection
        return rejection


class PodFilterResults(Struct, frozen=True):
    """The filters for one pod, and their results for each node."""

    filters: NodeFilters
    first_rejections: FirstRejections
    pod_key: Hashable
    """A key that is equal for pods that local filters cannot tell apart; None if a filter is not
    local.
    """


class FilterResults:
    """The results of the filters for all pods of a snapshot."""

    def __init__(
        self, snapshot: Snapshot, features: Features, previous: "FilterResults | None"
    ) -> None:
        self._snapshot = snapshot
        self._features = features
        self._by_pod: dict[tuple[int, frozenset[str]], PodFilterResults] = {}
        # Results are kept by node, since an unchanged node has the same pods in both snapshots.
        self._local: dict[tuple[str, frozenset[str]], _RejectionsByNode] = (
            {} if previous is None else previous._local
        )

    def for_pod(self, pod: Pod, delegated: frozenset[str]) -> PodFilterResults:
        """Return the results for a pod, with the resources that are ``delegated`` to DRA."""
        results = self._by_pod.get((id(pod.raw), delegated))
        if results is None or results.filters.pod.raw is not pod.raw:
            filters = NodeFilters(self._snapshot, pod, self._features, delegated=delegated)
            by_node: _RejectionsByNode = {}
            pod_key = (filters.fingerprint, delegated) if filters.is_local else None
            if pod_key is not None:
                by_node = self._local.setdefault(pod_key, by_node)
            results = PodFilterResults(filters, FirstRejections(filters, by_node), pod_key)
            self._by_pod[id(pod.raw), delegated] = results
        return results


@update_from(*FILTER_KINDS)
def filter_results(
    state: ClusterState, previous: FilterResults | None, features: Features
) -> FilterResults:
    """Return the results of the filters for the pods of a cluster."""
    return FilterResults(snapshot_of(state), features, previous)
