"""The inquiry about a subject that waits: the attempt to place it, and the unreadable resources."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.state import ClusterState
from dractl.explain.answer import Subject
from dractl.explain.ask import CLAIMS, Question, claim_question, pods_using
from dractl.explain.diagnosis.nodes import allocation_of
from dractl.explain.diagnosis.pods import failure_text
from dractl.explain.permissions import (
    MissingPermissions,
    compares_devices,
    find_missing_permissions,
    select_confirmed_stops,
)
from dractl.explain.reasons.machines import NotKnownOfMachine
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.binding import deallocate, find_binding_failure
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.pre_enqueue import ClaimNotCreated, PreEnqueueResult, pre_enqueue
from dractl.scheduler.stops import Stop
from dractl.scheduler.verdict import Attempt
from dractl.views import Pod


class Inquiry(Struct, frozen=True):
    """A question to a cluster. A question about a claim is turned into one about the pod that waits
    for it.
    """

    question: Question
    subject: Subject
    """The subject that the user asked about."""
    claim: PodClaim | None = None
    """The claim, or the claim that a template would make."""
    entry: PreEnqueueResult | None = None
    """The result of PreEnqueue for a pod; None if an attempt gives the whole answer."""
    attempt: Attempt | None = None
    """The scheduler's attempt to place the pod, if there is one already."""
    notes: tuple[str, ...] = ()
    """Notes for the answer."""

    @property
    def waits(self) -> bool:
        """True if the scheduler still has work to do: the pod is pending, or the claim is neither
        allocated nor being deleted.
        """
        if self.claim is None:
            return self.question.pod.is_pending
        return not self.claim.allocated and not self.question.view.deletion_timestamp


class InquiryResult(Struct, frozen=True):
    """A subject that waits, and the scheduler's attempt to place it."""

    question: Question
    subject: Subject
    attempt: Attempt
    blind: MissingPermissions = MissingPermissions()
    """Permissions that the user lacks."""
    compares: bool = True
    """True if devices could be read and were compared."""
    notes: tuple[str, ...] = ()
    doubt: NotKnownOfMachine | None = None
    """The values that decide the attempt, and that no source shows."""

    @property
    def decided(self) -> bool:
        """True if the attempt shows whether the subject fits, whatever the unreadable objects
        contain.
        """
        return (
            self.compares
            or bool(self.attempt.stops)
            or (bool(self.attempt.nodes) and not self.attempt.fits)
        )


def make_inquiry(
    state: ClusterState, question: Question, attempt: Attempt | None = None
) -> Inquiry:
    """Return the inquiry for a question about a pod, claim or template."""
    if question.kind not in CLAIMS:
        entry = (
            pre_enqueue(state, question.value) if attempt is None or _lacks_objects(state) else None
        )
        source = attempt if attempt is not None else entry
        claims = source.claims if source is not None else ()
        subject = subject_of(question, claims, entry.stops if entry is not None else ())
        return Inquiry(question, subject, None, entry, attempt)
    subject, claim = Subject(question.kind, *question.key), claim_question(state, question)
    if question.kind == "ResourceClaim" and not claim.allocated:
        user = next((q for q in pods_using(state, question.key) if Pod(q.value).is_pending), None)
        if user is not None:
            note = f"seen from pod {'/'.join(user.key)}, which uses it"
            return Inquiry(user, subject, None, pre_enqueue(state, user.value), notes=(note,))
    return Inquiry(question, subject, claim)


class _AttemptResult(Struct, frozen=True):
    """An attempt, and the extent to which it can be trusted."""

    attempt: Attempt
    compares: bool
    """True if devices were compared."""
    allocates: bool
    """True if claims have to be allocated, or may have to be."""


def run_attempt(scheduler: Scheduler, inquiry: Inquiry) -> InquiryResult:
    """Attempt to place a subject that waits."""
    question = inquiry.question
    run = _attempt_pod if inquiry.claim is None else _attempt_claim
    result = run(scheduler, inquiry)
    permissions = find_missing_permissions(scheduler.state, question, allocates=result.allocates)
    return InquiryResult(
        question, inquiry.subject, result.attempt, permissions, result.compares, inquiry.notes
    )


def _attempt_claim(scheduler: Scheduler, inquiry: Inquiry) -> _AttemptResult:
    assert inquiry.claim is not None
    rights = scheduler.state.rights
    compares = (
        compares_devices(rights)
        and scheduler.state.covers("ResourceSlice")
        and bool(scheduler.nodes or not rights.unreadable("Node"))
    )
    attempt = scheduler.attempt_claim(inquiry.claim) if compares else Attempt((inquiry.claim,))
    return _AttemptResult(attempt, compares, allocates=True)


