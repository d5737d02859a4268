"""What is said of a subject: the verdict and the headline, from ranked causes and from what lies outside DRA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.allocation import Exhausted, Features
from dractl.cluster.state import text_at
from dractl.explain import placed
from dractl.explain.answer import FITS
from dractl.explain.causes import (
    STOPPED,
    Mixed,
    NoConsumer,
    NodeFilter,
    NotReadable,
    OtherScheduler,
    PinnedNode,
    SelectorFalse,
    Tainted,
    Unchecked,
    WouldFitNow,
)
from dractl.explain.diagnose import pods
from dractl.explain.diagnose.between import not_tried, siblings, spanning
from dractl.explain.rank import dominates
from dractl.explain.unread import sentences
from dractl.explain.wording import Scope, first
from dractl.records import record, replace
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.wording import of_nodes, unchecked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dractl.explain.answer import Verdict
    from dractl.explain.ask import Question
    from dractl.explain.case import Case
    from dractl.explain.causes import Cause
    from dractl.explain.diagnose.nodes import NodeFindings
    from dractl.explain.unread import Blind
    from dractl.scheduler.claims import PodClaim
    from dractl.scheduler.verdict import Attempt

    Raw = Mapping[str, Any]

DEFAULT_SCHEDULER = "default-scheduler"


@record
class Said:
    """The verdict, the headline, the causes in order, and what else is to be known. ``ranked`` are the causes that the
    attempt itself has, ``behind`` those that span objects where the subject fits."""

    verdict: Verdict
    headline: str
    causes: tuple[Cause, ...] = ()
    scheduler_message: str | None = None
    notes: tuple[str, ...] = ()
    ranked: tuple[Cause, ...] = ()
    behind: tuple[Cause, ...] = ()

    @property
    def fits(self) -> bool:
        """True if the subject can be, or is, allocated."""
        return self.verdict in FITS


def attempt_of(case: Case, found: Sequence[NodeFindings], ranked: tuple[Cause, ...], *, one_node: bool) -> Said:
    """What the attempt says. ``one_node``: one node was asked about."""
    judgement = case.judgement
    return Said(
        _verdict(judgement),
        _headline(case, found, ranked, one_node=one_node),
        ranked,
        judgement.message,
        tuple(_search_notes(case)),
        ranked,
    )


def _verdict(judgement: Attempt) -> Verdict:
    if judgement.stopped:
        return "blocked"
    if judgement.fits:
        return "allocatable"
    if judgement.fatal is not None or judgement.late is not None:
        return "error"
    if any(isinstance(n.outcome, Exhausted) for n in judgement.nodes if n.asked):
        return "undecided"
    return "blocked" if all(n.rejection is not None for n in judgement.nodes) else "unallocatable"


def _headline(case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause], *, one_node: bool) -> str:
    judgement = case.judgement
    if judgement.stopped:
        return case.say(ranked[0])
    if judgement.fits:
        return f"fits on {first([n.name for n in judgement.nodes if n.fits])}"
    total = len(judgement.nodes)
    near = bool(ranked) and total > 1 and _of_one_node(ranked[0], found, total)
    scope = Scope.ONE if near or total == 1 else Scope.ALL
    why = case.say(ranked[0], scope, brief=True) + _besides(case, ranked[0], found) if ranked else ""
    if judgement.fatal is not None:
        return f"the scheduler's attempt ends in an error: {why}"
    if judgement.late is not None:
        return f"a node fits, and then the scheduler fails: {why}"
    if total == 1:
        return f"does not fit on {judgement.nodes[0].name if one_node else 'the only node'}: {why}"
    if near:
        node, alike = ranked[0].nodes[0], len(ranked[0].nodes)
        why = f"{alike} are like {node}: {why}" if dominates(ranked[0], total) else f"nearest is {node}: {why}"
    return f"fits on none of {total} nodes: {why}"


def _of_one_node(cause: Cause, found: Sequence[NodeFindings], total: int) -> bool:
    """True if the cause holds for only some nodes or has the numbers of one; the headline then names that node."""
    if not cause.nodes or cause.reach >= STOPPED or isinstance(cause, Mixed | PinnedNode):
        return False
    if isinstance(cause, SelectorFalse) and not cause.have:
        return False
    if isinstance(cause, NodeFilter | Tainted):
        return len(cause.nodes) < total
    return any(not any(cause.same_as(other) for other in node.causes) for node in found)


def _besides(case: Case, cause: Cause, found: Sequence[NodeFindings]) -> str:
    """Another request's first problem on the same node: fixing one request alone would not help."""
    if not cause.about or not cause.nodes or cause.reach >= STOPPED:
        return ""
    own = {ref[:2] for ref in cause.about}
    node = next((n for n in found if n.name == cause.nodes[0]), None)
    for other in node.causes if node is not None else ():
        if len(other.about) == 1 and other.reach < STOPPED and other.about[0][:2] not in own:
            return f"; and {case.say(other, brief=True)}"
    return ""


