"""The alignment of everything that is allocated in a cluster, with the worst first."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from dractl.alignment.aligner import Aligner
from dractl.alignment.quality import Alignment
from dractl.cluster.state import ClusterState
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler
from dractl.views import Key

_PROGRESS_INTERVAL = 100  # allocations between two reports of progress


class Use(Struct, frozen=True):
    """The alignments of the devices that a pod uses, or that a claim without a pod holds."""

    pod: str | None
    """``namespace/name`` of the pod; None for a claim without a pod."""

    claims: tuple[str, ...]
    """``namespace/name`` of each claim."""

    node: str | None
    """The node of the devices; None if they are on several nodes."""

    alignments: tuple[Alignment, ...]
    """The alignments, one for each two kinds of devices."""

    @property
    def share(self) -> float | None:
        """The fraction of all pairs that are as near as in the best allocation; None if it is
        unknown for some kinds.
        """
        total, pairs = 0.0, 0
        for alignment in self.alignments:
            if alignment.share is None or not alignment.pairs:
                return None
            total += alignment.share[0] * len(alignment.pairs)
            pairs += len(alignment.pairs)
        return total / pairs


class _Allocation(Struct, frozen=True):
    """Claims that one pod uses, or a claim without a pod."""

    claims: dict[Key, Raw]
    pod: Key | None = None
    node: str | None = None


def list_uses(
    scheduler: Scheduler, progress: Callable[[str], None] = lambda _: None
) -> tuple[Use, ...]:
    """Return all uses with a pair of devices, in the order of their share; uses with unknown shares
    come last.
    """
    aligner = Aligner(scheduler)
    uses: list[Use] = []
    for number, allocation in enumerate(_list_allocations(scheduler.state), 1):
        if number % _PROGRESS_INTERVAL == 0:
            progress(f"comparing allocations ({number})")
        claims = list(allocation.claims.values())
        alignments = aligner.align_claims(claims, allocation.node)
        if alignments:
            pod = None if allocation.pod is None else "/".join(allocation.pod)
            names = tuple("/".join(key) for key in allocation.claims)
            uses.append(Use(pod, names, allocation.node or aligner.find_node(claims), alignments))
    return tuple(
        sorted(uses, key=lambda use: (use.share is None, use.share or 0, use.pod or "", use.claims))
    )


def _list_allocations(state: ClusterState) -> Iterator[_Allocation]:
    """Yield the allocated claims of each pod; a claim of several pods is part of each pod's
    claims.
    """
    allocated = {key: claim.raw for key, claim in state.claims.items() if claim.is_allocated}
    unused = dict(allocated)
    for key, pod in state.pods.items():
        claims = {
            claim: allocated[claim] for claim in state.claims_of_pod(key) if claim in allocated
        }
        if not claims or pod.has_ended:
            continue
        for claim in claims:
            unused.pop(claim, None)
        yield _Allocation(claims, key, pod.node_name or None)
    for claim, value in unused.items():
        yield _Allocation({claim: value})
