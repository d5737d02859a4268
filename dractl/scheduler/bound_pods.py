"""The pods on nodes, as the filters for one pod see them."""

from collections.abc import Sequence

from msgspec import Struct

from dractl.properties import cached_property
from dractl.scheduler.snapshot import NodeInfo, Snapshot
from dractl.views import Pod


class BoundPod(Struct, frozen=True):
    """A pod on a node."""

    pod: Pod
    node: NodeInfo


class BoundPods:
    """The pods on nodes, without the pod that is to be scheduled, even if it has a node."""

    def __init__(self, snapshot: Snapshot, pod: Pod) -> None:
        self.snapshot = snapshot
        self.pod = pod

    def pods_on(self, node: NodeInfo) -> Sequence[Pod]:
        """Return the other pods on a node."""
        if self.pod.node_name != node.name:
            return node.pods
        return [other for other in node.pods if other is not self.pod]

    @cached_property
    def bound_pods(self) -> Sequence[BoundPod]:
        """All other pods on nodes, in the order in which the cluster has its pods."""
        order = {id(pod): position for position, pod in enumerate(self.snapshot.pods.values())}
        bound = [
            BoundPod(other, node)
            for node in self.snapshot.nodes.values()
            for other in self.pods_on(node)
        ]
        return sorted(bound, key=lambda entry: order.get(id(entry.pod), 0))