def _attempt_pod(scheduler: Scheduler, inquiry: Inquiry) -> _AttemptResult:
    """Attempt to place a pod.

    If devices cannot be compared, the attempt covers only its claims, gates and volumes, the
    scheduler's own message, and the node filters if the user can read nodes.
    """
    rights, entry = scheduler.state.rights, inquiry.entry
    pod = scheduler.snapshot.pod(inquiry.question.value)
    lacks_objects = _lacks_objects(scheduler.state)
    compares = entry is None or not lacks_objects or _can_compare_devices(scheduler, entry)
    hides_class = False
    if inquiry.attempt is not None and compares:
        attempt = inquiry.attempt
        claims, stops = attempt.claims, attempt.stops
    else:
        assert entry is not None
        claims, stops = entry.claims, entry.stops
        if compares:
            attempt = scheduler.attempt_after_pre_enqueue(pod, entry)
        else:
            # An unreadable class may provide the extended resource.
            hides_class = bool(rights.unreadable("DeviceClass") and pod.extended_requests)
            confirmed = select_confirmed_stops(stops, rights)
            stopped = Attempt(claims, confirmed, message=entry.condition)
            attempt = (
                stopped
                if confirmed or hides_class
                else scheduler.attempt_without_open_claims(pod, claims)
            )
    unallocated = not all(claim.allocated for claim in claims)
    return _AttemptResult(attempt, compares, bool(stops) or hides_class or unallocated)


def _lacks_objects(state: ClusterState) -> bool:
    """Return True if some objects are unreadable, or the input has no devices to compare."""
    return bool(state.rights.unread) or not state.covers("ResourceSlice")


def _can_compare_devices(scheduler: Scheduler, entry: PreEnqueueResult) -> bool:
    """Return True if devices can be compared for a pod.

    They cannot be compared if an object that seems absent may only be unreadable.
    """
    rights = scheduler.state.rights
    waits = any(not claim.allocated for claim in entry.claims)
    if waits and not scheduler.state.covers("ResourceSlice"):
        return False
    if len(select_confirmed_stops(entry.stops, rights)) < len(entry.stops) or not compares_devices(
        rights
    ):
        return False
    return not rights.unreadable("Node") or bool(scheduler.nodes)


def release_stale_allocation(
    scheduler: Scheduler, inquiry: Inquiry, answer: InquiryResult
) -> tuple[ClusterState, Inquiry] | None:
    """Return the cluster without an allocation that only blocks the pod, and the inquiry in that
    cluster; None if there is no such allocation.

    The scheduler itself removes such an allocation, and a note of the inquiry says so.
    """
    question = inquiry.question
    claim = answer.attempt.claim_to_deallocate(question.view.uid) if answer.compares else None
    if claim is None:
        return None
    assert claim.value is not None
    pools = ", ".join(dict.fromkeys(a.pool for a in allocation_of(claim.value, claim.full_name)))
    binding_failure = find_binding_failure(claim) if scheduler.features.binding_conditions else None
    why = (
        f"; {failure_text(binding_failure)}"
        if binding_failure is not None
        else ", where the pod cannot run"
    )
    note = (
        f"claim {claim.full_name} is allocated on {pools}{why}, and no other pod uses it. It will"
        " be released and allocated again"
    )
    state = scheduler.state.replace("ResourceClaim", claim.key, deallocate(claim.value))
    entry = pre_enqueue(state, question.value)
    return state, replace(inquiry, entry=entry, attempt=None, notes=(*inquiry.notes, note))


def subject_of(
    question: Question, claims: Sequence[PodClaim], stops: Iterable[Stop] = ()
) -> Subject:
    """Return the subject with its names for claims, templates and extended resources; ``stops`` may
    name claims that the pod's status does not name.
    """
    references = question.pod.claim_references
    unnamed = (stop for stop in stops if isinstance(stop, ClaimNotCreated) and stop.existing)
    return Subject(
        question.kind,
        *question.key,
        {reference.name: None for reference in references}
        | {stop.pod_claim: stop.existing.rpartition("/")[2] for stop in unnamed}
        | {claim.name: claim.key[1] for claim in claims if claim.name},
        {
            reference.name: reference.template_name
            for reference in references
            if reference.template_name
        },
        question.pod.extended_request_sources,
    )
