"""Concludes the verdict and the headline for a subject that waits, from its causes and from facts
outside DRA.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import Exhausted, Features
from dractl.cluster.coverage import command_for
from dractl.cluster.workloads import idle_state
from dractl.explain import after_scheduling
from dractl.explain.answer import FITS, Verdict
from dractl.explain.context import Case
from dractl.explain.diagnosis import pods, schedulers
from dractl.explain.diagnosis.cross_object import find_pod_not_tried, note_replicas_with_devices
from dractl.explain.diagnosis.nodes import NodeFindings, blocks_every_node
from dractl.explain.diagnosis.previews import find_doubts
from dractl.explain.rank import Diagnosis, dominates, nodes_excluded_by_pod
from dractl.explain.reasons.base import Cause, HeldByOthers, Progress
from dractl.explain.reasons.cross_object import EvictionLoop, NotReadable
from dractl.explain.reasons.devices import DeviceInUse, Tainted
from dractl.explain.reasons.drivers import DeviceContradiction
from dractl.explain.reasons.gangs import GangTooSmall, PodGroupMissing
from dractl.explain.reasons.headline import Headline, HeadlineCause
from dractl.explain.reasons.nodes import NodeFilter, PinnedNode, Unchecked
from dractl.explain.reasons.phrases import Scope
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
from dractl.model.abbreviation import abbreviate
from dractl.model.releases import CHANGES, RELEASES
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.condition import ConditionPart, find_unchecked_parts
from dractl.scheduler.preemption import victims_being_preempted
from dractl.scheduler.verdict import Attempt

NEVER = "never here, even on an idle node"
"""The beginning of a headline whose cause would remain with no device held."""
_NAME_HOLDERS = (EvictionLoop, HoldersEnded, HoldersTerminating, OldReplicas, OwnReplicas)


class Conclusion(Struct, frozen=True):
    """The verdict on a subject, its headline, its causes in order, and notes."""

    verdict: Verdict
    headline: Headline
    causes: tuple[Cause, ...] = ()
    scheduler_message: str | None = None
    notes: tuple[str, ...] = ()
    ranked: tuple[Cause, ...] = ()
    """The causes of the attempt itself."""
    behind: tuple[Cause, ...] = ()
    """The causes that span several objects, if the subject fits; otherwise they are in
    ``causes``.
    """

    @property
    def fits(self) -> bool:
        """True if the subject can be, or is, allocated."""
        return self.verdict in FITS

    @property
    def blames_holders(self) -> bool:
        """True if the first cause is that devices are in use. The obstacles then show whether
        another cause would remain.
        """
        return bool(self.causes) and isinstance(self.causes[0], HeldByOthers)


def conclude_from_cause(
    verdict: Verdict, cause: Cause, message: str | None = None, notes: tuple[str, ...] = ()
) -> Conclusion:
    """Return a conclusion that has one cause, which is the headline as well."""
    return Conclusion(verdict, Headline(causes=(HeadlineCause(cause),)), (cause,), message, notes)


def conclude(diagnosis: Diagnosis) -> Conclusion:
    """Return the conclusion from a diagnosis: first from the attempt, then from everything else
    that is known, step by step.
    """
    first = (
        conclude_attempt(diagnosis)
        if diagnosis.attempted.decided
        else _conclude_from_message(diagnosis)
    )
    return reduce(lambda conclusion, step: step(diagnosis, conclusion), _steps(diagnosis), first)


def _steps(diagnosis: Diagnosis) -> Sequence[Callable[[Diagnosis, Conclusion], Conclusion]]:
    """Return the steps after the attempt.

    The step about missing permissions is the last one if devices can be compared, otherwise the
    step about the pod itself. A claim has no steps if its attempt decides nothing.
    """
    if diagnosis.of_claim:
        steps = (_apply_doubt, _apply_preview_doubts, _apply_no_consumer, _apply_permissions)
        return steps if diagnosis.attempted.decided else ()
    if diagnosis.attempted.compares:
        return (
            _apply_doubt,
            _apply_preview_doubts,
            _name_underlying_cause,
            _apply_pod,
            _put_claim_first,
            _apply_permissions,
        )
    if diagnosis.attempted.decided:
        return (_name_underlying_cause, _apply_permissions, _apply_pod_alone)
    return (_apply_pod_alone,)


def put_lasting_first(conclusion: Conclusion, lasting: Sequence[Cause]) -> Conclusion:
    """Put causes that remain even with all devices free before the cause that devices are in use.

    ``lasting`` are the causes that remain. To free devices first would end other pods for nothing.
    """
    if not lasting or not conclusion.blames_holders:
        return conclusion
    deciding = conclusion.causes[0]
    clauses = [HeadlineCause(lasting[0], ": ")]
    if not deciding.is_same_elsewhere(lasting[0]):
        clauses.append(HeadlineCause(deciding, "; right now also ", brief=True, names_holders=True))
    headline = Headline(NEVER, tuple(clauses))
    others = (cause for cause in conclusion.causes if not cause.is_same_elsewhere(lasting[0]))
    return replace(conclusion, headline=headline, causes=(lasting[0], *others))


# -- the attempt --


def conclude_attempt(diagnosis: Diagnosis) -> Conclusion:
    """Return the conclusion from the attempt alone."""
    attempt, ranked = diagnosis.case.attempt, diagnosis.ranked
    notes = tuple(_search_notes(diagnosis.case))
    return Conclusion(
        _verdict(attempt), _headline(diagnosis), ranked, attempt.message, notes, ranked
    )


def _verdict(attempt: Attempt) -> Verdict:
    if attempt.stops:
        return "blocked"
    if attempt.fits:
        return "allocatable"
    if attempt.fatal_node is not None or attempt.pre_bind_failure is not None:
        return "error"
    if any(isinstance(n.allocator_verdict, Exhausted) for n in attempt.nodes if n.passes_filters):
        return "undecided"
    return "blocked" if all(n.rejection is not None for n in attempt.nodes) else "unallocatable"


def _headline(diagnosis: Diagnosis) -> Headline:
    case, findings, ranked = diagnosis.case, diagnosis.found, diagnosis.ranked
    attempt = case.attempt
    if attempt.stops:
        return Headline(causes=(HeadlineCause(ranked[0]),))
    if attempt.fits:
        return Headline(f"fits on {abbreviate([n.name for n in attempt.nodes if n.fits])}")
    total = len(attempt.nodes)
    names_node = bool(ranked) and total > 1 and _names_one_node(ranked[0], findings, total)
    clauses: tuple[HeadlineCause, ...] = ()
    if ranked:
        scope = Scope.ONE if names_node or total == 1 else Scope.ALL
        cause = _cause_on_named_node(ranked[0], findings) if names_node else ranked[0]
        # These causes name the holders, which the headline then leaves out.
        holders_named = any(isinstance(other, _NAME_HOLDERS) for other in diagnosis.behind)
        clauses = (
            HeadlineCause(cause, ": ", scope, brief=True, names_holders=not holders_named),
            *_alternatives(ranked, Scope.ALL if total > 1 else Scope.ONE),
            *_obstacles_besides(ranked[0], findings),
        )
    if attempt.fatal_node is not None:
        return Headline("the scheduler's attempt ends in an error", clauses)
    if attempt.pre_bind_failure is not None:
        return Headline("a node fits, and then the scheduler fails", clauses)
    if total == 1:
        return Headline(
            f"does not fit on {attempt.nodes[0].name if diagnosis.one_node else 'the only node'}",
            clauses,
        )
    nearest = ""
    if names_node:
        node, number = ranked[0].nodes[0], len(ranked[0].nodes)
        is_majority = dominates(ranked[0], total - len(nodes_excluded_by_pod(case)))
        nearest = f": {number} are like {node}" if is_majority else f": nearest is {node}"
    return Headline(f"does not fit on any of the {total} nodes{nearest}", clauses)


def _cause_on_named_node(cause: Cause, findings: Sequence[NodeFindings]) -> Cause:
    """Return the cause for the node that the headline names, if a filter or devices in use rule the
    node out.

    The numbers and pods of other nodes are left out.
    """
    if not isinstance(cause, NodeFilter | DeviceInUse):
        return cause
    node = next((node for node in findings if node.name == cause.nodes[0]), None)
    equal_causes = (
        (other for other in node.causes if other.key == cause.key) if node is not None else ()
    )
    return next(iter(equal_causes), cause)


def _names_one_node(cause: Cause, findings: Sequence[NodeFindings], total: int) -> bool:
    """Return True if the cause holds on some nodes only, or has the numbers of one node only. The
    headline then names that node.
    """
    if (
        not cause.nodes
        or cause.progress >= Progress.STOPPED
        or isinstance(cause, Mixed | PinnedNode)
    ):
        return False
    if isinstance(cause, SelectorFalse) and not cause.have:
        return False
    if isinstance(cause, NodeFilter | Tainted):
        return len(cause.nodes) < total
    if isinstance(cause, DeviceInUse) and not cause.free:
        return not blocks_every_node(cause, findings)
    return any(
        not any(cause.is_same_elsewhere(other) for other in node.causes) for node in findings
    )


def _alternatives(ranked: Sequence[Cause], scope: Scope) -> Iterator[HeadlineCause]:
    """Yield why the other alternatives of the first cause's request do not fit."""
    refs = ranked[0].refs
    if len(refs) != 1 or refs[0].alternative is None:
        return
    causes: dict[str, Cause] = {}
    for cause in ranked[1:]:
        ref = cause.refs[0] if len(cause.refs) == 1 else None
        if (
            ref is not None
            and ref.request == refs[0].request
            and ref.alternative not in (None, refs[0].alternative)
        ):
            causes.setdefault(str(ref.alternative), cause)
    for cause in list(causes.values())[:2]:
        yield HeadlineCause(cause, "; and ", scope, brief=True)


