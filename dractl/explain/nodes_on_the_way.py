"""Nodes that Karpenter has launched and that are not initialized. Karpenter counts on their
devices, and places pods on them before it launches another node (Scheduler.addToExistingNode).
"""

from collections.abc import Iterator

from dractl.autoscaler.requirements import find_conflict, find_missing, require_labels
from dractl.cluster.state import ClusterState
from dractl.explain.answer import ExpectedNode
from dractl.explain.placement_attempts import Attempt, list_attempts
from dractl.explain.pool_inquiry import PoolInquiry
from dractl.model import Quantity
from dractl.scheduler.node_constraints import is_tolerated
from dractl.views.karpenter import KARPENTER
from dractl.views.node_pool import NodeClaim

INSTANCE_TYPE = "node.kubernetes.io/instance-type"


def find_nodes_on_the_way(state: ClusterState, inquiry: PoolInquiry) -> Iterator[ExpectedNode]:
    """Yield the NodeClaims whose node will serve the pod (ExistingNode.CanAdd)."""
    (*_, attempt) = list_attempts(inquiry.pod, has_soft_taints=True)
    for key, raw in state.objects("NodeClaim").items():
        claim = NodeClaim(raw, key)
        if claim.is_on_the_way and _serves(claim, attempt, inquiry):
            machine = claim.labels.get(INSTANCE_TYPE, "")
            progress = (
                f"node {claim.node_name} of NodeClaim {claim.name} is not initialized yet"
                if claim.node_name
                else f"NodeClaim {claim.name} is being launched"
            )
            yield ExpectedNode(
                KARPENTER,
                claim.pool,
                "comes",
                (machine,) if machine else (),
                f"{progress}{f' ({machine})' if machine else ''}: wait",
            )


def _serves(claim: NodeClaim, attempt: Attempt, inquiry: PoolInquiry) -> bool:
    """Return True unless it is known that a node on the way does not serve the pod."""
    if any(not is_tolerated(taint, attempt.tolerations) for taint in claim.taints):
        return False
    if any(
        amount < inquiry.pod.requests.get(resource, Quantity())
        for resource, amount in claim.allocatable.items()
    ):
        return False
    machine = claim.labels.get(INSTANCE_TYPE, "")
    if not machine:
        return True
    labels = require_labels(claim.labels)
    if find_missing(labels, attempt.requirements, ()) or find_conflict(
        labels, attempt.requirements
    ):
        return False
    return inquiry.judge(machine).verdict != "never"


def count_waiting_pods(state: ClusterState) -> int:
    """Count the pods with claims that wait for a node."""
    return sum(
        not pod.node_name and pod.phase == "Pending" and bool(pod.claim_names)
        for pod in state.pods.values()
    )
