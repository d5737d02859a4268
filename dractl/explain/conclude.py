"""Verdict and headline of a subject, from ranked causes and from what lies outside DRA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Exhausted, Features
from dractl.cluster.idle import idle
from dractl.cluster.pods import DEFAULT_SCHEDULER, scheduler_name
from dractl.cluster.state import text_at
from dractl.explain import placed
from dractl.explain.answer import FITS
from dractl.explain.diagnose import pods
from dractl.explain.diagnose.between import not_tried, siblings
from dractl.explain.diagnose.nodes import everywhere
from dractl.explain.rank import dominates
from dractl.explain.unread import sentences
from dractl.model.nearest import nearest
from dractl.reasons.base import STOPPED
from dractl.reasons.between import EvictionLoop, NotReadable
from dractl.reasons.devices import DeviceInUse, Tainted
from dractl.reasons.gangs import GangTooSmall, PodGroupMissing
from dractl.reasons.nodes import NodeFilter, PinnedNode, Unchecked
from dractl.reasons.phrases import Scope, first
from dractl.reasons.scheduling import Mixed, NoConsumer, OtherScheduler, WouldFitNow
from dractl.reasons.selectors import SelectorFalse
from dractl.reasons.workloads import HoldersEnded, HoldersTerminating, OldReplicas, OwnReplicas
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.preemption import preempted
from dractl.scheduler.wording import of_nodes, unchecked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dractl.explain.answer import Verdict
    from dractl.explain.ask import Question
    from dractl.explain.case import Case
    from dractl.explain.diagnose.gangs import Group
    from dractl.explain.diagnose.nodes import NodeFindings
    from dractl.explain.unread import Blind
    from dractl.reasons.base import Cause
    from dractl.scheduler.claims import PodClaim
    from dractl.scheduler.verdict import Attempt

    Raw = Mapping[str, Any]

_NAME_HOLDERS = (EvictionLoop, HoldersEnded, HoldersTerminating, OldReplicas, OwnReplicas)


class Conclusion(Struct, frozen=True):
    """Verdict, headline, causes in order, and notes. ``ranked`` are the causes of the attempt itself, ``behind`` those
    that span several objects although the subject fits."""

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


def of_attempt(
    case: Case,
    found: Sequence[NodeFindings],
    ranked: tuple[Cause, ...],
    *,
    one_node: bool,
    behind: Sequence[Cause] = (),
) -> Conclusion:
    """Conclusion from the scheduling attempt alone. ``one_node``: a single node was asked about; ``behind``: causes
    that span objects, which may say already who holds the devices."""
    attempt = case.attempt
    said = any(isinstance(cause, _NAME_HOLDERS) for cause in behind)
    return Conclusion(
        _verdict(attempt),
        _headline(case, found, ranked, one_node=one_node, holders=not said),
        ranked,
        attempt.message,
        tuple(_search_notes(case)),
        ranked,
    )


def _verdict(attempt: Attempt) -> Verdict:
    if attempt.stopped:
        return "blocked"
    if attempt.fits:
        return "allocatable"
    if attempt.fatal is not None or attempt.late is not None:
        return "error"
    if any(isinstance(n.outcome, Exhausted) for n in attempt.nodes if n.asked):
        return "undecided"
    return "blocked" if all(n.rejection is not None for n in attempt.nodes) else "unallocatable"


def _headline(
    case: Case, found: Sequence[NodeFindings], ranked: Sequence[Cause], *, one_node: bool, holders: bool
) -> str:
    attempt = case.attempt
    if attempt.stopped:
        return case.say(ranked[0])
    if attempt.fits:
        return f"fits on {first([n.name for n in attempt.nodes if n.fits])}"
    total = len(attempt.nodes)
    near = bool(ranked) and total > 1 and _of_one_node(ranked[0], found, total)
    scope = Scope.ONE if near or total == 1 else Scope.ALL
    told = _own(ranked[0], found) if near else ranked[0] if ranked else None
    why = ""
    if told is not None:
        why = case.say(told, scope, brief=True) + (told.whose if holders else "")
        why += _alternatives(case, ranked) + _besides(case, ranked[0], found)
    if attempt.fatal is not None:
        return f"the scheduler's attempt ends in an error: {why}"
    if attempt.late is not None:
        return f"a node fits, and then the scheduler fails: {why}"
    if total == 1:
        return f"does not fit on {attempt.nodes[0].name if one_node else 'the only node'}: {why}"
    if near:
        node, alike = ranked[0].nodes[0], len(ranked[0].nodes)
        why = f"{alike} are like {node}: {why}" if dominates(ranked[0], total) else f"nearest is {node}: {why}"
    return f"fits on none of {total} nodes: {why}"


def _own(cause: Cause, found: Sequence[NodeFindings]) -> Cause:
    """What a filter, or devices in use, have against the node that a headline names, without the numbers and pods of
    other nodes."""
    if not isinstance(cause, NodeFilter | DeviceInUse):
        return cause
    node = next((node for node in found if node.name == cause.nodes[0]), None)
    same = (own for own in node.causes if own.key == cause.key) if node is not None else ()
    return next(iter(same), cause)


def _of_one_node(cause: Cause, found: Sequence[NodeFindings], total: int) -> bool:
    """True if the cause holds for only some nodes or has the numbers of one; the headline then names that node."""
    if not cause.nodes or cause.reach >= STOPPED or isinstance(cause, Mixed | PinnedNode):
        return False
    if isinstance(cause, SelectorFalse) and not cause.have:
        return False
    if isinstance(cause, NodeFilter | Tainted):
        return len(cause.nodes) < total
    if isinstance(cause, DeviceInUse) and not cause.free:
        return not everywhere(cause, found)
    return any(not any(cause.same_as(other) for other in node.causes) for node in found)


def _alternatives(case: Case, ranked: Sequence[Cause]) -> str:
    """What keeps the other alternatives of the request that the first cause is about."""
    refs = ranked[0].about
    if len(refs) != 1 or refs[0].alternative is None:
        return ""
    others: dict[str, str] = {}
    for cause in ranked[1:]:
        ref = cause.about[0] if len(cause.about) == 1 else None
        if ref is not None and ref.request == refs[0].request and ref.alternative not in (None, refs[0].alternative):
            scope = Scope.ALL if len(case.attempt.nodes) > 1 else Scope.ONE
            others.setdefault(str(ref.alternative), case.say(cause, scope, brief=True))
    return "".join(f"; and {text}" for text in list(others.values())[:2])


def _besides(case: Case, cause: Cause, found: Sequence[NodeFindings]) -> str:
    """Another request's first problem on the same node, as fixing one request alone would not help; what keeps the pod
    from the node where its claim is allocated."""
    if isinstance(cause, PinnedNode):
        there = next((node for node in found if node.name in cause.places and node.causes), None)
        against = [case.say(c, brief=True) for c in there.causes[:2]] if there is not None else []
        return f"; that node refuses it: {'; '.join(against)}" if against else ""
    if not cause.about or not cause.nodes or cause.reach >= STOPPED:
        return ""
    own = {ref.request for ref in cause.about}
    node = next((n for n in found if n.name == cause.nodes[0]), None)
    for other in node.causes if node is not None else ():
        if len(other.about) == 1 and other.reach < STOPPED and other.about[0].request not in own:
            return f"; and {case.say(other, brief=True)}"
    return ""


def _search_notes(case: Case) -> Iterator[str]:
    if case.attempt.stopped:
        return
    for n in case.attempt.nodes:
        if n.victims and not preempted(case.state, case.question.value):
            yield f"on {n.name} the scheduler ends pods of lower priority first: {', '.join(n.victims[:3])}"
    if not case.state.has("Node") and not case.state.rights.hidden("Node"):
        yield (
            "the input has no Node objects; node names come from the ResourceSlices and node filters were not checked"
        )
    outcomes = [n.outcome for n in case.attempt.nodes if n.outcome is not None]
    if any(o.nears_timeout for o in outcomes):
        yield "this search is close to the scheduler's limit of 10 seconds per node"
    if any(o.unordered for o in outcomes):
        release = case.scheduler.features.release
        yield f"Kubernetes {release} searches pools in random order, so it may pick other devices"


# -- what lies outside DRA --


def with_underlying(case: Case, conclusion: Conclusion, behind: tuple[Cause, ...]) -> Conclusion:
    """Conclusion that names the underlying cause first: one of several objects, a driver or a workload."""
    if not behind:
        return conclusion
    sentence = case.say(behind[0])
    headline = (
        f"{conclusion.headline}, but {sentence}"
        if conclusion.fits
        else f"{sentence} {conclusion.headline[:1].upper()}{conclusion.headline[1:]}"
        if sentence.endswith("?")
        else f"{sentence}; {conclusion.headline}"
    )
    if conclusion.fits:
        return replace(conclusion, headline=headline, notes=(*conclusion.notes, *map(case.say, behind)), behind=behind)
    return replace(conclusion, headline=headline, causes=(*conclusion.causes[:1], *behind, *conclusion.causes[1:]))


def with_pod(case: Case, found: Sequence[NodeFindings], conclusion: Conclusion, group: Group) -> Conclusion:
    """Conclusion with what the pod itself shows: another scheduler, binding conditions, the group that it waits for, an
    outdated condition."""
    pod = case.question.value
    notes = [
        *conclusion.notes,
        *pods.outranked(case, conclusion.causes),
        *pods.undeclared_features(case),
        *placed.unused(pod, case.attempt.claims),
        *group.notes,
    ]
    conclusion = replace(conclusion, notes=tuple(notes))
    refused = _without_pod(case, conclusion)
    if refused is not None:
        return refused
    asked = case.question
    resting = idle(asked.kind, asked.key, case.state.get(asked.kind, asked.key))
    if resting is not None:
        return replace(conclusion, headline=f"{resting.why}. If it created one: {conclusion.headline}")
    bug = pods.known_bug(case)
    if bug is not None:
        conclusion = replace(conclusion, headline=case.say(bug), causes=(bug, *conclusion.causes))
    foreign = _of_other_scheduler(case, conclusion)
    if foreign is not None:
        return foreign
    binding = pods.awaited(case) if conclusion.fits else None
    if binding is not None:
        return Conclusion("blocked", case.say(binding), (binding,), conclusion.scheduler_message, tuple(notes))
    if group.causes and (conclusion.fits or isinstance(group.causes[0], PodGroupMissing)):
        return _with_group(case, group, conclusion)
    return _conditioned(case, found, replace(conclusion, notes=(*notes, *pods.unchecked_volumes(case))))


def _with_group(case: Case, group: Group, conclusion: Conclusion) -> Conclusion:
    """Conclusion for a pod that waits for its group."""
    own = group.causes[0]
    lacks = isinstance(own, GangTooSmall) and group.case is not None and _verdict(group.case.attempt) == "unallocatable"
    message = text_at(pods.condition_of(case.question.value), "message") or None
    causes = group.causes if conclusion.fits else (own, *conclusion.causes)
    return Conclusion("unallocatable" if lacks else "blocked", case.say(own), causes, message, conclusion.notes)


def _without_pod(case: Case, conclusion: Conclusion) -> Conclusion | None:
    """Conclusion for a pod that its workload cannot create; None for others."""
    refused = pods.not_created(case)
    if refused is None:
        return None
    headline = f"there is no pod: {case.say(refused)}"
    return Conclusion("blocked", headline, (refused, *conclusion.causes), None, conclusion.notes, conclusion.ranked)


def _of_other_scheduler(case: Case, conclusion: Conclusion) -> Conclusion | None:
    """Conclusion for a pod that names another scheduler; None for others."""
    scheduler = scheduler_name(case.question.value)
    if scheduler == DEFAULT_SCHEDULER:
        return None
    meant = f"; did you mean {DEFAULT_SCHEDULER}?" if nearest(scheduler, [DEFAULT_SCHEDULER]) else ""
    return Conclusion(
        "blocked",
        f"kube-scheduler ignores the pod: its spec.schedulerName is {scheduler}{meant}",
        (OtherScheduler(plugin=scheduler, schedulers=(scheduler,)), *conclusion.causes),
        case.attempt.message if case.attempt.stopped else None,
        conclusion.notes,
        conclusion.ranked,
    )


def _conditioned(case: Case, found: Sequence[NodeFindings], conclusion: Conclusion) -> Conclusion:
    """Conclusion with what the pod's condition says beyond the attempt."""
    condition = pods.condition_of(case.question.value)
    message = text_at(condition, "message")
    foreign = unchecked(message, volumes=case.scheduler.volumes(case.question.value).known)
    fitting = [n for n in found if n.verdict == "allocatable"] if conclusion.fits else []
    if conclusion.fits and message:
        other = _other_release(case, message)
        if other is not None:
            note = f"the pod's condition was written by Kubernetes {other} or near it, which does not place this pod"
            return replace(conclusion, notes=(*conclusion.notes, note))
        held_back = _held_back(case, fitting, foreign)
        if held_back is not None:
            return replace(held_back, scheduler_message=message, notes=conclusion.notes)
    elsewhere = (f"the pod's condition says, of what is not checked here: {of_nodes(*part)}" for part in foreign)
    conclusion = replace(conclusion, notes=(*conclusion.notes, *elsewhere))
    if any(count is None for count, _ in foreign):
        conclusion = replace(conclusion, scheduler_message=message)  # the scheduler stopped before this verdict
    if not condition or not fitting:
        return conclusion
    leaving = preempted(case.state, case.question.value)
    if leaving:
        nominated = text_at(case.question.value, "status", "nominatedNodeName")
        waits = WouldFitNow(nodes=(nominated,), since=text_at(condition, "lastTransitionTime"), leaving=leaving)
        return Conclusion("blocked", case.say(waits), (waits,), message or None, conclusion.notes)
    now = WouldFitNow(
        nodes=(fitting[0].name,),
        devices=tuple(f"{a.driver}/{a.pool}/{a.device}" for a in fitting[0].allocation),
        pod_claim=next((c.name for c in case.attempt.claims if c.name), None),
        since=text_at(condition, "lastTransitionTime"),
    )
    return Conclusion(
        "blocked",
        f"would fit now on {fitting[0].name}; the scheduler has not tried again",
        (now,),
        message or None,
        conclusion.notes,
    )


