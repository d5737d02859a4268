"""The diagnosis of a subject that waits: the causes of all nodes, in the order of their weight."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.explain.ask import CLAIMS
from dractl.explain.context import Case
from dractl.explain.diagnosis.cross_object import root_causes
from dractl.explain.diagnosis.gangs import NO_GANG, GangDiagnosis
from dractl.explain.diagnosis.nodes import NodeFindings, merge_across_nodes, node_findings
from dractl.explain.inquire import InquiryResult
from dractl.explain.reasons.base import Cause, Progress, merge
from dractl.explain.reasons.nodes import NodeFilter, PinnedNode
from dractl.explain.reasons.registry import cause_of_stop
from dractl.explain.reasons.scheduling import Mixed
from dractl.model.names import RequestRef
from dractl.scheduler.rejection import Rejection

MIN_NODES_FOR_MAJORITY = 10
MAJORITY = 0.8
"""A cause on at least this share of many nodes comes before causes on the other nodes."""
MIN_MIXED_CAUSES = 4
"""At least this number of different causes, each on few nodes, are reported as mixed."""


class Diagnosis(Struct, frozen=True):
    """The causes that keep a subject from its nodes."""

    attempted: InquiryResult
    case: Case
    found: tuple[NodeFindings, ...]
    """The causes of each node."""
    ranked: tuple[Cause, ...] = ()
    """The causes of the subject, the weightiest first."""
    behind: tuple[Cause, ...] = ()
    """The causes that span objects."""
    group: GangDiagnosis = NO_GANG
    """The gang with which the pod is placed."""
    one_node: bool = False
    """True if a single node was asked about."""

    @property
    def of_claim(self) -> bool:
        """True if the question is about a template or a claim that no pod waits for."""
        return self.attempted.question.kind in CLAIMS


def diagnose(
    attempted: InquiryResult, case: Case, group: GangDiagnosis = NO_GANG, *, one_node: bool = False
) -> Diagnosis:
    diagnosis = diagnosis_of(attempted, case)
    spans = attempted.decided and not diagnosis.of_claim
    underlying = root_causes(case, diagnosis.found, diagnosis.ranked) if spans else ()
    return replace(diagnosis, behind=underlying, group=group, one_node=one_node)


def diagnosis_of(result: InquiryResult, case: Case) -> Diagnosis:
    findings = tuple(node_findings(case))
    return Diagnosis(result, case, findings, rank_causes(case, findings) if result.decided else ())


def rank_causes(case: Case, findings: Sequence[NodeFindings]) -> tuple[Cause, ...]:
    """Return the causes of the subject, the weightiest first."""
    attempt = case.attempt
    if attempt.stops:
        return tuple(cause_of_stop(stop, case.scheduler) for stop in attempt.stops)
    if attempt.pre_bind_failure is not None:
        return (cause_of_stop(attempt.pre_bind_failure, case.scheduler),)
    if attempt.fits:
        return ()
    ranked = tuple(
        merge_across_nodes(case, cause, findings) for cause in rank_by_reach(case, findings)
    )
    if attempt.fatal_node is None:
        return ranked
    fatal_node = next((n for n in findings if n.name == attempt.fatal_node.name), None)
    first = fatal_node.causes[:1] if fatal_node else ()
    return (*first, *(c for c in ranked if c.code != first[0].code)) if first else ranked


def rank_by_reach(case: Case, nodes: Sequence[NodeFindings]) -> tuple[Cause, ...]:
    """Merge equal causes of all nodes. Sort them by how far the pod gets before a cause stops it,
    then by the number of their nodes.
    """
    verdicts = case.attempt.nodes
    allocating = {v.name for v in verdicts if v.allocates and not v.unusable_claims}
    excluded = nodes_excluded_by_pod(case)
    wanted_count = len(verdicts) - len(excluded)
    equal: dict[tuple[object, ...], list[Cause]] = {}
    reach: dict[tuple[object, ...], float] = {}
    # A merged cause keeps the details of the first node, so nodes that the pod excludes come last.
    for node in sorted(nodes, key=lambda node: node.name in excluded):
        hardest = _hardest(node)
        for position, cause in enumerate(node.causes):
            if cause.refs and node.name in excluded:
                continue  # the pod excludes this node, so its devices do not matter
            key = cause.key
            causes = equal.setdefault(key, [])
            # The numbers come from the node that lacks the least.
            is_nearest = causes and cause.shortage < causes[0].shortage
            causes.insert(0 if is_nearest and node.name not in excluded else len(causes), cause)
            progress = cause.progress
            if cause.refs and hardest < progress < Progress.STOPPED:
                progress = hardest - 0.1  # removing this cause alone would not be enough
            if isinstance(cause, NodeFilter):
                further_filters = sum(isinstance(c, NodeFilter) for c in node.causes) - 1
                # The more filters reject the node, the less it helps to remove only this cause.
                progress = _filter_progress(node.name, allocating, excluded) - 0.1 * further_filters
            if isinstance(cause, PinnedNode) and any(
                c.code != cause.code for c in node.causes[position + 1 :]
            ):
                progress = 0
            reach[key] = max(reach.get(key, progress), progress)
    merged = {key: merge(causes) for key, causes in equal.items()}
    for key, cause in merged.items():
        if isinstance(cause, NodeFilter) and len(cause.nodes) == len(verdicts):
            reach[key] = Progress.EVERYWHERE
    closed = {name for node in nodes if node.refuses_pod for name in (node.name, *node.like)}
    ranked = [
        _open_nodes_first(merged[k], closed)
        for k in sorted(merged, key=lambda k: (-reach[k], -len(merged[k].nodes)))
    ]
    dominant = next((cause for cause in ranked if dominates(cause, wanted_count)), None)
    few = wanted_count * (1 - MAJORITY)
    if dominant is not None and isinstance(ranked[0], NodeFilter) and len(ranked[0].nodes) <= few:
        ranked = [dominant, *(cause for cause in ranked if cause is not dominant)]
    ranked = _put_nearest_alternative_first(_put_claim_node_first(ranked))
    mixed = _cause_of_mixture(nodes, ranked)
    return (mixed, *ranked) if mixed is not None else tuple(ranked)


def _open_nodes_first(cause: Cause, closed: set[str]) -> Cause:
    """Return a cause about devices with its nodes sorted: nodes that do not refuse the pod come
    first.
    """
    if not cause.refs or not closed.intersection(cause.nodes):
        return cause
    return replace(cause, nodes=tuple(sorted(cause.nodes, key=lambda name: name in closed)))


def _put_claim_node_first(ranked: list[Cause]) -> list[Cause]:
    """Put first the cause that pins the pod to the node of its allocated claim.

    Causes on that node matter only because the pod must go there.
    """
    pinned = next((c for c in ranked if isinstance(c, PinnedNode)), None)
    if pinned is None or not set(ranked[0].nodes) <= set(pinned.places):
        return ranked
    return [pinned, *(cause for cause in ranked if cause is not pinned)]


def _put_nearest_alternative_first(ranked: list[Cause]) -> list[Cause]:
    """Put first the cause about the alternative that lacks the fewest devices."""
    refs = ranked[0].refs if ranked else ()
    if len(refs) != 1 or refs[0].alternative is None or not ranked[0].shortage:
        return ranked
    request = refs[0].request
    same = [
        c
        for c in ranked
        if c.code == ranked[0].code and len(c.refs) == 1 and c.refs[0].request == request
    ]
    nearest = min(same, key=lambda cause: cause.shortage or 1 << 32)
    return [nearest, *(cause for cause in ranked if cause is not nearest)]


def nodes_excluded_by_pod(case: Case) -> set[str]:
    """Return the nodes that the pod itself rules out; none if it rules out all."""
    verdicts = case.attempt.nodes
    excluded = {v.name for v in verdicts if any(map(_excludes_node, case.refusals.get(v.name, ())))}
    return excluded if len(excluded) < len(verdicts) else set()


def dominates(cause: Cause, nodes: int) -> bool:
    """Return True if devices in use keep a subject from nearly all of many ``nodes`` that it
    wants.
    """
    return (
        nodes >= MIN_NODES_FOR_MAJORITY
        and cause.page.progress == Progress.IN_USE
        and len(cause.nodes) >= MAJORITY * nodes
    )


def _cause_of_mixture(nodes: Sequence[NodeFindings], ranked: Sequence[Cause]) -> Mixed | None:
    """Return the cause for many nodes with different causes, if none of these holds on most
    nodes.
    """
    firsts = [
        node.causes[0].code
        for node in nodes
        if node.causes and node.causes[0].progress > Progress.NO_DEVICE
    ]
    codes = Counter(firsts)
    if len(codes) < MIN_MIXED_CAUSES or max(codes.values()) * 2 > len(firsts):
        return None
    # Somebody cordoned the node on purpose, so causes on other nodes are easier to remove.
    candidates = (
        c
        for c in ranked
        if c.nodes and not (isinstance(c, NodeFilter) and c.plugin == "NodeUnschedulable")
    )
    nearest = next(candidates, ranked[0])
    frequent_codes = tuple(code for code, _ in codes.most_common())
    return (
        Mixed(codes=frequent_codes, nearest_node=nearest.nodes[0], nearest_cause=nearest)
        if nearest.nodes
        else Mixed(codes=frequent_codes)
    )


def _hardest(node: NodeFindings) -> float:
    """Return how far the pod gets on a node, measured by the request that gets least far."""
    best: dict[RequestRef, float] = {}
    for cause in node.causes:
        if len(cause.refs) == 1:
            key = cause.refs[0].request  # alternatives count as one request
            best[key] = max(best.get(key, 0), cause.progress)
    return min(best.values(), default=Progress.STOPPED)


def _excludes_node(rejection: Rejection) -> bool:
    """Return True if the pod itself rules the node out by its node selector, its affinity, or a
    name.
    """
    if rejection.plugin in ("NodeAffinity", "NodeName") or (rejection.plugin or "").startswith(
        "Volume"
    ):
        return True  # a volume cannot be moved to another node
    return rejection.plugin == "InterPodAffinity" and rejection.unresolvable


def _filter_progress(node: str, allocating: set[str], excluded: set[str]) -> float:
    """Return how far a pod gets on a node that a filter rejects.

    The pod gets further on a node that its own constraints allow, if the node has the wanted
    devices at all.
    """
    if node not in allocating:
        return -1
    return Progress.HIDDEN - 0.5 if node in excluded else Progress.OUTSIDE_DRA
