"""The cluster as kube-scheduler's filters see it: nodes with their pods, read once for all
attempts.

The terms are kube-scheduler's own (kubernetes pkg/scheduler/framework/types.go NodeInfo;
backend/cache Snapshot).
"""

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress, count
from operator import is_not
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.derived import update_from
from dractl.cluster.state import ClusterState, Key
from dractl.model import Quantity, SaturatingQuantity
from dractl.objects import Raw
from dractl.properties import cached_property
from dractl.views import Node, Pod
from dractl.views.amounts import scheduler_units
from dractl.views.quota import DisruptionBudget

T = TypeVar("T")

FILTER_KINDS = (
    "Pod",
    "Node",
    "Namespace",
    "PriorityClass",
    "PodDisruptionBudget",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
)
"""The kinds of objects that the filters before DRA read."""


class NodeInfo(Node):
    """A node with the pods on it."""

    def __init__(self, raw: Raw, pods: Sequence[Pod] = ()) -> None:
        super().__init__(raw)
        self.pods = pods

    @cached_property
    def allocatable_units(self) -> Mapping[str, int]:
        """:attr:`allocatable` in the scheduler's units."""
        return {name: scheduler_units(name, amount) for name, amount in self.allocatable.items()}

    @cached_property
    def saturating_units(self) -> Mapping[str, int]:
        """:attr:`allocatable` in the units of a scheduler from 1.38 on, which replaces a number
        beyond int64 by the nearest int64.
        """
        amounts = {name: SaturatingQuantity.of(amount) for name, amount in self.allocatable.items()}
        return {name: scheduler_units(name, amount) for name, amount in amounts.items()}

    @cached_property
    def requested_units(self) -> Mapping[str, int]:
        """The sum of the requests of all pods on the node, in the scheduler's units."""
        if len(self.pods) == 1:  # true of most nodes whose devices one job holds
            return self.pods[0].request_units
        total: dict[str, int] = {}
        for pod in self.pods:
            for name, amount in pod.request_units.items():
                total[name] = total.get(name, 0) + amount
        return total

    def sum_requests(self, resource: str) -> Quantity:
        """Return the exact sum of the requests for a resource on the node."""
        total = Quantity()
        for pod in self.pods:
            if resource in pod.requests:
                total = pod.requests[resource] + total
        return total


class Snapshot(Struct, frozen=True, dict=True):
    """The pods and nodes of a cluster at one time."""

    state: ClusterState
    """A cluster with these pods and nodes, and with the other objects that filters read."""
    pods: Mapping[Key, Pod]
    nodes: Mapping[str, NodeInfo]
    has_anti_affinity: bool
    """True if the anti-affinity of some pod may keep other pods away."""
    budgets: tuple[DisruptionBudget, ...]

    def pod(self, raw: Raw) -> Pod:
        """Return the view of a pod, even of a pod that the cluster does not have."""
        pod = self.pods.get(Pod(raw).key)
        if pod is None or pod.raw is not raw:  # such as a pod whose manifest has no namespace
            pod = self._pods_by_identity.get(id(raw))
        if pod is not None and pod.raw is raw:
            return pod
        return Pod(raw, priority_classes=self.state.objects("PriorityClass"))

    @cached_property
    def _pods_by_identity(self) -> Mapping[int, Pod]:
        return {id(pod.raw): pod for pod in self.pods.values()}

    def exclude(self, pods: Iterable[Pod]) -> "Snapshot":
        """Return the snapshot without some pods on its nodes."""
        removed = {id(pod) for pod in pods}
        changed = {
            name: NodeInfo(node.raw, [pod for pod in node.pods if id(pod) not in removed])
            for name in {pod.node_name for pod in pods}
            if (node := self.nodes.get(name)) is not None
        }
        if not changed:
            return self
        return replace(self, nodes=ChainMap(changed, self.nodes))  # type: ignore[arg-type]


@update_from(*FILTER_KINDS)
def snapshot_of(state: ClusterState, previous: Snapshot | None) -> Snapshot:
    """Return the snapshot of a cluster; unchanged nodes are shared with ``previous``."""
    previous = previous or Snapshot(ClusterState({}), {}, {}, has_anti_affinity=False, budgets=())
    removed, added = diff_objects(previous.pods, state.pods)
    # All pods are searched for anti-affinity only if a pod with anti-affinity may be gone.
    suspects = state.pods.values() if previous.has_anti_affinity else added
    return Snapshot(
        state,
        state.pods,
        _update_nodes(state, previous, {pod.node_name for pod in (*removed, *added)}),
        has_anti_affinity=any(pod.pod_anti_affinity for pod in suspects),
        budgets=tuple(
            DisruptionBudget(raw, key) for key, raw in state.objects("PodDisruptionBudget").items()
        ),
    )


def _update_nodes(
    state: ClusterState, previous: Snapshot, with_other_pods: set[str]
) -> Mapping[str, NodeInfo]:
    """Return the nodes with their pods; only changed nodes are built again."""
    nodes = state.nodes
    pods_by_node: dict[str, list[Pod]] = {name: [] for name in with_other_pods}
    same_nodes = previous.state.objects("Node") is state.objects("Node")
    for (_, name), node in nodes.items() if not same_nodes else ():
        if name not in previous.nodes or previous.nodes[name].raw is not node.raw:
            pods_by_node[name] = []
    for pod in state.pods.values() if pods_by_node.keys() != {""} else ():
        if pod.node_name in pods_by_node and not pod.has_ended:
            pods_by_node[pod.node_name].append(pod)
    changed = {
        name: NodeInfo(nodes["", name].raw, pods)
        for name, pods in pods_by_node.items()
        if ("", name) in nodes
    }
    if same_nodes:
        return {**previous.nodes, **changed}
    return {name: changed.get(name) or previous.nodes[name] for _, name in nodes}


def diff_objects(before: Mapping[Key, T], after: Mapping[Key, T]) -> tuple[list[T], list[T]]:
    """Return the objects that a change removes, and the objects that it adds; a patched object is
    in both.

    Objects are compared by identity. Most changes are in one place, so the equal objects at both
    ends are skipped first.
    """
    old, new = list(before.values()), list(after.values())
    shorter = min(len(old), len(new))
    start = next(compress(count(), map(is_not, old, new)), shorter)
    old, new = old[start:], new[start:]
    shorter = min(len(old), len(new))
    end = next(compress(count(), map(is_not, reversed(old), reversed(new))), shorter)
    old, new = old[: len(old) - end], new[: len(new) - end]
    kept = set(map(id, old)).intersection(map(id, new))
    return (
        [value for value in old if id(value) not in kept],
        [value for value in new if id(value) not in kept],
    )