# -- what may not be read --

_GLOSS = (
    '"cannot allocate all claims" means that on these nodes too few devices match the claims of the pod, or too few of '
    "those are free"
)


def of_pod_alone(case: Case, conclusion: Conclusion) -> Conclusion:
    """Conclusion for a pod whose devices were not compared, with what the pod itself shows."""
    other = _without_pod(case, conclusion) or _of_other_scheduler(case, conclusion)
    binding = None if case.attempt.stopped or other is not None else pods.awaited(case)
    if binding is not None:
        return Conclusion("blocked", case.say(binding), (binding,), conclusion.scheduler_message, conclusion.notes)
    return other or conclusion


def of_message(case: Case, blind: tuple[Blind, ...]) -> Conclusion:
    """Conclusion where devices cannot be compared: the scheduler's message, and why nothing can be added to it."""
    message = text_at(pods.condition_of(case.question.value), "message")
    behind = tuple(not_tried(case))
    cause = NotReadable(missing=tuple(sentences(blind)), quote=message.partition(". ")[0].rstrip("."))
    gloss = (_GLOSS,) if "cannot allocate all claims" in cause.quote else ()
    notes = (*gloss, *siblings(case), *pods.unchecked_volumes(case), *map(case.say, behind))
    return Conclusion("undecided", _open(case, cause), (cause,), message or None, notes, (), behind)


