"""What is asked about a subject that waits: the attempt to place it, and what may not be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from dractl.cluster.state import maps_at, text_at
from dractl.explain.answer import Subject
from dractl.explain.diagnose.nodes import allocation_of
from dractl.explain.diagnose.pods import failure_text
from dractl.explain.unread import Blind, blind_to, compares_devices, founded
from dractl.scheduler.binding import failure, without_allocation
from dractl.scheduler.preenqueue import enter
from dractl.scheduler.snapshot import PodInfo
from dractl.scheduler.verdict import Attempt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.cluster.state import ClusterState
    from dractl.explain.ask import Question
    from dractl.scheduler.attempt import Scheduler
    from dractl.scheduler.claims import PodClaim
    from dractl.scheduler.preenqueue import Entry


class Inquiry(Struct, frozen=True):
    """A question as it is put to a cluster. ``about`` is the claim that was asked about, where the question is about
    the pod that uses it. ``attempt`` is the scheduler's attempt to place the pod, where it has been made already;
    ``notes`` are for the answer."""

    question: Question
    attempt: Attempt | None = None
    about: Subject | None = None
    notes: tuple[str, ...] = ()


class Attempted(Struct, frozen=True):
    """A subject that waits, and the scheduler's attempt to place it. ``blind`` is what may not be read; ``compares``:
    devices may be."""

    question: Question
    subject: Subject
    attempt: Attempt
    blind: tuple[Blind, ...] = ()
    compares: bool = True
    notes: tuple[str, ...] = ()

    @property
    def decided(self) -> bool:
        """True if the attempt tells whether the subject fits, whatever may not be read."""
        return self.compares or bool(self.attempt.stopped) or (bool(self.attempt.nodes) and not self.attempt.fits)


def of_pod(scheduler: Scheduler, inquiry: Inquiry) -> Attempted:
    """The attempt to place a pod; if devices cannot be compared, its claims, gates and volumes, the node filters if
    nodes may be read, and what the scheduler says."""
    state, rights = scheduler.state, scheduler.state.rights
    question = inquiry.question
    pod = scheduler.snapshot.pod(question.value)
    entry = enter(state, question.value) if rights.unread else None
    compares = entry is None or _comparable(scheduler, entry)
    hides = False
    if entry is None or compares:
        attempt = inquiry.attempt or scheduler.pod(question.value)
        claims, stops = attempt.claims, attempt.stopped
    else:
        claims, stops = entry.claims, entry.stops
        hides = bool(rights.hidden("DeviceClass") and pod.extended)  # a class may provide the extended resource
        real = founded(stops, rights)
        stopped = Attempt(claims, real, message=entry.condition)
        attempt = stopped if real or hides else scheduler.beside_claims(pod, claims)
    blind = blind_to(state, question, allocates=bool(stops) or hides or not all(claim.allocated for claim in claims))
    return Attempted(question, inquiry.about or subject_of(question, claims), attempt, blind, compares, inquiry.notes)


def of_claim(scheduler: Scheduler, question: Question, claim: PodClaim) -> Attempted:
    """The attempt for a claim that no pod waits for, or for a template."""
    rights = scheduler.state.rights
    compares = compares_devices(rights) and bool(scheduler.nodes or not rights.hidden("Node"))
    attempt = scheduler.claim(claim) if compares else Attempt((claim,))
    blind = blind_to(scheduler.state, question, allocates=True)
    return Attempted(question, Subject(question.kind, *question.key), attempt, blind, compares)


def _comparable(scheduler: Scheduler, entry: Entry) -> bool:
    """True if devices can be compared for a pod, and what seems not to exist may be read."""
    rights = scheduler.state.rights
    if len(founded(entry.stops, rights)) < len(entry.stops) or not compares_devices(rights):
        return False
    return not rights.hidden("Node") or bool(scheduler.nodes)


def released(scheduler: Scheduler, attempted: Attempted) -> tuple[ClusterState, str] | None:
    """The cluster once the scheduler has taken back an allocation that only stands in the pod's way, and a note that
    says so; None if it takes back none."""
    uid = text_at(attempted.question.value, "metadata", "uid")
    claim = attempted.attempt.given_back(uid) if attempted.compares else None
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
    return scheduler.state.replace("ResourceClaim", claim.key, without_allocation(claim.value)), note


def subject_of(question: Question, claims: Sequence[PodClaim]) -> Subject:
    """A pod with the names that it has for claims, templates and extended resources."""
    references = maps_at(question.value, "spec", "resourceClaims")
    templates = {text_at(r, "name"): text_at(r, "resourceClaimTemplateName") for r in references}
    return Subject(
        question.kind,
        *question.key,
        {text_at(r, "name"): None for r in references} | {c.name: c.key[1] for c in claims if c.name},
        {name: template for name, template in templates.items() if template},
        PodInfo(question.value).written,
    )
