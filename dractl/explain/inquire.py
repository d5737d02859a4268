"""What is asked about a subject that waits: the attempt to place it, and what may not be read."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.cluster.pods import is_pending
from dractl.cluster.state import ClusterState, maps_at, text_at
from dractl.explain.answer import Subject
from dractl.explain.ask import CLAIMS, Question, claim_question, pods_using
from dractl.explain.diagnosis.nodes import allocation_of
from dractl.explain.diagnosis.pods import failure_text
from dractl.explain.unread import Blindness, blind_to, compares_devices, founded
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.binding import failure, without_allocation
from dractl.scheduler.claims import PodClaim
from dractl.scheduler.preenqueue import Entered, enter
from dractl.scheduler.verdict import Attempt
from dractl.views import Pod


class Inquiry(Struct, frozen=True):
    """A question as it is put to a cluster: about a claim that a pod waits for, it is about the pod.

    ``subject`` is what was asked about. ``claim`` is a claim, or what a template would make; ``entry`` what PreEnqueue
    says of a pod, None where it is not needed beside ``attempt``, the scheduler's attempt to place the pod. ``notes``
    are for the answer.
    """

    question: Question
    subject: Subject
    claim: PodClaim | None = None
    entry: Entered | None = None
    attempt: Attempt | None = None
    notes: tuple[str, ...] = ()

    @property
    def waits(self) -> bool:
        """True unless the scheduler has nothing to do: a claim that is allocated or deleted, a pod on its node."""
        if self.claim is None:
            return is_pending(self.question.value)
        return not self.claim.allocated and not text_at(
            self.question.value, "metadata", "deletionTimestamp"
        )


class Attempted(Struct, frozen=True):
    """A subject that waits, and the scheduler's attempt to place it. ``blind`` is what may not be read; ``compares``:
    devices may be."""

    question: Question
    subject: Subject
    attempt: Attempt
    blind: Blindness = Blindness()
    compares: bool = True
    notes: tuple[str, ...] = ()

    @property
    def decided(self) -> bool:
        """True if the attempt tells whether the subject fits, whatever may not be read."""
        return (
            self.compares
            or bool(self.attempt.stopped)
            or (bool(self.attempt.nodes) and not self.attempt.fits)
        )


def inquiry_of(state: ClusterState, question: Question, attempt: Attempt | None = None) -> Inquiry:
    """The question about a pod, a claim or a template as it is put to the cluster."""
    if question.kind not in CLAIMS:
        entry = enter(state, question.value) if attempt is None or state.rights.unread else None
        claims = (
            attempt.claims if attempt is not None else entry.claims if entry is not None else ()
        )
        return Inquiry(question, subject_of(question, claims), None, entry, attempt)
    subject, claim = Subject(question.kind, *question.key), claim_question(state, question)
    if question.kind == "ResourceClaim" and not claim.allocated:
        user = next((q for q in pods_using(state, question.key) if is_pending(q.value)), None)
        if user is not None:
            note = f"seen from pod {'/'.join(user.key)}, which uses it"
            return Inquiry(user, subject, None, enter(state, user.value), notes=(note,))
    return Inquiry(question, subject, claim)


def attempted(scheduler: Scheduler, inquiry: Inquiry) -> Attempted:
    """The attempt to place a subject that waits."""
    question = inquiry.question
    if inquiry.claim is None:
        attempt, compares, allocates = _of_pod(scheduler, inquiry)
    else:
        rights, allocates = scheduler.state.rights, True
        compares = compares_devices(rights) and bool(scheduler.nodes or not rights.hidden("Node"))
        attempt = scheduler.claim(inquiry.claim) if compares else Attempt((inquiry.claim,))
    blind = blind_to(scheduler.state, question, allocates=allocates)
    return Attempted(question, inquiry.subject, attempt, blind, compares, inquiry.notes)


def _of_pod(scheduler: Scheduler, inquiry: Inquiry) -> tuple[Attempt, bool, bool]:
    """The attempt to place a pod, whether devices were compared, and whether claims are to be allocated. If devices
    cannot be compared: its claims, gates and volumes, the node filters if nodes may be read, and what the scheduler
    says."""
    rights, entry = scheduler.state.rights, inquiry.entry
    pod = scheduler.snapshot.pod(inquiry.question.value)
    compares = entry is None or not rights.unread or _comparable(scheduler, entry)
    hides = False
    if inquiry.attempt is not None and compares:
        attempt = inquiry.attempt
        claims, stops = attempt.claims, attempt.stopped
    else:
        assert entry is not None
        claims, stops = entry.claims, entry.stops
        if compares:
            attempt = scheduler.entered(pod, entry)
        else:
            hides = bool(
                rights.hidden("DeviceClass") and pod.extended_requests
            )  # a class may provide the extended resource
            real = founded(stops, rights)
            stopped = Attempt(claims, real, message=entry.condition)
            attempt = stopped if real or hides else scheduler.beside_claims(pod, claims)
    return attempt, compares, bool(stops) or hides or not all(claim.allocated for claim in claims)


def _comparable(scheduler: Scheduler, entry: Entered) -> bool:
    """True if devices can be compared for a pod, and what seems not to exist may be read."""
    rights = scheduler.state.rights
    if len(founded(entry.stops, rights)) < len(entry.stops) or not compares_devices(rights):
        return False
    return not rights.hidden("Node") or bool(scheduler.nodes)


def released(
    scheduler: Scheduler, inquiry: Inquiry, answer: Attempted
) -> tuple[ClusterState, Inquiry] | None:
    """The cluster once the scheduler has taken back an allocation that only stands in the pod's way, and the question
    put to it, with a note that says so; None if it takes back none."""
    question = inquiry.question
    claim = (
        answer.attempt.given_back(text_at(question.value, "metadata", "uid"))
        if answer.compares
        else None
    )
    if claim is None:
        return None
    assert claim.value is not None
    where = ", ".join(dict.fromkeys(a.pool for a in allocation_of(claim.value, claim.full_name)))
    failed = failure(claim) if scheduler.features.binding_conditions else None
    why = f"; {failure_text(failed)}" if failed is not None else ", where the pod cannot run"
    note = (
        f"claim {claim.full_name} is allocated on {where}{why}, and no other pod uses it. It will be released and "
        "allocated again"
    )
    state = scheduler.state.replace("ResourceClaim", claim.key, without_allocation(claim.value))
    again = enter(state, question.value)
    return state, replace(inquiry, entry=again, attempt=None, notes=(*inquiry.notes, note))


def subject_of(question: Question, claims: Sequence[PodClaim]) -> Subject:
    """A pod with the names that it has for claims, templates and extended resources."""
    references = maps_at(question.value, "spec", "resourceClaims")
    templates = {text_at(r, "name"): text_at(r, "resourceClaimTemplateName") for r in references}
    return Subject(
        question.kind,
        *question.key,
        {text_at(r, "name"): None for r in references}
        | {c.name: c.key[1] for c in claims if c.name},
        {name: template for name, template in templates.items() if template},
        Pod(question.value).extended_request_sources,
    )