def with_unread(
    case: Case, found: Sequence[NodeFindings], conclusion: Conclusion, blind: tuple[Blind, ...]
) -> Conclusion:
    """Conclusion with what could not be read, which may keep a subject from fitting but never makes one fit."""
    if not blind:
        return conclusion
    missing = tuple(sentences(blind))
    placeless = case.state.rights.hidden("Node") and any(not item.spec.node_name for item in case.scheduler.slices)
    promising = conclusion.fits or (bool(conclusion.causes) and isinstance(conclusion.causes[0], WouldFitNow))
    if not promising and not (placeless and conclusion.verdict == "unallocatable"):
        return replace(conclusion, notes=(*conclusion.notes, *missing))
    message = text_at(pods.condition_of(case.question.value), "message")
    nodes = tuple(node.name for node in found if node.verdict == "allocatable") if promising else ()
    cause = NotReadable(missing=missing, quote=message.partition(". ")[0].rstrip("."), nodes=nodes, fitting=bool(nodes))
    causes = (cause, *(conclusion.causes if not promising else ()))
    headline = _open(case, cause)
    return replace(conclusion, verdict="undecided", headline=headline, causes=causes, scheduler_message=message or None)


def _open(case: Case, cause: NotReadable) -> str:
    """Headline of an undecided answer."""
    message = case.say(cause)
    return message if cause.quote or cause.fitting else f"cannot be decided: {message}"