def _search_notes(case: Case) -> Iterator[str]:
    if case.judgement.stopped:
        return
    for n in case.judgement.nodes:
        if n.victims:
            yield f"on {n.name} the scheduler ends pods of lower priority first: {', '.join(n.victims[:3])}"
    if not case.state.has("Node") and not case.state.rights.hidden("Node"):
        yield (
            "the input has no Node objects; node names come from the ResourceSlices and node filters were not checked"
        )
    outcomes = [n.outcome for n in case.judgement.nodes if n.outcome is not None]
    if any(o.nears_timeout for o in outcomes):
        yield "this search is close to the scheduler's limit of 10 seconds per node"
    if any(o.unordered for o in outcomes):
        release = case.judge.features.release
        yield f"Kubernetes {release} searches pools in random order, so it may pick other devices"


# -- what lies outside DRA --


def spanned(case: Case, found: Sequence[NodeFindings], said: Said) -> Said:
    """The answer that begins with the cause behind the causes: of several objects, of a driver, of a workload."""
    behind = spanning(case, found, said.causes)
    if not behind:
        return said
    headline = f"{said.headline}, but {case.say(behind[0])}" if said.fits else f"{case.say(behind[0])}; {said.headline}"
    if said.fits:
        return replace(said, headline=headline, notes=(*said.notes, *map(case.say, behind)), behind=behind)
    return replace(said, headline=headline, causes=(*said.causes[:1], *behind, *said.causes[1:]))


def outside(case: Case, found: Sequence[NodeFindings], said: Said) -> Said:
    """What the pod itself shows besides: another scheduler, binding conditions, a condition that no longer holds."""
    pod = case.question.value
    notes = [
        *said.notes,
        *pods.outranked(case, said.causes),
        *pods.undeclared_features(case),
        *placed.unused(pod, case.judgement.claims),
    ]
    said = replace(said, notes=tuple(notes))
    refused = _without_pod(case, said)
    if refused is not None:
        return refused
    bug = pods.known_bug(case)
    if bug is not None:
        said = replace(said, headline=case.say(bug), causes=(bug, *said.causes))
    foreign = _of_other_scheduler(case, said)
    if foreign is not None:
        return foreign
    binding = pods.awaited(case) if said.fits else None
    if binding is not None:
        return Said("blocked", case.say(binding), (binding,), said.scheduler_message, tuple(notes))
    return _conditioned(case, found, replace(said, notes=(*notes, *pods.unchecked_volumes(case))))


def _without_pod(case: Case, said: Said) -> Said | None:
    """The answer about a pod that its workload cannot create."""
    refused = pods.not_created(case)
    if refused is None:
        return None
    headline = f"there is no pod: {case.say(refused)}"
    return Said("blocked", headline, (refused, *said.causes), None, said.notes, said.ranked)


def _of_other_scheduler(case: Case, said: Said) -> Said | None:
    """The answer about a pod that names another scheduler."""
    scheduler = text_at(case.question.value, "spec", "schedulerName") or DEFAULT_SCHEDULER
    if scheduler == DEFAULT_SCHEDULER:
        return None
    return Said(
        "blocked",
        f"kube-scheduler does not schedule this pod; {scheduler} is to do so",
        (OtherScheduler(plugin=scheduler, schedulers=(scheduler,)), *said.causes),
        case.judgement.message if case.judgement.stopped else None,
        said.notes,
        said.ranked,
    )


def _conditioned(case: Case, found: Sequence[NodeFindings], said: Said) -> Said:
    """What the pod's condition says that the attempt does not."""
    condition = pods.condition_of(case.question.value)
    message = text_at(condition, "message")
    foreign = unchecked(message, volumes=case.judge.volumes(case.question.value).known)
    fitting = [n for n in found if n.verdict == "allocatable"] if said.fits else []
    if said.fits and message:
        other = _other_release(case, message)
        if other is not None:
            note = f"the pod's condition was written by Kubernetes {other} or near it, which does not place this pod"
            return replace(said, notes=(*said.notes, note))
        held_back = _held_back(case, fitting, foreign)
        if held_back is not None:
            return replace(held_back, scheduler_message=message, notes=said.notes)
    told = (f"the pod's condition says, of what is not checked here: {of_nodes(*part)}" for part in foreign)
    said = replace(said, notes=(*said.notes, *told))
    if any(count is None for count, _ in foreign):
        said = replace(said, scheduler_message=message)  # the scheduler never got as far as this answer
    if not condition or not fitting:
        return said
    now = WouldFitNow(
        nodes=(fitting[0].name,),
        devices=tuple(f"{a.driver}/{a.pool}/{a.device}" for a in fitting[0].allocation),
        pod_claim=next((c.name for c in case.judgement.claims if c.name), None),
        since=text_at(condition, "lastTransitionTime"),
    )
    return Said(
        "blocked",
        f"would fit now on {fitting[0].name}; the scheduler has not tried again",
        (now,),
        message or None,
        said.notes,
    )


# -- what may not be read --

_GLOSS = (
    '"cannot allocate all claims" means that on these nodes too few devices match the claims of the pod, or too few of '
    "those are free"
)


