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