def _held_back(
    case: Case, fitting: Sequence[NodeFindings], foreign: Sequence[tuple[int | None, str]]
) -> Conclusion | None:
    """Conclusion for a pod that fits, if plugins that are not checked here may refuse each of its nodes."""
    total = sum(n.count for n in fitting)
    if not foreign or not fitting or sum(total if count is None else count for count, _ in foreign) < total:
        return None
    quotes = tuple(of_nodes(*part) for part in foreign)
    plugin = "VolumeBinding" if any("volume" in quote.lower() for quote in quotes) else None
    volumes = tuple(pods.volumes_of(case)) if plugin is not None else ()
    nodes = tuple(n.name for n in fitting)
    cause = Unchecked(plugin=plugin, quotes=quotes, fitting=total, nodes=nodes, volumes=volumes)
    where = fitting[0].name + (f" and {total - 1} more" if total > 1 else "")
    headline = f"the scheduler says: {'; '.join(quotes)}; without that it would fit on {where}"
    return Conclusion("blocked", headline, (cause,))


def _other_release(case: Case, condition: str) -> str | None:
    """Release that wrote a condition, if it is not the assumed one and refuses the pod as it is now."""
    older = "still not schedulable, preemption" in condition or "no new claims to deallocate" in condition
    writer = "1.36" if older else "1.37" if "preemption:" in condition else None
    if writer is None or (case.scheduler.features.has("preemption-after-claims") == (writer == "1.37")):
        return None
    scheduler = Scheduler(case.state, Features.for_release(writer))
    return None if scheduler.pod(case.question.value).fits else writer


