"""Cluster Autoscaler's answer for a pending pod with claims: its events, and its known limits."""

from dractl.autoscaler.cluster_autoscaler import (
    PREEMPTION_ISSUE,
    TITLE,
    ClaimLimit,
    find_claim_limit,
)
from dractl.cluster.state import ClusterState
from dractl.explain.answer import ExpectedNode
from dractl.objects.cluster_autoscaler import CLUSTER_AUTOSCALER, ClusterAutoscaler
from dractl.scheduler.cycle import CANNOT_ALLOCATE
from dractl.views import Pod


def judge_cluster_autoscaler(
    state: ClusterState, pod: Pod, settings: ClusterAutoscaler | None, words: ExpectedNode | None
) -> ExpectedNode:
    """Return the answer of Cluster Autoscaler for a pod for which no node is coming; ``words`` is
    the answer that its events about the pod give.
    """
    limit = (
        (None if settings is None else find_claim_limit(settings))
        or _find_nomination(pod)
        or _find_empty_groups(state, words)
        or ClaimLimit("unknown", f"dractl does not know the devices of {TITLE}'s node groups", "")
    )
    preemption = _find_preemption(Pod(pod.raw, pod.key, state.objects("PriorityClass")))
    verdict = limit.verdict if words is None else words.verdict
    reasons = [] if words is None else [words.reason]
    if words is None or limit.fix:
        reasons.append(limit.reason)
    if preemption is not None:
        reasons.append(preemption.reason)
    fix = limit.fix or (preemption.fix if preemption is not None else "")
    return ExpectedNode(CLUSTER_AUTOSCALER, "", verdict, (), "; ".join(reasons), fix or None)


def _find_empty_groups(state: ClusterState, words: ExpectedNode | None) -> ClaimLimit | None:
    """Return the limit of node groups without nodes, if events refuse the claims of a pod and no
    ResourceSlice has a device.

    The devices of a new node are those of a node of its group; for a group without nodes, the
    cloud provider has to describe them (kubernetes/autoscaler#7530, kubernetes/autoscaler#7724).
    """
    # The autoscaler repeats kube-scheduler's words.
    is_refused = words is not None and CANNOT_ALLOCATE in words.reason
    if not is_refused or any(item.spec.devices for item in state.slices):
        return None
    reason = (
        f"{TITLE} takes the devices of a new node from a node of its group; of a group without"
        " nodes it knows them only if the cloud provider describes them"
    )
    return ClaimLimit("never", reason, "keep at least one node in the node group")


def _find_nomination(pod: Pod) -> ClaimLimit | None:
    """Return the limit that applies while a pod waits for a preemption.

    kubernetes/autoscaler cluster-autoscaler-1.36.1 utils/kubernetes/listers.go and
    core/static_autoscaler.go put such a pod on its nominated node, without an allocation.
    """
    if not pod.nominated_node_name:
        return None
    reason = (
        f"{TITLE} counts the pod on {pod.nominated_node_name}, where it waits for a preemption, and"
        " launches no node for it"
    )
    return ClaimLimit("never", reason, "")


def _find_preemption(pod: Pod) -> ClaimLimit | None:
    """Return the limit of a PriorityClass that preempts, if the pod is known to have one."""
    name = pod.priority_class_name
    if not name or pod.known_preemption_policy != "PreemptLowerPriority":
        return None
    reason = (
        f"{TITLE} does not support pods with claims that preempt ({PREEMPTION_ISSUE}), as"
        f" PriorityClass {name} lets this pod"
    )
    return ClaimLimit("unknown", reason, "name a PriorityClass with preemptionPolicy: Never")
