"""Verdict and headline of a subject that waits: from its causes, and from what lies outside DRA."""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Exhausted, Features
from dractl.cluster.state import list_at, map_at, text_at
from dractl.cluster.workloads import idle
from dractl.explain import after_scheduling
from dractl.explain.answer import FITS, Verdict
from dractl.explain.context import Case
from dractl.explain.diagnosis import pods, schedulers
from dractl.explain.diagnosis.cross_object import find_pod_not_tried, note_replicas_with_devices
from dractl.explain.diagnosis.nodes import NodeFindings, blocks_every_node
from dractl.explain.diagnosis.previews import find_doubts
from dractl.explain.rank import Diagnosis, dominates, nodes_excluded_by_pod
from dractl.explain.reasons.base import STOPPED, Cause
from dractl.explain.reasons.between import EvictionLoop, NotReadable
from dractl.explain.reasons.devices import DeviceInUse, Tainted
from dractl.explain.reasons.gangs import GangTooSmall, PodGroupMissing
from dractl.explain.reasons.headline import Headline, Told
from dractl.explain.reasons.nodes import NodeFilter, PinnedNode, Unchecked
from dractl.explain.reasons.phrases import Scope, first
from dractl.explain.reasons.previews import NotKnownOfPreview
from dractl.explain.reasons.schedulers import RunningScheduler, UnseenScheduler
from dractl.explain.reasons.scheduling import (
    InputIncomplete,
    Mixed,
    NoConsumer,
    PodDeleting,
    WouldFitNow,
)
from dractl.explain.reasons.selectors import SelectorFalse
from dractl.explain.reasons.workloads import (
    HoldersEnded,
    HoldersTerminating,
    OldReplicas,
    OwnReplicas,
)
from dractl.model.releases import CHANGES, RELEASES
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.condition import of_nodes, unchecked
from dractl.scheduler.preemption import preempted
from dractl.scheduler.verdict import Attempt

_NAME_HOLDERS = (EvictionLoop, HoldersEnded, HoldersTerminating, OldReplicas, OwnReplicas)


class Conclusion(Struct, frozen=True):
    """Verdict, headline, causes in order, and notes. ``ranked`` are the causes of the attempt itself, ``behind`` those
    that span several objects although the subject fits."""

    verdict: Verdict
    headline: Headline
    causes: tuple[Cause, ...] = ()
    scheduler_message: str | None = None
    notes: tuple[str, ...] = ()
    ranked: tuple[Cause, ...] = ()
    behind: tuple[Cause, ...] = ()

    @property
    def fits(self) -> bool:
        """True if the subject can be, or is, allocated."""
        return self.verdict in FITS


def of_cause(
    verdict: Verdict, cause: Cause, message: str | None = None, notes: tuple[str, ...] = ()
) -> Conclusion:
    """Conclusion from one cause, which is its headline as well."""
    return Conclusion(verdict, Headline(told=(Told(cause),)), (cause,), message, notes)


def conclude(diagnosis: Diagnosis) -> Conclusion:
    """Conclusion from a diagnosis: what the attempt says, and then what else is known, one step after the other."""
    first = of_attempt(diagnosis) if diagnosis.attempted.decided else _of_message(diagnosis)
    return reduce(lambda conclusion, step: step(diagnosis, conclusion), _steps(diagnosis), first)


def _steps(diagnosis: Diagnosis) -> Sequence[Callable[[Diagnosis, Conclusion], Conclusion]]:
    """The steps after the attempt. What may not be read comes last, unless no devices can be compared: then the pod
    itself has the last word."""
    if diagnosis.of_claim:
        return (_doubt, _unused_claim, _unread) if diagnosis.attempted.decided else ()
    if diagnosis.attempted.compares:
        return (_doubt, _underlying, _pod, _claim_first, _unread)
    return (_underlying, _unread, _pod_alone) if diagnosis.attempted.decided else (_pod_alone,)


# -- the attempt --


