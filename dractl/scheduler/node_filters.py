"""The scheduler's node filters that run before DRA, in their order.

Sentences and order are kube-scheduler's (kubernetes pkg/scheduler/apis/config/v1/default_plugins.go
and the plugins' own folders). Not checked: extenders and other plugins.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from dractl.allocation import Features
from dractl.model.paths import maps_at
from dractl.scheduler.bound_pods import BoundPods
from dractl.scheduler.node_constraints import (
    check_node_affinity,
    check_node_name,
    check_taints,
    check_unschedulable,
    names_in_affinity,
)
from dractl.scheduler.node_resources import NodeResources
from dractl.scheduler.pod_affinity import PodAffinity
from dractl.scheduler.rejection import NodeListMismatch, Rejection
from dractl.scheduler.snapshot import NodeInfo, Snapshot
from dractl.scheduler.topology_spread import TopologySpread
from dractl.scheduler.volumes import Volumes
from dractl.views import Pod


class NodeFilters:
    """The filters for one pod. The data that PreFilter collects for all nodes are computed once."""

    def __init__(
        self,
        snapshot: Snapshot,
        pod: Pod,
        features: Features,
        *,
        delegated: frozenset[str] = frozenset(),
    ) -> None:
        self.snapshot = snapshot
        self.pod = pod
        self.features = features
        self.delegated = delegated
        """Extended resources that NodeResourcesFit leaves to DRA."""
        self.volumes = Volumes(snapshot, pod)
        others = BoundPods(snapshot, pod)
        self.pod_affinity = PodAffinity(others)
        resources = NodeResources(others, features, delegated)
        name_first = (
            (bool(pod.node_name), partial(check_node_name, pod)),
            (True, partial(check_unschedulable, pod)),
        )
        by_name = name_first if features.has("filters-of-1.37") else name_first[::-1]
        has_selector = bool(pod.node_selector) or pod.node_affinity is not None
        has_volumes = bool(pod.volume_claims)
        has_affinity = bool(pod.pod_affinity or pod.pod_anti_affinity or snapshot.has_anti_affinity)
        self._named_nodes = names_in_affinity(pod.node_affinity)
        checks: Sequence[tuple[bool, Callable[[NodeInfo], Rejection | None]]] = (
            *by_name,
            (True, partial(check_taints, pod)),
            (has_selector, partial(check_node_affinity, pod)),
            (bool(pod.host_ports), resources.check_ports),
            (True, resources.check_resources),
            (has_volumes, self.volumes.check_restrictions),
            (has_volumes, self.volumes.check_binding),
            (has_volumes, self.volumes.check_zone),
            (bool(pod.spread_constraints), TopologySpread(others).check),
            (has_affinity, self.pod_affinity.check),
        )
        # A filter that cannot reject any node is left out, as plugins do by PreFilter's Skip
        # (pkg/scheduler/framework/runtime/framework.go RunPreFilterPlugins).
        self._checks = tuple(check for may_reject, check in checks if may_reject)

    def first_rejection(self, node: NodeInfo) -> Rejection | None:
        """Return the first rejection of a node, which the scheduler reports."""
        return next(self.rejections(node), None)

    def rejections(self, node: NodeInfo) -> Iterator[Rejection]:
        """Yield the rejection of each filter, in the scheduler's order."""
        if self._named_nodes is not None and node.name not in self._named_nodes:
            # PreFilter keeps only the named nodes (schedule_one.go findNodesThatFitPod).
            text = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
            unmet = NodeListMismatch(tuple(sorted(self._named_nodes)))
            yield Rejection("NodeAffinity", (text,), True, (unmet,))
        for check in self._checks:
            rejection = check(node)
            if rejection is not None:
                yield rejection

    @property
    def is_local(self) -> bool:
        """True if the rejection of a node depends only on the node and the pods on it."""
        pod = self.pod
        return not (
            pod.spread_constraints
            or pod.pod_affinity
            or pod.pod_anti_affinity
            or pod.volume_claims
            or self.snapshot.has_anti_affinity
        )

    @property
    def fingerprint(self) -> str:
        """The parts of the pod that local filters compare with a node."""
        pod = self.pod
        placement = pod.node_name, pod.node_selector, pod.node_affinity
        return repr((pod.requests, pod.tolerations, pod.host_ports, *placement))

    def exclude(self, pods: Sequence[Pod]) -> "NodeFilters":
        """Return the same filters with some pods removed from their nodes."""
        snapshot = self.snapshot.exclude(pods)
        return NodeFilters(snapshot, self.pod, self.features, delegated=self.delegated)


def node_features_for(pod: Pod) -> list[str]:
    """Return the features that a node must declare for a pod.

    component-helpers/nodedeclaredfeatures InferForScheduling.
    """
    spec = pod.spec
    features = []
    if any(
        rule.get("action") == "RestartAllContainers"
        for container in pod.containers
        for rule in maps_at(container, "restartPolicyRules")
    ):
        features.append("RestartAllContainersOnContainerExits")
    if spec.get("hostNetwork") is True and spec.get("hostUsers") is False:
        features.append("UserNamespacesHostNetworkSupport")
    if any(
        mount.get("bindMountOptions")
        for container in pod.containers
        for mount in maps_at(container, "volumeMounts")
    ):
        features.append("VolumeBindMountOptions")
    return features
