"""Filters that need nothing but the pod and the node: cordons, spec.nodeName, taints, node
affinity.

kubernetes pkg/scheduler/framework/plugins/nodeunschedulable, nodename, tainttoleration,
nodeaffinity.
"""

from collections.abc import Sequence

from dractl.model import NodeSelector, Taint, Toleration
from dractl.scheduler.rejection import (
    CordonedNode,
    LabelMismatch,
    NodeAffinityMismatch,
    NodeLabel,
    NodeNameMismatch,
    Rejection,
    UntoleratedTaint,
    find_label_mismatches,
)
from dractl.scheduler.snapshot import NodeInfo
from dractl.views import Pod

_UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", effect="NoSchedule")


def check_unschedulable(pod: Pod, node: NodeInfo) -> Rejection | None:
    """Reject a cordoned node that the pod does not tolerate."""
    if not node.unschedulable or is_tolerated(_UNSCHEDULABLE, pod.tolerations):
        return None
    return Rejection("NodeUnschedulable", ("node(s) were unschedulable",), True, (CordonedNode(),))


def check_node_name(pod: Pod, node: NodeInfo) -> Rejection | None:
    """Reject all nodes but the one in ``spec.nodeName``."""
    if not pod.node_name or pod.node_name == node.name:
        return None
    text = "node(s) didn't match the requested node name"
    return Rejection("NodeName", (text,), True, (NodeNameMismatch(pod.node_name),))


def check_taints(pod: Pod, node: NodeInfo) -> Rejection | None:
    """Reject a node with taints that the pod does not tolerate."""
    if not node.taints:
        return None
    unmet = tuple(
        UntoleratedTaint(taint)
        for taint in node.taints
        if taint.effect in ("NoSchedule", "NoExecute") and not is_tolerated(taint, pod.tolerations)
    )
    text = "node(s) had untolerated taint(s)"
    return Rejection("TaintToleration", (text,), True, unmet) if unmet else None


def check_node_affinity(pod: Pod, node: NodeInfo) -> Rejection | None:
    """Reject a node that the node selector or the required node affinity does not match."""
    texts = ("node(s) didn't match Pod's node affinity/selector",)
    for key, value in pod.node_selector.items():
        if node.labels.get(key) != value:
            label = NodeLabel(key, node.labels.get(key))
            return Rejection("NodeAffinity", texts, True, (LabelMismatch(key, value),), (label,))
    required = pod.node_affinity
    if required is None or node.matches(required):
        return None
    labels = find_label_mismatches(required, node.labels)
    return Rejection("NodeAffinity", texts, True, (NodeAffinityMismatch(required),), labels)


def names_in_affinity(selector: NodeSelector | None) -> frozenset[str] | None:
    """Return the nodes that required node affinity names; None unless every term names a node.

    nodeaffinity.go PreFilter.
    """
    names: set[str] = set()
    for term in selector.node_selector_terms if selector is not None else ():
        lists = [
            set(field.values)
            for field in term.match_fields
            if field.key == "metadata.name" and field.operator == "In"
        ]
        if not lists:
            return None
        names |= set.intersection(*lists)
    return frozenset(names) or None


def is_tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    """Decide whether any toleration tolerates a node's taint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Decide whether a pod's toleration tolerates a node's taint.

    k8s.io/api/core/v1/toleration.go ToleratesTaint. The operators Lt and Gt (gate
    TaintTolerationComparisonOperators, alpha) are treated as tolerating nothing.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