def of_attempt(diagnosis: Diagnosis) -> Conclusion:
    attempt, ranked = diagnosis.case.attempt, diagnosis.ranked
    notes = tuple(_search_notes(diagnosis.case))
    return Conclusion(
        _verdict(attempt), _headline(diagnosis), ranked, attempt.message, notes, ranked
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


def _headline(diagnosis: Diagnosis) -> Headline:
    case, found, ranked = diagnosis.case, diagnosis.found, diagnosis.ranked
    attempt = case.attempt
    if attempt.stopped:
        return Headline(told=(Told(ranked[0]),))
    if attempt.fits:
        return Headline(f"fits on {first([n.name for n in attempt.nodes if n.fits])}")
    total = len(attempt.nodes)
    near = bool(ranked) and total > 1 and _of_one_node(ranked[0], found, total)
    why: tuple[Told, ...] = ()
    if ranked:
        scope = Scope.ONE if near or total == 1 else Scope.ALL
        cause = _own(ranked[0], found) if near else ranked[0]
        named = any(
            isinstance(other, _NAME_HOLDERS) for other in diagnosis.behind
        )  # they say who holds the devices
        why = (
            Told(cause, ": ", scope, brief=True, whose=not named),
            *_alternatives(ranked, Scope.ALL if total > 1 else Scope.ONE),
            *_besides(ranked[0], found),
        )
    if attempt.fatal is not None:
        return Headline("the scheduler's attempt ends in an error", why)
    if attempt.late is not None:
        return Headline("a node fits, and then the scheduler fails", why)
    if total == 1:
        return Headline(
            f"does not fit on {attempt.nodes[0].name if diagnosis.one_node else 'the only node'}",
            why,
        )
    which = ""
    if near:
        node, alike = ranked[0].nodes[0], len(ranked[0].nodes)
        many = dominates(ranked[0], total - len(nodes_excluded_by_pod(case)))
        which = f": {alike} are like {node}" if many else f": nearest is {node}"
    return Headline(f"fits on none of {total} nodes{which}", why)


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
        return not blocks_every_node(cause, found)
    return any(not any(cause.same_as(other) for other in node.causes) for node in found)


def _alternatives(ranked: Sequence[Cause], scope: Scope) -> Iterator[Told]:
    """What keeps the other alternatives of the request that the first cause is about."""
    refs = ranked[0].about
    if len(refs) != 1 or refs[0].alternative is None:
        return
    others: dict[str, Cause] = {}
    for cause in ranked[1:]:
        ref = cause.about[0] if len(cause.about) == 1 else None
        if (
            ref is not None
            and ref.request == refs[0].request
            and ref.alternative not in (None, refs[0].alternative)
        ):
            others.setdefault(str(ref.alternative), cause)
    for cause in list(others.values())[:2]:
        yield Told(cause, "; and ", scope, brief=True)


def _besides(cause: Cause, found: Sequence[NodeFindings]) -> Iterator[Told]:
    """Another request's first problem on the same node, as fixing one request alone would not help; what keeps the pod
    from the node where its claim is allocated."""
    if isinstance(cause, PinnedNode):
        there = next((node for node in found if node.name in cause.places and node.causes), None)
        for number, other in enumerate(there.causes[:2] if there is not None else ()):
            yield Told(other, "; " if number else "; that node refuses it: ", brief=True)
        return
    if not cause.about or not cause.nodes or cause.reach >= STOPPED:
        return
    own = {ref.request for ref in cause.about}
    node = next((n for n in found if n.name == cause.nodes[0]), None)
    for other in node.causes if node is not None else ():
        if len(other.about) == 1 and other.reach < STOPPED and other.about[0].request not in own:
            yield Told(other, "; and ", brief=True)
            return


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


def _underlying(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Conclusion that names the underlying cause first: one of several objects, a driver or a workload."""
    behind = diagnosis.behind
    if not behind or (diagnosis.group.causes and conclusion.fits):
        return conclusion
    if conclusion.fits and isinstance(behind[0], EvictionLoop):
        return of_cause("blocked", behind[0], conclusion.scheduler_message, conclusion.notes)
    headline = conclusion.headline
    if conclusion.fits:
        headline = replace(headline, told=(*headline.told, Told(behind[0], ", but ")))
        notes = (*conclusion.notes, *map(diagnosis.case.say, behind))
        return replace(conclusion, headline=headline, notes=notes, behind=behind)
    headline = replace(headline, underlying=behind[0])
    return replace(
        conclusion,
        headline=headline,
        causes=(*conclusion.causes[:1], *behind, *conclusion.causes[1:]),
    )


def _pod(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Conclusion with what the pod itself shows: another scheduler, binding conditions, the group that it waits for, an
    outdated condition."""
    case = diagnosis.case
    notes = (
        *conclusion.notes,
        *pods.note_lower_priority_holders(case, conclusion.causes),
        *pods.note_stuck_holders(case, conclusion.causes),
        *pods.note_largest_request(case, conclusion.causes),
        *pods.note_orphaned_slices(case),
        *pods.note_missing_node_features(case),
        *pods.note_rival_classes(case),
        *after_scheduling.find_unlisted_claims(case.question.value, case.attempt.claims).sentences,
        *diagnosis.group.notes,
        *_scheduler_notes(case),
    )
    conclusion = replace(conclusion, notes=notes)
    without = (
        _leaving(case, conclusion) or _not_created(case, conclusion) or _resting(case, conclusion)
    )
    if without is not None:
        return without
    bug = pods.find_upstream_bug(case)
    if bug is not None:
        conclusion = replace(
            conclusion, headline=Headline(told=(Told(bug),)), causes=(bug, *conclusion.causes)
        )
    return (
        _of_other_scheduler(case, conclusion)
        or (_binding(case, conclusion) if conclusion.fits else None)
        or _of_group(diagnosis, conclusion)
        or _conditioned(diagnosis, conclusion)
    )


def _pod_alone(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Conclusion for a pod whose devices were not compared, with what the pod itself shows."""
    case = diagnosis.case
    conclusion = replace(conclusion, notes=(*conclusion.notes, *_scheduler_notes(case)))
    other = _not_created(case, conclusion) or _of_other_scheduler(case, conclusion)
    if other is None and not case.attempt.stopped:
        other = _binding(case, conclusion)
    return other or conclusion


def _scheduler_notes(case: Case) -> tuple[str, ...]:
    """What is known of another scheduler of the pod, and its own words."""
    scheduler = schedulers.other_scheduler(case)
    return () if scheduler is None else tuple(schedulers.notes_of(case, scheduler))


def _leaving(case: Case, conclusion: Conclusion) -> Conclusion | None:
    """Conclusion for a pod that is being deleted; None for others."""
    metadata = map_at(case.question.value, "metadata")
    since = text_at(metadata, "deletionTimestamp")
    if not since:
        return None
    finalizers = tuple(str(name) for name in list_at(metadata, "finalizers"))
    cause = PodDeleting(pod="/".join(case.question.key), since=since, finalizers=finalizers)
    return of_cause("blocked", cause, conclusion.scheduler_message, conclusion.notes)


def _not_created(case: Case, conclusion: Conclusion) -> Conclusion | None:
    refused = pods.find_pod_refusal(case)
    if refused is None:
        return None
    headline = Headline("there is no pod", (Told(refused, ": "),))
    causes = (refused, *conclusion.causes)
    return replace(
        conclusion,
        verdict="blocked",
        headline=headline,
        causes=causes,
        scheduler_message=None,
        behind=(),
    )


def _resting(case: Case, conclusion: Conclusion) -> Conclusion | None:
    """Conclusion for a workload that wants no pods now; None for others."""
    asked = case.question
    resting = idle(asked.kind, asked.key, case.state.get(asked.kind, asked.key))
    if resting is None:
        return None
    return replace(
        conclusion,
        headline=replace(conclusion.headline, before=f"{resting.why}. If it created one: "),
    )


def _of_other_scheduler(case: Case, conclusion: Conclusion) -> Conclusion | None:
    """Conclusion for a pod of another scheduler, which kube-scheduler's view of it follows; None
    for pods of a kube-scheduler, whatever its name."""
    scheduler = schedulers.other_scheduler(case)
    if scheduler is None or scheduler.is_kube_scheduler:
        return None
    cause = schedulers.cause_of(case, scheduler)
    assert isinstance(cause, RunningScheduler | UnseenScheduler)
    if (
        isinstance(cause, UnseenScheduler)
        and not cause.title
        and (cause.nearest or not conclusion.fits)
    ):
        headline = Headline(cause.lead)
    elif conclusion.fits:
        nodes = first([node.name for node in case.attempt.nodes if node.fits])
        headline = Headline(f"{cause.lead}; kube-scheduler would place it on {nodes}")
    else:
        headline = replace(conclusion.headline, before=f"{cause.lead}. For kube-scheduler: ")
    return replace(
        conclusion,
        verdict=_verdict_of_other(cause, conclusion.verdict),
        headline=headline,
        causes=(cause, *conclusion.causes),
        scheduler_message=case.attempt.message if case.attempt.stopped else None,
        behind=(),
    )


def _verdict_of_other(cause: RunningScheduler | UnseenScheduler, verdict: Verdict) -> Verdict:
    """Verdict on a pod of another scheduler, of which kube-scheduler's is ``verdict``: where that
    places the pod and the other is silent, nothing is decided."""
    if isinstance(cause, UnseenScheduler) or cause.refusal:
        return "blocked"
    if verdict not in FITS and verdict != "undecided":
        return verdict
    return "blocked" if cause.words else "undecided"


def _binding(case: Case, conclusion: Conclusion) -> Conclusion | None:
    """Conclusion for a pod that waits for binding conditions; None for others."""
    awaited = pods.find_pending_binding(case)
    if awaited is None:
        return None
    return of_cause("blocked", awaited, conclusion.scheduler_message, conclusion.notes)


def _of_group(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion | None:
    case, group = diagnosis.case, diagnosis.group
    if not group.causes or not (conclusion.fits or isinstance(group.causes[0], PodGroupMissing)):
        return None
    own = group.causes[0]
    lacks = (
        isinstance(own, GangTooSmall)
        and group.case is not None
        and _verdict(group.case.attempt) == "unallocatable"
    )
    whole = of_cause("unallocatable" if lacks else "blocked", own, _message(case), conclusion.notes)
    return replace(whole, causes=group.causes if conclusion.fits else (own, *conclusion.causes))


def _message(case: Case) -> str | None:
    return text_at(pods.scheduling_condition(case.question.value), "message") or None


def _conditioned(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Conclusion with what the pod's condition says beyond the attempt."""
    case = diagnosis.case
    conclusion = replace(conclusion, notes=(*conclusion.notes, *pods.note_unchecked_volumes(case)))
    message = _message(case)
    fitting = [n for n in diagnosis.found if n.verdict == "allocatable"] if conclusion.fits else []
    taking = pods.device_that_takes_resources(
        case, (given for node in fitting for given in node.allocation)
    )
    volumes = case.scheduler.volumes(case.pod).known
    foreign = unchecked(message or "", volumes=volumes, amounts=not taking)
    if taking:
        note = f"device {taking} takes resources of the node (nodeAllocatableResources), which are not counted here"
        conclusion = replace(conclusion, notes=(*conclusion.notes, note))
    if conclusion.fits and message:
        other = _other_release(case, message)
        if other is not None:
            note = f"the pod's condition was written by Kubernetes {other} or near it, which does not place this pod"
            return replace(conclusion, notes=(*conclusion.notes, note))
        held_back = _held_back(case, fitting, foreign)
        if held_back is not None:
            return replace(held_back, scheduler_message=message, notes=conclusion.notes)
        lacking = pods.find_missing_input(case, message)
        if lacking:
            cause = InputIncomplete(
                said_by=message.partition(" preemption:")[0].rstrip("."), absent=lacking
            )
            return of_cause("blocked", cause, message, conclusion.notes)
    elsewhere = (
        f"the pod's condition says, of what is not checked here: {of_nodes(*part)}"
        for part in foreign
    )
    conclusion = replace(conclusion, notes=(*conclusion.notes, *elsewhere))
    if any(count is None for count, _ in foreign):
        conclusion = replace(
            conclusion, scheduler_message=message
        )  # the scheduler stopped before this verdict
    return _outdated(case, fitting[0], conclusion) if fitting else conclusion


def _outdated(case: Case, fitting: NodeFindings, conclusion: Conclusion) -> Conclusion:
    """Conclusion for a pod that fits now and has a condition that says otherwise; the same for others."""
    condition = pods.scheduling_condition(case.question.value)
    if not condition:
        return conclusion
    since = text_at(condition, "lastTransitionTime")
    leaving = preempted(case.state, case.question.value)
    nominated = text_at(case.question.value, "status", "nominatedNodeName")
    unbound = (
        tuple(name for name, phase in pods.volumes_of(case) if phase == "Pending")
        if nominated
        else ()
    )
    if leaving or unbound:
        waits = WouldFitNow(nodes=(nominated,), since=since, leaving=leaving, unbound=unbound)
        return of_cause("blocked", waits, _message(case), conclusion.notes)
    now = WouldFitNow(
        nodes=(fitting.name,),
        devices=tuple(f"{a.driver}/{a.pool}/{a.device}" for a in fitting.allocation),
        pod_claim=next((c.name for c in case.attempt.claims if c.name), None),
        since=since,
    )
    headline = Headline(f"would fit now on {fitting.name}; the scheduler has not tried again")
    return Conclusion("blocked", headline, (now,), _message(case), conclusion.notes)


def _held_back(
    case: Case, fitting: Sequence[NodeFindings], foreign: Sequence[tuple[int | None, str]]
) -> Conclusion | None:
    """Conclusion for a pod that fits, if plugins that are not checked here may refuse each of its nodes."""
    total = sum(n.count for n in fitting)
    if (
        not foreign
        or not fitting
        or sum(total if count is None else count for count, _ in foreign) < total
    ):
        return None
    quotes = tuple(of_nodes(*part) for part in foreign)
    plugin = "VolumeBinding" if any("volume" in quote.lower() for quote in quotes) else None
    volumes = tuple(pods.volumes_of(case)) if plugin is not None else ()
    nodes = tuple(n.name for n in fitting)
    users, used = pods.volume_users(case, nodes, quotes) if plugin is not None else ((), 0)
    cause = Unchecked(
        plugin=plugin,
        quotes=quotes,
        fitting=total,
        nodes=nodes,
        volumes=volumes,
        users=users,
        used=used,
    )
    where = fitting[0].name + (f" and {total - 1} more" if total > 1 else "")
    lead = f"the scheduler says: {'; '.join(quotes)}; without that it would fit on {where}"
    return Conclusion("blocked", Headline(lead), (cause,))


def _other_release(case: Case, condition: str) -> str | None:
    """Release that wrote a condition, if it is not the assumed one and refuses the pod as it is now."""
    older = (
        "still not schedulable, preemption" in condition
        or "no new claims to deallocate" in condition
    )
    since = CHANGES["preemption-after-claims"].since
    writer = (
        RELEASES[RELEASES.index(since) - 1]
        if older
        else since
        if "preemption:" in condition
        else None
    )
    if writer is None or (
        case.scheduler.features.has("preemption-after-claims") == (writer == since)
    ):
        return None
    scheduler = Scheduler(case.state, Features.for_release(writer))
    return None if scheduler.pod(case.question.value).fits else writer


# -- what is not known of a preview --


def _doubt(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Leave undecided what a name decides that is not known of a preview; nothing is built on such a name."""
    if conclusion.verdict == "blocked":
        return conclusion
    doubts = tuple(find_doubts(diagnosis.case))
    if not doubts:
        return conclusion
    cause = NotKnownOfPreview(names=doubts)
    headline = Headline("cannot be decided", (Told(cause, ": "),))
    return replace(conclusion, verdict="undecided", headline=headline, causes=(cause,))


# -- what may not be read --

_GLOSS = (
    '"cannot allocate all claims" means that on these nodes too few devices match the claims of the pod, or too few of '
    "those are free"
)


def _of_message(diagnosis: Diagnosis) -> Conclusion:
    """Conclusion where devices cannot be compared: the scheduler's message, and why nothing can be added to it."""
    case = diagnosis.case
    behind = tuple(find_pod_not_tried(case))
    cause = _not_readable(diagnosis)
    gloss = (_GLOSS,) if "cannot allocate all claims" in cause.quote else ()
    notes = (
        *gloss,
        *note_replicas_with_devices(case),
        *pods.note_unchecked_volumes(case),
        *map(case.say, behind),
    )
    return Conclusion("undecided", _open(cause), (cause,), _message(case), notes, (), behind)


def _unread(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Conclusion with what could not be read, which may keep a subject from fitting but never makes one fit."""
    blind, case = diagnosis.attempted.blind, diagnosis.case
    if not blind.parts:
        return conclusion
    placeless = case.state.rights.hidden("Node") and any(
        not item.spec.node_name for item in case.scheduler.slices
    )
    promising = conclusion.fits or (
        bool(conclusion.causes) and isinstance(conclusion.causes[0], WouldFitNow)
    )
    if not promising and not (placeless and conclusion.verdict == "unallocatable"):
        return replace(conclusion, notes=(*conclusion.notes, *blind.sentences))
    nodes = (
        tuple(node.name for node in diagnosis.found if node.verdict == "allocatable")
        if promising
        else ()
    )
    cause = _not_readable(diagnosis, nodes)
    causes = (cause, *(conclusion.causes if not promising else ()))
    message = _message(case)
    return replace(
        conclusion,
        verdict="undecided",
        headline=_open(cause),
        causes=causes,
        scheduler_message=message,
    )


def _not_readable(diagnosis: Diagnosis, nodes: tuple[str, ...] = ()) -> NotReadable:
    """What may not be read, and the scheduler's own message; ``nodes`` fit, judging by what may be."""
    quote = (_message(diagnosis.case) or "").partition(". ")[0].rstrip(".")
    missing = diagnosis.attempted.blind.sentences
    return NotReadable(missing=missing, quote=quote, nodes=nodes, fitting=bool(nodes))


def _open(cause: NotReadable) -> Headline:
    """Headline of an undecided answer."""
    if cause.quote or cause.fitting:
        return Headline(told=(Told(cause),))
    return Headline("cannot be decided", (Told(cause, ": "),))


# -- claims --


def _unused_claim(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Conclusion for a claim that no pod uses: pending is its normal state."""
    conclusion = replace(conclusion, scheduler_message=None)
    question = diagnosis.case.question
    if question.kind != "ResourceClaim" or not text_at(question.value, "metadata", "uid"):
        return conclusion
    if not diagnosis.case.state.rights.sees("Pod", question.key[0]):
        return conclusion
    headline = Headline(
        "no pod uses it; it would fit"
        if conclusion.fits
        else "no pod uses it, and it would not fit"
    )
    causes = (NoConsumer(claim="/".join(question.key)), *conclusion.causes)
    return replace(conclusion, verdict="blocked", headline=headline, causes=causes)


def _claim_first(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Conclusion about a pod; where one of its claims was asked about, with the causes of that claim first."""
    subject = diagnosis.attempted.subject
    if subject.kind == diagnosis.case.question.kind or conclusion.fits:
        return conclusion
    claim = f"{subject.namespace}/{subject.name}"

    def of(cause: Cause) -> str | None:
        return cause.about[0].claim if cause.about else getattr(cause, "claim", None)

    own = [c for c in conclusion.causes if of(c) == claim]
    others = [c for c in conclusion.causes if of(c) not in (None, claim)]
    if not others or of(conclusion.causes[0]) in (None, claim):
        return conclusion
    headline = conclusion.headline
    if not own:
        waits = f"the pod waits for its other claim {of(others[0])}, and "
        return replace(conclusion, headline=replace(headline, before=waits))
    rest = [c for c in conclusion.causes if of(c) != claim]
    headline = replace(
        headline,
        before="the pod ",
        told=(*headline.told, Told(own[0], "; of this claim: ", brief=True)),
    )
    return replace(conclusion, headline=headline, causes=(*own, *rest))