def _obstacles_besides(cause: Cause, findings: Sequence[NodeFindings]) -> Iterator[HeadlineCause]:
    """Yield the first problem of another request on the same node, since it would remain after a
    fix of one request alone.

    For a pod that is pinned to the node of its claim, yield the causes on that node.
    """
    if isinstance(cause, PinnedNode):
        pinned_node = next(
            (node for node in findings if node.name in cause.places and node.causes), None
        )
        refusals: dict[tuple[object, ...], Cause] = {}
        for other in pinned_node.causes if pinned_node is not None else ():
            refusals.setdefault(other.key, other)  # NodeAffinity refuses in PreFilter and in Filter
        for number, other in enumerate(list(refusals.values())[:2]):
            yield HeadlineCause(other, "; " if number else "; that node refuses it: ", brief=True)
        return
    if not cause.refs or not cause.nodes or cause.progress >= Progress.STOPPED:
        return
    requests = {ref.request for ref in cause.refs}
    node = next((n for n in findings if n.name == cause.nodes[0]), None)
    for other in node.causes if node is not None else ():
        if (
            len(other.refs) == 1
            and other.progress < Progress.STOPPED
            and other.refs[0].request not in requests
        ):
            yield HeadlineCause(other, "; and ", brief=True)
            return


def _search_notes(case: Case) -> Iterator[str]:
    if case.attempt.stops:
        return
    for n in case.attempt.nodes:
        if n.victims and not victims_being_preempted(case.state, case.pod):
            yield (
                f"on {n.name} the scheduler ends pods of lower priority first:"
                f" {', '.join(n.victims[:3])}"
            )
    if not case.state.lists("Node") and not case.state.rights.unreadable("Node"):
        yield (
            "the input has no Node objects; node names come from the ResourceSlices and node"
            " filters were not checked"
        )
    elif not case.state.lists_all_nodes and not case.state.rights.unreadable("Node"):
        yield (
            "the input probably lacks Node objects; names of further nodes come from the"
            " ResourceSlices and node filters were not checked for them; add"
            f" `{command_for(['Node'])}`"
        )
    outcomes = [n.allocator_verdict for n in case.attempt.nodes if n.allocator_verdict is not None]
    if any(o.nears_timeout for o in outcomes):
        yield "this search is close to the scheduler's limit of 10 seconds per node"
    if any(o.unordered for o in outcomes):
        release = case.scheduler.features.release
        yield f"Kubernetes {release} searches pools in random order, so it may pick other devices"


