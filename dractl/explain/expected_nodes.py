"""Nodes that an autoscaler would launch for a pod: in its own words, or by its NodePools."""

from collections.abc import Iterator, Sequence

from dractl.cluster.state import ClusterState
from dractl.explain.answer import ExpectedNode
from dractl.model import ResourceClaim
from dractl.model.paths import maps_at
from dractl.views import Event, Pod
from dractl.views.karpenter import KARPENTER
from dractl.views.node_pool import NodeClaim, NodePool

CLUSTER_AUTOSCALER = "cluster-autoscaler"


def find_expected_nodes(
    state: ClusterState, pod: Pod, claims: Sequence[ResourceClaim]
) -> tuple[ExpectedNode, ...]:
    """Return which nodes would come for a pending pod with claims; nothing without an autoscaler in
    sight.
    """
    reported = tuple(_read_events(state, pod))
    pools = [NodePool(raw, key) for key, raw in state.objects("NodePool").items()]
    if not pools or not claims or any(a.autoscaler == KARPENTER for a in reported):
        return reported
    from dractl.explain.node_pools import judge_pools

    return (*reported, *_nodes_on_the_way(state), *judge_pools(state, pools, pod, claims))


def _read_events(state: ClusterState, pod: Pod) -> Iterator[ExpectedNode]:
    """Yield the newest words of each autoscaler about the pod."""
    newest: dict[str, Event] = {}
    for event in state.events_of(pod.key):
        name = _NAMED_BY_REASON.get(event.reason)
        earlier = newest.get(name or "")
        if (
            name
            and event.regarding.uid in ("", pod.uid)
            and (earlier is None or event.last_seen >= earlier.last_seen)
        ):
            newest[name] = event
    for name, event in newest.items():
        if event.reason == "Nominated" and _nominates_existing_node(state, event):
            yield _explain_nomination(pod, event)
        elif event.reason in ("Nominated", "TriggeredScaleUp"):
            yield ExpectedNode(name, "", "comes", (), f"{name} said: {event.message}")
        else:
            yield ExpectedNode(name, "", "never", (), f"{name} said: {event.message}")


_NOMINATED = "Pod should schedule on: "
_NAMED_BY_REASON = {
    "Nominated": KARPENTER,
    "TriggeredScaleUp": CLUSTER_AUTOSCALER,
    "NotTriggerScaleUp": CLUSTER_AUTOSCALER,
}
"""Events about pods: karpenter pkg/controllers/provisioning/scheduling/events.go;
cluster-autoscaler processors/status/eventing_scale_up_processor.go.
"""


def _explain_nomination(pod: Pod, event: Event) -> ExpectedNode:
    """Return why Karpenter launches nothing for a pod that it places on a node which exists.

    HasDRARequirements in pkg/utils/pod/scheduling.go looks at spec.resourceClaims from v1.14.0 on.
    """
    reason = (
        f"Karpenter counts on a node that exists ({event.message.removeprefix(_NOMINATED)}), so it"
        " launches none"
    )
    if not any(maps_at(container, "resources", "claims") for container in pod.containers):
        reason += (
            "; before 1.14 it takes a pod whose containers list no claims for one without devices"
        )
        fix = "list the claim in a container's resources.claims"
        return ExpectedNode(KARPENTER, "", "never", (), reason, fix)
    return ExpectedNode(KARPENTER, "", "never", (), reason)


def _nominates_existing_node(state: ClusterState, event: Event) -> bool:
    """Return True if the node that Karpenter names in an event is in the input."""
    name = event.message.partition("node/")[2].partition(",")[0].strip()
    return bool(name) and state.get("Node", ("", name)) is not None


def _nodes_on_the_way(state: ClusterState) -> Iterator[ExpectedNode]:
    """Yield the NodeClaims that have no node yet."""
    for key, raw in state.objects("NodeClaim").items():
        claim = NodeClaim(raw, key)
        if not claim.node_name and not claim.deletion_timestamp:
            machine = claim.labels.get("node.kubernetes.io/instance-type", "")
            reason = (
                f"NodeClaim {claim.name} is being launched{f' ({machine})' if machine else ''}:"
                " wait"
            )
            yield ExpectedNode(
                KARPENTER, claim.pool, "comes", (machine,) if machine else (), reason
            )