# -- claims --


def of_unused_claim(question: Question, claim: PodClaim, conclusion: Conclusion) -> Conclusion:
    """Conclusion for a claim that no pod uses: pending is its normal state."""
    if question.kind != "ResourceClaim" or not text_at(question.value, "metadata", "uid"):
        return conclusion
    after = "; it would fit" if conclusion.fits else ", and it would not fit"
    causes = (NoConsumer(claim=claim.full_name), *conclusion.causes)
    return replace(conclusion, verdict="blocked", headline=f"no pod uses it{after}", causes=causes)


def about_claim(case: Case, conclusion: Conclusion, claim: str) -> Conclusion:
    """Conclusion about a pod with the causes of one of its claims first."""

    def of(cause: Cause) -> str | None:
        return cause.about[0].claim if cause.about else getattr(cause, "claim", None)

    own = [c for c in conclusion.causes if of(c) == claim]
    others = [c for c in conclusion.causes if of(c) not in (None, claim)]
    if conclusion.fits or not others or of(conclusion.causes[0]) in (None, claim):
        return conclusion
    if not own:
        return replace(
            conclusion, headline=f"the pod waits for its other claim {of(others[0])}, and {conclusion.headline}"
        )
    rest = [c for c in conclusion.causes if of(c) != claim]
    headline = f"the pod {conclusion.headline}; of this claim: {case.say(own[0], brief=True)}"
    return replace(conclusion, headline=headline, causes=(*own, *rest))