# -- facts outside DRA --


def _name_underlying_cause(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Put the underlying cause first: one that spans several objects, or that lies in a driver or a
    workload.
    """
    underlying = diagnosis.behind
    if not underlying or (diagnosis.group.causes and conclusion.fits):
        return conclusion
    if conclusion.fits and isinstance(underlying[0], EvictionLoop):
        return conclude_from_cause(
            "blocked", underlying[0], conclusion.scheduler_message, conclusion.notes
        )
    headline = conclusion.headline
    if conclusion.fits:
        headline = replace(
            headline, causes=(*headline.causes, HeadlineCause(underlying[0], ", but "))
        )
        notes = (*conclusion.notes, *map(diagnosis.case.say, underlying))
        return replace(conclusion, headline=headline, notes=notes, behind=underlying)
    root_cause = next((cause for cause in underlying if _begins_headline(cause)), None)
    return replace(
        conclusion,
        headline=replace(headline, root_cause=root_cause),
        causes=(*conclusion.causes[:1], *underlying, *conclusion.causes[1:]),
    )


def _begins_headline(underlying: Cause) -> bool:
    """Return True if a cause may begin the headline. A value that a driver has misread may do so
    only if it decides whether the subject fits.
    """
    return not isinstance(underlying, DeviceContradiction) or underlying.decides


def _apply_pod(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Apply the facts that the pod itself shows: another scheduler, binding conditions, its group,
    an outdated condition.
    """
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
    special = (
        _conclude_deletion(case, conclusion)
        or _conclude_refusal(case, conclusion)
        or _conclude_idle_workload(case, conclusion)
    )
    if special is not None:
        return special
    bug = pods.find_upstream_bug(case)
    if bug is not None:
        conclusion = replace(
            conclusion,
            headline=Headline(causes=(HeadlineCause(bug),)),
            causes=(bug, *conclusion.causes),
        )
    return (
        _conclude_other_scheduler(case, conclusion)
        or (_conclude_binding(case, conclusion) if conclusion.fits else None)
        or _conclude_gang(diagnosis, conclusion)
        or _apply_condition(diagnosis, conclusion)
    )


def _apply_pod_alone(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Apply the facts that the pod itself shows, when its devices could not be compared."""
    case = diagnosis.case
    conclusion = replace(conclusion, notes=(*conclusion.notes, *_scheduler_notes(case)))
    other = _conclude_refusal(case, conclusion) or _conclude_other_scheduler(case, conclusion)
    if other is None and not case.attempt.stops:
        other = _conclude_binding(case, conclusion)
    return other or conclusion


def _scheduler_notes(case: Case) -> tuple[str, ...]:
    """Return the facts about another scheduler that the pod names, and what that scheduler says."""
    scheduler = schedulers.find_scheduler(case)
    return () if scheduler is None else tuple(schedulers.notes_of(case, scheduler))


def _conclude_deletion(case: Case, conclusion: Conclusion) -> Conclusion | None:
    """Return the conclusion for a pod that is being deleted; None for others."""
    subject = case.question.view
    if not subject.deletion_timestamp:
        return None
    cause = PodDeleting(
        pod="/".join(case.question.key),
        since=subject.deletion_timestamp,
        finalizers=subject.finalizers,
    )
    return conclude_from_cause("blocked", cause, conclusion.scheduler_message, conclusion.notes)


def _conclude_refusal(case: Case, conclusion: Conclusion) -> Conclusion | None:
    """Return the conclusion for a pod that the API server refuses to create; None for others."""
    refusal = pods.find_pod_refusal(case)
    if refusal is None:
        return None
    headline = Headline("there is no pod", (HeadlineCause(refusal, ": "),))
    causes = (refusal, *conclusion.causes)
    return replace(
        conclusion,
        verdict="blocked",
        headline=headline,
        causes=causes,
        scheduler_message=None,
        behind=(),
    )


def _conclude_idle_workload(case: Case, conclusion: Conclusion) -> Conclusion | None:
    """Return the conclusion for a workload that wants no pods now; None for other subjects."""
    question = case.question
    idle_workload = idle_state(case.state, question.kind, question.key)
    if idle_workload is None:
        return None
    return replace(
        conclusion,
        headline=replace(conclusion.headline, prefix=f"{idle_workload.why}. If it created one: "),
    )


def _conclude_other_scheduler(case: Case, conclusion: Conclusion) -> Conclusion | None:
    """Return the conclusion for a pod of another scheduler; None for pods of a kube-scheduler of
    any name.

    kube-scheduler's view of the pod follows in the headline.
    """
    scheduler = schedulers.find_scheduler(case)
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
        fitting = [node.name for node in case.attempt.nodes if node.fits]
        place = ("one of " if len(fitting) > 1 else "") + abbreviate(fitting)
        headline = Headline(f"{cause.lead}; kube-scheduler would place it on {place}")
    else:
        headline = replace(conclusion.headline, prefix=f"{cause.lead}. kube-scheduler's view: ")
    return replace(
        conclusion,
        verdict=_verdict_of_other(cause, conclusion.verdict),
        headline=headline,
        causes=(cause, *conclusion.causes),
        scheduler_message=case.attempt.message if case.attempt.stops else None,
        behind=(),
    )


def _verdict_of_other(cause: RunningScheduler | UnseenScheduler, verdict: Verdict) -> Verdict:
    """Return the verdict on a pod of another scheduler; ``verdict`` is kube-scheduler's.

    The verdict is undecided if kube-scheduler would place the pod and the other scheduler reports
    nothing.
    """
    if isinstance(cause, UnseenScheduler) or cause.refusal:
        return "blocked"
    if verdict not in FITS and verdict != "undecided":
        return verdict
    return "blocked" if cause.words else "undecided"


def _conclude_binding(case: Case, conclusion: Conclusion) -> Conclusion | None:
    """Return the conclusion for a pod that waits for binding conditions; None for others."""
    pending = pods.find_pending_binding(case)
    if pending is None:
        return None
    return conclude_from_cause("blocked", pending, conclusion.scheduler_message, conclusion.notes)


def _conclude_gang(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion | None:
    """Return the conclusion for a pod that waits for its gang; None for others."""
    case, group = diagnosis.case, diagnosis.group
    if not group.causes or not (conclusion.fits or isinstance(group.causes[0], PodGroupMissing)):
        return None
    gang_cause = group.causes[0]
    is_too_small = (
        isinstance(gang_cause, GangTooSmall)
        and group.case is not None
        and _verdict(group.case.attempt) == "unallocatable"
    )
    conclusion_for_gang = conclude_from_cause(
        "unallocatable" if is_too_small else "blocked",
        gang_cause,
        _condition_message(case),
        conclusion.notes,
    )
    return replace(
        conclusion_for_gang,
        causes=group.causes if conclusion.fits else (gang_cause, *conclusion.causes),
    )


def _condition_message(case: Case) -> str | None:
    condition = pods.unschedulable_condition(case.question.pod)
    return condition.message or None if condition is not None else None


def _apply_condition(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Apply what the pod's condition says beyond the attempt."""
    case = diagnosis.case
    conclusion = replace(conclusion, notes=(*conclusion.notes, *pods.note_unchecked_volumes(case)))
    message = _condition_message(case)
    fitting = [n for n in diagnosis.found if n.verdict == "allocatable"] if conclusion.fits else []
    consuming_device = pods.device_that_takes_resources(
        case, (device for node in fitting for device in node.allocation)
    )
    volumes = case.scheduler.volumes_of(case.pod).are_known
    unchecked_parts = find_unchecked_parts(
        message or "", volumes=volumes, amounts=not consuming_device
    )
    if consuming_device:
        note = (
            f"device {consuming_device} takes resources of the node (nodeAllocatableResources),"
            " which are not counted here"
        )
        conclusion = replace(conclusion, notes=(*conclusion.notes, note))
    if conclusion.fits and message:
        writer = _release_of_condition(case, message)
        if writer is not None:
            note = (
                f"the pod's condition was written by Kubernetes {writer} or a similar"
                " release, which does not place this pod"
            )
            return replace(conclusion, notes=(*conclusion.notes, note))
        refusal = _conclude_unchecked(case, fitting, unchecked_parts)
        if refusal is not None:
            return replace(refusal, scheduler_message=message, notes=conclusion.notes)
        missing = pods.find_missing_input(case, message)
        if missing:
            cause = InputIncomplete(
                message=message.partition(" preemption:")[0].rstrip("."), absent=missing
            )
            return conclude_from_cause("blocked", cause, message, conclusion.notes)
    quotes = (
        f"the pod's condition names a cause that is not checked here: {part}"
        for part in unchecked_parts
    )
    conclusion = replace(conclusion, notes=(*conclusion.notes, *quotes))
    if any(part.nodes is None for part in unchecked_parts):
        # The scheduler stopped before it came to the verdict that dractl reports.
        conclusion = replace(conclusion, scheduler_message=message)
    return _conclude_outdated_condition(case, fitting[0], conclusion) if fitting else conclusion


def _conclude_outdated_condition(
    case: Case, fitting: NodeFindings, conclusion: Conclusion
) -> Conclusion:
    """Return the conclusion for a pod that fits now although its condition says otherwise.

    Other conclusions are returned unchanged.
    """
    condition = pods.unschedulable_condition(case.question.pod)
    if condition is None:
        return conclusion
    since = condition.last_transition
    victims = victims_being_preempted(case.state, case.pod)
    nominated = case.question.pod.nominated_node_name
    unbound = (
        tuple(name for name, phase in pods.volumes_of(case) if phase == "Pending")
        if nominated
        else ()
    )
    if victims or unbound:
        cause = WouldFitNow(nodes=(nominated,), since=since, leaving=victims, unbound=unbound)
        return conclude_from_cause("blocked", cause, _condition_message(case), conclusion.notes)
    cause_now = WouldFitNow(
        nodes=(fitting.name,),
        devices=tuple(f"{a.driver}/{a.pool}/{a.device}" for a in fitting.allocation),
        pod_claim=next((c.name for c in case.attempt.claims if c.name), None),
        since=since,
    )
    headline = Headline(f"would fit now on {fitting.name}; the scheduler has not tried again")
    return Conclusion("blocked", headline, (cause_now,), _condition_message(case), conclusion.notes)


def _conclude_unchecked(
    case: Case, fitting: Sequence[NodeFindings], parts: Sequence[ConditionPart]
) -> Conclusion | None:
    """Return the conclusion for a pod that fits, although a plugin that dractl does not simulate
    may refuse each node.
    """
    total = sum(n.count for n in fitting)
    if (
        not parts
        or not fitting
        or sum(total if part.nodes is None else part.nodes for part in parts) < total
    ):
        return None
    quotes = tuple(map(str, parts))
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
    nodes_text = fitting[0].name + (f" and {total - 1} more" if total > 1 else "")
    lead = f"the scheduler says: {'; '.join(quotes)}; without that it would fit on {nodes_text}"
    return Conclusion("blocked", Headline(lead), (cause,))


def _release_of_condition(case: Case, condition: str) -> str | None:
    """Return the release that wrote a condition, if that release refuses the pod as it is now and
    is not the assumed one.
    """
    is_older = (
        "still not schedulable, preemption" in condition
        or "no new claims to deallocate" in condition
    )
    since = CHANGES["preemption-after-claims"].since
    writer = since if "preemption:" in condition else None
    if is_older:
        writer = RELEASES[RELEASES.index(since) - 1]
    if writer is None or (
        case.scheduler.features.has("preemption-after-claims") == (writer == since)
    ):
        return None
    scheduler = Scheduler(case.state, Features.for_release(writer))
    return None if scheduler.attempt_pod(case.question.value).fits else writer


# -- values that are unknown of a machine, and names that are unknown in a preview --


def _apply_doubt(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Leave a verdict undecided if it depends on values of described machines that no source
    shows.
    """
    doubt = diagnosis.attempted.doubt
    if doubt is None:
        return conclusion
    headline = Headline("cannot be decided", (HeadlineCause(doubt, ": "),))
    return replace(
        conclusion,
        verdict="undecided",
        headline=headline,
        causes=(doubt,),
        scheduler_message=None,
        ranked=(),
    )


def _apply_preview_doubts(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Leave a verdict undecided if it depends on a name that is unknown in a preview.

    Nothing is concluded from such a name.
    """
    if conclusion.verdict == "blocked":
        return conclusion
    doubts = tuple(find_doubts(diagnosis.case))
    if not doubts:
        return conclusion
    cause = NotKnownOfPreview(names=doubts)
    headline = Headline("cannot be decided", (HeadlineCause(cause, ": "),))
    return replace(conclusion, verdict="undecided", headline=headline, causes=(cause,))


# -- unreadable resources --

_EXPLANATION_OF_MESSAGE = (
    '"cannot allocate all claims" means that on these nodes too few devices match the claims of the'
    " pod, or too few of those are free"
)


def _conclude_from_message(diagnosis: Diagnosis) -> Conclusion:
    """Return the conclusion where devices cannot be compared: the scheduler's message, and the
    missing objects.
    """
    case = diagnosis.case
    underlying = tuple(find_pod_not_tried(case))
    cause = _cause_of_unreadable(diagnosis)
    explanation = (_EXPLANATION_OF_MESSAGE,) if "cannot allocate all claims" in cause.quote else ()
    notes = (
        *explanation,
        *note_replicas_with_devices(case),
        *pods.note_unchecked_volumes(case),
        *map(case.say, underlying),
    )
    return Conclusion(
        "undecided",
        _headline_if_undecided(cause),
        (cause,),
        _condition_message(case),
        notes,
        (),
        underlying,
    )


def _apply_permissions(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Apply the unread resources: an object in them may keep a subject from fitting, but never make
    it fit.
    """
    permissions, case = diagnosis.attempted.blind, diagnosis.case
    if not permissions.parts:
        return conclusion
    has_shared_slices = case.state.rights.unreadable("Node") and any(
        not item.spec.node_name for item in case.scheduler.slices
    )
    may_fit = conclusion.fits or (
        bool(conclusion.causes) and isinstance(conclusion.causes[0], WouldFitNow)
    )
    if not may_fit and not (has_shared_slices and conclusion.verdict == "unallocatable"):
        return replace(conclusion, notes=(*conclusion.notes, *permissions.sentences))
    nodes = (
        tuple(node.name for node in diagnosis.found if node.verdict == "allocatable")
        if may_fit
        else ()
    )
    cause = _cause_of_unreadable(diagnosis, nodes)
    causes = (cause, *(conclusion.causes if not may_fit else ()))
    message = _condition_message(case)
    return replace(
        conclusion,
        verdict="undecided",
        headline=_headline_if_undecided(cause),
        causes=causes,
        scheduler_message=message,
    )


def _cause_of_unreadable(diagnosis: Diagnosis, nodes: tuple[str, ...] = ()) -> NotReadable:
    """Return the unreadable resources as a cause, with the scheduler's message. ``nodes`` are the
    nodes on which the subject fits, as far as the objects can be read.
    """
    quote = (_condition_message(diagnosis.case) or "").partition(". ")[0].rstrip(".")
    missing = diagnosis.attempted.blind.sentences
    return NotReadable(missing=missing, quote=quote, nodes=nodes, fitting=bool(nodes))


def _headline_if_undecided(cause: NotReadable) -> Headline:
    """Return the headline of an undecided answer."""
    if cause.quote or cause.fitting:
        return Headline(causes=(HeadlineCause(cause),))
    return Headline("cannot be decided", (HeadlineCause(cause, ": "),))


# -- claims --


def _apply_no_consumer(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Apply the fact that no pod uses a claim: such a claim stays pending."""
    conclusion = replace(conclusion, scheduler_message=None)
    question = diagnosis.case.question
    if question.kind != "ResourceClaim" or not question.view.uid:
        return conclusion
    if not diagnosis.case.state.shows("Pod", question.key[0]):
        return conclusion
    headline = Headline(
        "no pod uses it; it would fit"
        if conclusion.fits
        else "no pod uses it, and it would not fit"
    )
    causes = (NoConsumer(claim="/".join(question.key)), *conclusion.causes)
    return replace(conclusion, verdict="blocked", headline=headline, causes=causes)


def _put_claim_first(diagnosis: Diagnosis, conclusion: Conclusion) -> Conclusion:
    """Put the causes of the claim that the user asked about first, if the answer is about its
    pod.
    """
    subject = diagnosis.attempted.subject
    if subject.kind == diagnosis.case.question.kind or conclusion.fits:
        return conclusion
    claim = f"{subject.namespace}/{subject.name}"
    claim_causes = [c for c in conclusion.causes if _claim_of(c) == claim]
    other_causes = [c for c in conclusion.causes if _claim_of(c) not in (None, claim)]
    if not other_causes or _claim_of(conclusion.causes[0]) in (None, claim):
        return conclusion
    headline = conclusion.headline
    if not claim_causes:
        lead = f"the pod waits for its other claim {_claim_of(other_causes[0])}, and "
        return replace(conclusion, headline=replace(headline, prefix=lead))
    remaining = [c for c in conclusion.causes if _claim_of(c) != claim]
    headline = replace(
        headline,
        prefix="the pod ",
        causes=(*headline.causes, HeadlineCause(claim_causes[0], "; of this claim: ", brief=True)),
    )
    return replace(conclusion, headline=headline, causes=(*claim_causes, *remaining))


def _claim_of(cause: Cause) -> str | None:
    """Return the claim that a cause is about."""
    claim: str | None = cause.refs[0].claim if cause.refs else cause.facts().get("claim")
    return claim
