"""Nodes that an autoscaler would launch for a pod, according to its events or to its NodePools."""

from collections.abc import Iterator, Sequence

from dractl.cluster.derived import derive_from
from dractl.cluster.state import ClusterState
from dractl.explain.answer import ExpectedNode
from dractl.model import ResourceClaim
from dractl.model.paths import maps_at
from dractl.objects.cluster_autoscaler import (
    CLUSTER_AUTOSCALER,
    SCALE_UP_REASONS,
    ClusterAutoscaler,
    read_cluster_autoscaler,
)
from dractl.views import Event, Pod
from dractl.views.karpenter import KARPENTER
from dractl.views.node_pool import NodePool
from dractl.views.workload import Workload


def find_expected_nodes(
    state: ClusterState, pod: Pod, claims: Sequence[ResourceClaim]
) -> tuple[ExpectedNode, ...]:
    """Return the nodes that autoscalers would launch for a pending pod with claims; none if the
    input shows no autoscaler.
    """
    reported = {answer.autoscaler: answer for answer in _read_events(state, pod)}
    if not claims:
        return tuple(reported.values())
    return (
        *_ask_cluster_autoscaler(state, pod, reported.get(CLUSTER_AUTOSCALER)),
        *_ask_karpenter(state, pod, claims, reported.get(KARPENTER)),
    )


def _ask_cluster_autoscaler(
    state: ClusterState, pod: Pod, words: ExpectedNode | None
) -> Iterator[ExpectedNode]:
    """Yield the answer of Cluster Autoscaler, if its events or its Deployment are in the input."""
    settings = _find_cluster_autoscaler(state)
    if words is not None and words.verdict == "comes":
        yield words
    elif words is not None or settings is not None:
        from dractl.explain.cluster_autoscaler import judge_cluster_autoscaler

        yield judge_cluster_autoscaler(state, pod, settings, words)


@derive_from("Deployment")
def _find_cluster_autoscaler(state: ClusterState) -> ClusterAutoscaler | None:
    """Return the settings of the cluster's Cluster Autoscaler; None if no Deployment runs it."""
    return next(
        (
            settings
            for raw in state.objects("Deployment").values()
            for container in Workload(raw).template_pod.containers
            if (settings := read_cluster_autoscaler(container)) is not None
        ),
        None,
    )


def _ask_karpenter(
    state: ClusterState, pod: Pod, claims: Sequence[ResourceClaim], words: ExpectedNode | None
) -> Iterator[ExpectedNode]:
    """Yield the answer of Karpenter, if its events or its NodePools are in the input."""
    pools = [NodePool(raw, key) for key, raw in state.objects("NodePool").items()]
    if words is not None:
        yield words
    elif pools:
        from dractl.explain.node_pools import judge_pools

        yield from judge_pools(state, pools, pod, claims)


def _read_events(state: ClusterState, pod: Pod) -> Iterator[ExpectedNode]:
    """Yield the newest message of each autoscaler about the pod."""
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
_NAMED_BY_REASON = {"Nominated": KARPENTER, **dict.fromkeys(SCALE_UP_REASONS, CLUSTER_AUTOSCALER)}
"""The autoscalers by the reasons of their events about pods (karpenter
pkg/controllers/provisioning/scheduling/events.go).
"""


def _explain_nomination(pod: Pod, event: Event) -> ExpectedNode:
    """Return why Karpenter launches no node for a pod that it nominates for an existing one.

    HasDRARequirements in pkg/utils/pod/scheduling.go looks at spec.resourceClaims from v1.14.0 on.
    """
    reason = (
        f"Karpenter counts on a node that exists ({event.message.removeprefix(_NOMINATED)}), so it"
        " launches none"
    )
    if not any(maps_at(container, "resources", "claims") for container in pod.containers):
        reason += "; before 1.14, it ignores the claims of a pod whose containers list none"
        fix = "list the claim in a container's resources.claims"
        return ExpectedNode(KARPENTER, "", "never", (), reason, fix)
    return ExpectedNode(KARPENTER, "", "never", (), reason)


def _nominates_existing_node(state: ClusterState, event: Event) -> bool:
    """Return True if the node that Karpenter names in an event is in the input."""
    name = event.message.partition("node/")[2].partition(",")[0].strip()
    return bool(name) and state.get("Node", ("", name)) is not None
