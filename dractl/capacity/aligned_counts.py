"""The number of aligned copies: with kube-scheduler's first choice, and with the best choice."""

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.alignment import Aligner, Alignment
from dractl.alignment.aligner import find_requests
from dractl.alignment.allocation_search import TooManyAllocations
from dractl.alignment.improvement import propose_constraints
from dractl.alignment.quality import Improvement
from dractl.allocation import DeviceID, Features
from dractl.allocation.faults import AttemptFailed
from dractl.capacity.copies import copies_of_claim
from dractl.capacity.placing import MAX_COPIES_PER_NODE, Fit, place_copies
from dractl.cluster.state import Key
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.views import Claim


class AlignedCounts(Struct, frozen=True):
    """The copies that fit, by the alignment of their devices."""

    first: int
    """The number of copies whose devices are aligned as well as their node allows, with the
    scheduler's first choice.
    """
    unknown: int = 0
    """The number of copies whose alignment is unknown."""
    possible: int | None = None
    """The number of copies that could be aligned if the scheduler chose so; None if it was not
    counted. It is a lower limit, since copies are placed one after the other.
    """
    constraint: Improvement | None = None
    """A constraint with which more copies would be aligned."""
    fits_with_constraint: int = 0
    """The number of copies that fit with the constraint, all of them aligned."""

    @property
    def is_choice_missed(self) -> bool:
        """Return whether the scheduler misses an aligned choice."""
        return self.possible is not None and self.possible > self.first


def count_aligned_copies(
    fit: Fit, features: Features, progress: Callable[[str], None] = lambda _: None
) -> AlignedCounts:
    """Count the copies that fit and are aligned.

    If a copy requests no two devices that belong together, all copies count as aligned.
    """
    aligner = Aligner(Scheduler(fit.state, features))
    pod_keys = [
        key for key in fit.state.objects("Pod") if fit.subject.state.get("Pod", key) is None
    ]
    first = unknown = 0
    for number, key in enumerate(pod_keys):
        if number % 100 == 99:
            progress(f"comparing copies ({number + 1} of {len(pod_keys)})")
        alignments = _align_pod(aligner, fit, key)
        first += all(a.is_best for a in alignments)
        unknown += any(a.share is None for a in alignments)
    if not pod_keys or unknown:
        return AlignedCounts(first, unknown)
    example = _list_pod_claims(fit, pod_keys[0])
    alignments = _align_pod(aligner, fit, pod_keys[0])
    if not alignments:
        return AlignedCounts(first, possible=first)
    progress("looking for aligned choices")
    counts = AlignedCounts(
        first, possible=_count_possible_copies(fit, features, example, alignments)
    )
    if not counts.is_choice_missed or len(example) != 1:
        return counts
    requests = find_requests(alignments[-1], example)
    for constraint, claim in propose_constraints(example[0], requests.names):
        changed = copies_of_claim(fit.subject.state, "", Claim(claim).namespace, claim)
        constrained_fit = place_copies(changed, features)
        if constrained_fit.fits > first and are_all_copies_aligned(constrained_fit, features):
            return replace(counts, constraint=constraint, fits_with_constraint=constrained_fit.fits)
    return counts


def are_all_copies_aligned(fit: Fit, features: Features) -> bool:
    """Return whether every copy gets devices that are aligned as well as its node allows."""
    aligner = Aligner(Scheduler(fit.state, features))
    pod_keys = [
        key for key in fit.state.objects("Pod") if fit.subject.state.get("Pod", key) is None
    ]
    return all(a.is_best for key in pod_keys for a in _align_pod(aligner, fit, key))


def _align_pod(aligner: Aligner, fit: Fit, pod: Key) -> Sequence[Alignment]:
    """Return the alignments of a placed copy's claims on its node."""
    return aligner.align_claims(_list_pod_claims(fit, pod), fit.state.pod(pod).node_name)


def _list_pod_claims(fit: Fit, pod: Key) -> list[Raw]:
    claims = fit.state.objects("ResourceClaim")
    return [claims[key] for key in fit.state.claims_of_pod(pod) if key in claims]


def _count_possible_copies(
    fit: Fit, features: Features, example: Sequence[Raw], alignments: Sequence[Alignment]
) -> int | None:
    """Count the copies on each node if each copy takes the best devices; None if they cannot be
    counted.
    """
    aligner = Aligner(Scheduler(fit.subject.state, features))
    claims = [fit.state.decode(claim) for claim in example]
    total = 0
    for node in fit.nodes:
        taken_devices: set[DeviceID] = set()
        while len(taken_devices) <= MAX_COPIES_PER_NODE:
            try:
                chosen = aligner.choose_devices(
                    node.name, claims, alignments, frozenset(taken_devices)
                )
            except (TooManyAllocations, AttemptFailed):
                return None
            if not chosen:
                break
            taken_devices |= chosen
            total += 1
    return total
