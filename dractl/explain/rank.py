"""The diagnosis of a subject that waits: the causes of all nodes, and which of them come first."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.explain.ask import CLAIMS
from dractl.explain.case import Case
from dractl.explain.diagnosis.cross_object import root_causes
from dractl.explain.diagnosis.gangs import NO_GANG, GangDiagnosis
from dractl.explain.diagnosis.nodes import NodeFindings, merge_across_nodes, node_findings
from dractl.explain.inquire import Attempted
from dractl.explain.reasons.base import (
    HIDDEN,
    NOTHING,
    OUTSIDE,
    STOPPED,
    TAKEN,
    Cause,
    merge,
    united,
)
from dractl.explain.reasons.nodes import NodeFilter, PinnedNode
from dractl.explain.reasons.registry import of_stop
from dractl.explain.reasons.scheduling import Mixed
from dractl.model.names import RequestRef
from dractl.scheduler.rejection import Rejection

EVERYWHERE = (
    STOPPED - 1
)  # what a filter has against all nodes: nothing else matters until that is fixed
_LARGE, _MOST = (
    10,
    0.8,
)  # of so many nodes, what holds on this part of them comes before what others would add
_MIXED = 4  # so many different causes, none of them on most nodes, are called mixed


class Diagnosis(Struct, frozen=True):
    """``found`` are the causes of each node, ``ranked`` those of the subject, ``behind`` those that span objects, and
    ``group`` is what the pod is placed with. ``one_node``: a single node was asked about."""

    attempted: Attempted
    case: Case
    found: tuple[NodeFindings, ...]
    ranked: tuple[Cause, ...] = ()
    behind: tuple[Cause, ...] = ()
    group: GangDiagnosis = NO_GANG
    one_node: bool = False

    @property
    def of_claim(self) -> bool:
        """True if the question is about a claim that no pod waits for, or a template."""
        return self.attempted.question.kind in CLAIMS


def diagnose(
    attempted: Attempted, case: Case, group: GangDiagnosis = NO_GANG, *, one_node: bool = False
) -> Diagnosis:
    own = diagnosis_of(attempted, case)
    spans = attempted.decided and not own.of_claim
    behind = root_causes(case, own.found, own.ranked) if spans else ()
    return replace(own, behind=behind, group=group, one_node=one_node)


def diagnosis_of(attempted: Attempted, case: Case) -> Diagnosis:
    found = tuple(node_findings(case))
    return Diagnosis(
        attempted, case, found, ranked_causes(case, found) if attempted.decided else ()
    )


def ranked_causes(case: Case, found: Sequence[NodeFindings]) -> tuple[Cause, ...]:
    """The causes of the subject, what matters most first."""
    attempt = case.attempt
    if attempt.stopped:
        return tuple(of_stop(stop, case.scheduler) for stop in attempt.stopped)
    if attempt.late is not None:
        return (of_stop(attempt.late, case.scheduler),)
    if attempt.fits:
        return ()
    ranked = tuple(merge_across_nodes(case, cause, found) for cause in rank(case, found))
    if attempt.fatal is None:
        return ranked
    named = next((n for n in found if n.name == attempt.fatal.name), None)
    first = named.causes[:1] if named else ()
    return (*first, *(c for c in ranked if c.code != first[0].code)) if first else ranked


def rank(case: Case, nodes: Sequence[NodeFindings]) -> tuple[Cause, ...]:
    """The causes of all nodes, equal ones merged: those that got furthest first, then those on most nodes."""
    verdicts = case.attempt.nodes
    otherwise = {v.name for v in verdicts if v.allocates and not v.elsewhere}
    unwanted = ruled_out(case)
    wanted = len(verdicts) - len(unwanted)
    merged: dict[tuple[object, ...], Cause] = {}
    reach: dict[tuple[object, ...], float] = {}
    for node in sorted(
        nodes, key=lambda node: node.name in unwanted
    ):  # details are those of the first
        hardest = _hardest(node)
        for position, cause in enumerate(node.causes):
            if cause.about and node.name in unwanted:
                continue  # the pod does not want its devices
            key = cause.key
            both = united if node.name in unwanted else merge
            merged[key] = both(merged[key], cause) if key in merged else cause
            far = cause.reach
            if cause.about and hardest < far < STOPPED:
                far = hardest - 0.1  # this one alone would not be enough
            if isinstance(cause, NodeFilter):
                others = sum(isinstance(c, NodeFilter) for c in node.causes) - 1
                far = (
                    _filtered(node.name, otherwise, unwanted) - 0.1 * others
                )  # each alone would not be enough
            if isinstance(cause, PinnedNode) and any(
                c.code != cause.code for c in node.causes[position + 1 :]
            ):
                far = 0
            reach[key] = max(reach.get(key, far), far)
    for key, cause in merged.items():
        if isinstance(cause, NodeFilter) and len(cause.nodes) == len(verdicts):
            reach[key] = EVERYWHERE
    closed = {name for node in nodes if node.refuses_pod for name in (node.name, *node.like)}
    ranked = [
        _open_first(merged[k], closed)
        for k in sorted(merged, key=lambda k: (-reach[k], -len(merged[k].nodes)))
    ]
    full = next((cause for cause in ranked if dominates(cause, wanted)), None)
    odd = wanted * (1 - _MOST)
    if full is not None and isinstance(ranked[0], NodeFilter) and len(ranked[0].nodes) <= odd:
        ranked = [full, *(cause for cause in ranked if cause is not full)]
    ranked = _nearer_alternative(_where_the_claim_is(ranked))
    mixed = _mixed(nodes, ranked)
    return (mixed, *ranked) if mixed is not None else tuple(ranked)


def _open_first(cause: Cause, closed: set[str]) -> Cause:
    """A cause that lies in devices, with the nodes first where nothing else keeps the pod away."""
    if not cause.about or not closed.intersection(cause.nodes):
        return cause
    return replace(cause, nodes=tuple(sorted(cause.nodes, key=lambda name: name in closed)))


def _where_the_claim_is(ranked: list[Cause]) -> list[Cause]:
    """The causes; what the node of an allocated claim has against the pod follows that it must go there."""
    pinned = next((c for c in ranked if isinstance(c, PinnedNode)), None)
    if pinned is None or not set(ranked[0].nodes) <= set(pinned.places):
        return ranked
    return [pinned, *(cause for cause in ranked if cause is not pinned)]


def _nearer_alternative(ranked: list[Cause]) -> list[Cause]:
    """The causes, the first of them about the alternative of its request that lacks fewest devices."""
    refs = ranked[0].about if ranked else ()
    if len(refs) != 1 or refs[0].alternative is None or not ranked[0].lacking:
        return ranked
    request = refs[0].request
    same = [
        c
        for c in ranked
        if c.code == ranked[0].code and len(c.about) == 1 and c.about[0].request == request
    ]
    nearest = min(same, key=lambda cause: cause.lacking or 1 << 32)
    return [nearest, *(cause for cause in ranked if cause is not nearest)]


def ruled_out(case: Case) -> set[str]:
    """The nodes that the pod itself rules out; none if those are all."""
    verdicts = case.attempt.nodes
    found = {v.name for v in verdicts if any(map(_unwanted, case.refusals.get(v.name, ())))}
    return found if len(found) < len(verdicts) else set()


def dominates(cause: Cause, nodes: int) -> bool:
    """True if devices that are in use are what keeps a subject from nearly all of many ``nodes`` that it wants."""
    return nodes >= _LARGE and cause.page.reach == TAKEN and len(cause.nodes) >= _MOST * nodes


def _mixed(nodes: Sequence[NodeFindings], ranked: Sequence[Cause]) -> Mixed | None:
    """The cause that says that no single cause holds on most nodes, if that is so."""
    firsts = [
        node.causes[0].code for node in nodes if node.causes and node.causes[0].reach > NOTHING
    ]
    codes = Counter(firsts)
    if len(codes) < _MIXED or max(codes.values()) * 2 > len(firsts):
        return None
    # A node that is cordoned is so on purpose: others are nearer.
    found = (
        c
        for c in ranked
        if c.nodes and not (isinstance(c, NodeFilter) and c.plugin == "NodeUnschedulable")
    )
    near = next(found, ranked[0])
    named = tuple(code for code, _ in codes.most_common())
    return (
        Mixed(codes=named, nearest_node=near.nodes[0], nearest_cause=near)
        if near.nodes
        else Mixed(codes=named)
    )


def _hardest(node: NodeFindings) -> float:
    """How far the pod gets on a node with the request that gets least far."""
    best: dict[RequestRef, float] = {}
    for cause in node.causes:
        if len(cause.about) == 1:
            key = cause.about[0].request  # alternatives count as one request
            best[key] = max(best.get(key, 0), cause.reach)
    return min(best.values(), default=STOPPED)


def _unwanted(refused: Rejection) -> bool:
    """True if the pod itself rules the node out: by its node selector, its affinity, or a name."""
    if refused.plugin in ("NodeAffinity", "NodeName") or (refused.plugin or "").startswith(
        "Volume"
    ):
        return True  # a volume is where it is
    return refused.plugin == "InterPodAffinity" and refused.final


def _filtered(node: str, otherwise: set[str], unwanted: set[str]) -> float:
    """How far a pod gets on a node that a filter refuses. Where the pod wants other nodes, what these have against it
    counts more, if they have such devices at all."""
    if node not in otherwise:
        return -1
    return HIDDEN - 0.5 if node in unwanted else OUTSIDE
