"""Fixes outside DRA: for nodes that reject the pod, nodes that it names, and missing nodes."""

from collections.abc import Callable, Iterator

from dractl.cluster.changes import Create
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic, combine, correct, order_parts
from dractl.explain.fixes.edits import put, remove
from dractl.explain.fixes.makers import fix_for, fix_once_for
from dractl.explain.fixes.node_labels import (
    HOSTNAME_LABEL,
    describes_node,
    fix_node_affinity,
    format_labels,
    label_node,
)
from dractl.explain.fixes.node_resources import end_pods, free_host_ports, free_resource
from dractl.explain.fixes.node_taints import uncordon, untaint
from dractl.explain.fixes.pod_spread import relax_pod_affinity, relax_spread
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import FixProblem
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.nodes import NoNodes
from dractl.explain.reasons.pools import SliceNodeMismatch
from dractl.explain.reasons.scheduling import PlacedByHand
from dractl.scheduler.rejection import Rejection
from dractl.scheduler.verdict import NodeVerdict
from dractl.views import View
from dractl.views.amounts import pod_requests
from dractl.views.selectors import node_selector

_MAX_NODES = 6  # the maximum number of nodes for which fixes are made


@fix_once_for(Cause)
def open_refused_nodes(problem: FixProblem) -> Iterator[Candidate]:
    """Change what makes filters reject the pod; nodes with the right devices come first."""
    refused = [(v, v.rejection) for v in problem.case.attempt.nodes if v.rejection is not None]
    refused.sort(key=lambda pair: (not pair[0].allocates, bool(pair[0].unusable_claims)))
    for verdict, first_rejection in refused[:_MAX_NODES]:
        refusals = problem.case.refusals.get(verdict.name) if problem.pod is not None else ()
        rejections = refusals or (first_rejection,)
        choices = [
            list(_MAKERS[each.plugin](problem, verdict, each)) if each.plugin in _MAKERS else []
            for each in rejections
        ]
        if len(choices) == 1:
            yield from choices[0]
        elif all(choices):
            smallest = (min(candidates, key=lambda c: c.size) for candidates in choices)
            yield combine(order_parts(smallest))


def _remove_node_name(
    problem: FixProblem, _verdict: NodeVerdict, _: Rejection
) -> Iterator[Candidate]:
    """Remove ``nodeName``, and let the scheduler choose the node."""
    if problem.pod is not None:
        removal = problem.patch(remove(("spec", "nodeName")))
        yield Candidate(
            "remove nodeName from the pod", (removal,), FixSlot(Topic.NODE_NAME), Preference.RELAX
        )


_MAKERS: dict[str, Callable[[FixProblem, NodeVerdict, Rejection], Iterator[Candidate]]] = {
    "NodeUnschedulable": uncordon,
    "NodeName": _remove_node_name,
    "TaintToleration": untaint,
    "NodeAffinity": fix_node_affinity,
    "NodePorts": free_host_ports,
    "NodeResourcesFit": free_resource,
    "PodTopologySpread": relax_spread,
    "InterPodAffinity": relax_pod_affinity,
    "VolumeRestrictions": lambda problem, verdict, rejection: end_pods(
        problem, verdict, rejection.pods
    ),
}


@fix_for(PlacedByHand)
def choose_node(problem: FixProblem, cause: PlacedByHand) -> Iterator[Candidate]:
    """Replace spec.nodeName, which bypasses the scheduler, by a node selector, or remove it.

    Neither helps a pod whose node was chosen by a scheduler other than the default.
    """
    if cause.scheduler:
        return
    name = cause.nodes[0]
    hostname = problem.state.node(name).labels.get(HOSTNAME_LABEL)
    removal = remove(("spec", "nodeName"))
    if hostname:
        selection = put(problem.question.value, ("spec", "nodeSelector", HOSTNAME_LABEL), hostname)
        yield correct(
            f"choose node {name} by nodeSelector {HOSTNAME_LABEL}={hostname} instead of nodeName",
            problem.patch(removal, selection),
            FixSlot(Topic.NODE_NAME),
            "the scheduler allocates claims only of pods that it places",
        )
    yield Candidate(
        f"remove nodeName {name} from the pod",
        (problem.patch(removal),),
        FixSlot(Topic.NODE_NAME),
        Preference.RELAX,
        effect="the scheduler chooses the node",
    )


@fix_for(SliceNodeMismatch)
def label_for_slices(problem: FixProblem, cause: SliceNodeMismatch) -> Iterator[Candidate]:
    """Add to nodes the labels that a slice's node selector requires."""
    if cause.slice is not None:
        view = View(problem.state.get("ResourceSlice", ("", cause.slice)))
        terms = node_selector(view.spec.get("nodeSelector") or {}).node_selector_terms
        labels = {
            requirement.key: requirement.values[0]
            for requirement in (terms[0].match_expressions if terms else ())
            if requirement.operator == "In" and requirement.values
        }
        for verdict in problem.case.attempt.nodes[:_MAX_NODES]:
            if labels and verdict.name in cause.nodes and not any(map(describes_node, labels)):
                yield Candidate(
                    f"label {verdict.name} with {format_labels(labels)}",
                    (label_node(verdict, labels),),
                    FixSlot(Topic.LABEL, "slice"),
                    Preference.RESTORE,
                    effect="if the device can be reached from there",
                )


@fix_once_for(NoNodes)
def add_node(problem: FixProblem) -> Iterator[Candidate]:
    """Add a node to a cluster without nodes, if the input shows other cluster-wide objects."""
    if not any(map(problem.state.has, ("ResourceSlice", "DeviceClass", "Namespace"))):
        return
    requests = pod_requests(problem.question.pod.spec)
    demanded = {name: str(amount) for name, amount in requests.items()}
    allocatable = {"cpu": "4", "memory": "16Gi", "pods": "110", **demanded}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-1", "labels": {"kubernetes.io/hostname": "node-1"}},
        "status": {"allocatable": allocatable, "capacity": allocatable},
    }
    yield Candidate(
        "add a node", (), FixSlot(Topic.NODE), Preference.CLUSTER, consequences=(Create(node),)
    )