def stated(case: Case, said: Said) -> Said:
    """The answer about a pod whose devices were not compared, after what the pod itself shows."""
    other = _without_pod(case, said) or _of_other_scheduler(case, said)
    binding = None if case.judgement.stopped or other is not None else pods.awaited(case)
    if binding is not None:
        return Said("blocked", case.say(binding), (binding,), said.scheduler_message, said.notes)
    return other or said


def unseen(case: Case, blind: tuple[Blind, ...]) -> Said:
    """The answer where devices cannot be compared: what the scheduler says, and why nothing can be added to it."""
    message = text_at(pods.condition_of(case.question.value), "message")
    behind = tuple(not_tried(case))
    cause = NotReadable(missing=tuple(sentences(blind)), quote=message.partition(". ")[0].rstrip("."))
    gloss = (_GLOSS,) if "cannot allocate all claims" in cause.quote else ()
    notes = (*gloss, *siblings(case), *pods.unchecked_volumes(case), *map(case.say, behind))
    return Said("undecided", _open(case, cause), (cause,), message or None, notes, (), behind)


def doubted(case: Case, found: Sequence[NodeFindings], said: Said, blind: tuple[Blind, ...]) -> Said:
    """The answer with what it lacks: what fits may not fit for what may not be read, never the other way round."""
    if not blind:
        return said
    missing = tuple(sentences(blind))
    placeless = case.state.rights.hidden("Node") and any(not item.spec.node_name for item in case.judge.slices)
    promising = said.fits or (bool(said.causes) and isinstance(said.causes[0], WouldFitNow))
    if not promising and not (placeless and said.verdict == "unallocatable"):
        return replace(said, notes=(*said.notes, *missing))
    message = text_at(pods.condition_of(case.question.value), "message")
    nodes = tuple(node.name for node in found if node.verdict == "allocatable") if promising else ()
    cause = NotReadable(missing=missing, quote=message.partition(". ")[0].rstrip("."), nodes=nodes, fitting=bool(nodes))
    causes = (cause, *(said.causes if not promising else ()))
    headline = _open(case, cause)
    return replace(said, verdict="undecided", headline=headline, causes=causes, scheduler_message=message or None)


def _open(case: Case, cause: NotReadable) -> str:
    """The headline of an answer that is left open."""
    said = case.say(cause)
    return said if cause.quote or cause.fitting else f"cannot be decided: {said}"


def _held_back(case: Case, fitting: Sequence[NodeFindings], foreign: Sequence[tuple[int | None, str]]) -> Said | None:
    """A pod that fits, where plugins that are not checked here may object to every node that it fits on."""
    total = sum(n.count for n in fitting)
    if not foreign or not fitting or sum(total if count is None else count for count, _ in foreign) < total:
        return None
    quotes = tuple(of_nodes(*part) for part in foreign)
    plugin = "VolumeBinding" if any("volume" in quote.lower() for quote in quotes) else None
    volumes = tuple(pods.volumes_of(case)) if plugin is not None else ()
    nodes = tuple(n.name for n in fitting)
    cause = Unchecked(plugin=plugin, quotes=quotes, fitting=total, nodes=nodes, volumes=volumes)
    where = fitting[0].name + (f" and {total - 1} more" if total > 1 else "")
    headline = f"would fit on {where}, but for something that is not checked here: {'; '.join(quotes)}"
    return Said("blocked", headline, (cause,))


def _other_release(case: Case, condition: str) -> str | None:
    """The release that wrote a condition, if it is another one and refuses the pod as it is now."""
    older = "still not schedulable, preemption" in condition or "no new claims to deallocate" in condition
    writer = "1.36" if older else "1.37" if "preemption:" in condition else None
    if writer is None or (case.judge.features.has("preemption-after-claims") == (writer == "1.37")):
        return None
    judge = Scheduler(case.state, Features.for_release(writer))
    return None if judge.pod(case.question.value).fits else writer


# -- claims --


def unused(question: Question, claim: PodClaim, said: Said) -> Said:
    """That no pod uses a claim which exists: pending is its normal state then."""
    if question.kind != "ResourceClaim" or not text_at(question.value, "metadata", "uid"):
        return said
    after = "; it would fit" if said.fits else ", and it would not fit"
    causes = (NoConsumer(claim=claim.full_name), *said.causes)
    return replace(said, verdict="blocked", headline=f"no pod uses it{after}", causes=causes)


def focused(case: Case, said: Said, claim: str) -> Said:
    """A pod's answer refocused on one of its claims: that claim's causes come first."""

    def of(cause: Cause) -> str | None:
        return cause.about[0].claim if cause.about else getattr(cause, "claim", None)

    own = [c for c in said.causes if of(c) == claim]
    others = [c for c in said.causes if of(c) not in (None, claim)]
    if said.fits or not others or of(said.causes[0]) in (None, claim):
        return said
    if not own:
        return replace(said, headline=f"the pod waits for its other claim {of(others[0])}, and {said.headline}")
    rest = [c for c in said.causes if of(c) != claim]
    headline = f"the pod {said.headline}; of this claim: {case.say(own[0], brief=True)}"
    return replace(said, headline=headline, causes=(*own, *rest))
