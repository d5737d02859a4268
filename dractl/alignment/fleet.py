"""The alignment of everything that is allocated in a cluster, the worst first."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from dractl.alignment.aligner import Aligner
from dractl.alignment.quality import Alignment
from dractl.cluster.pods import ended
from dractl.cluster.state import ClusterState, Key, map_at, text_at
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler


class Use(Struct, frozen=True):
    """The alignments of the devices that a pod uses, or that a claim without a pod holds. Names are
    ``namespace/name``."""

    pod: str | None
    claims: tuple[str, ...]
    node: str | None
    alignments: tuple[Alignment, ...]

    @property
    def share(self) -> float | None:
        """The part of the best in all pairs together, at least; None if that of some pairs is not known."""
        counted = [(a.share, len(a.pairs)) for a in self.alignments]
        if any(part is None or not pairs for part, pairs in counted):
            return None
        return sum(part[0] * pairs for part, pairs in counted if part) / sum(pairs for _, pairs in counted)


def uses(scheduler: Scheduler, tell: Callable[[str], None] = lambda _: None) -> tuple[Use, ...]:
    """Everything with at least one pair of devices, the smallest share of the best first, unknown ones last."""
    aligner = Aligner(scheduler)
    found = []
    for number, (pod, keys, claims) in enumerate(_together(scheduler.state)):
        if number % 100 == 99:
            tell(f"comparing allocations ({number + 1})")
        node = None if pod is None else text_at(pod[1], "spec", "nodeName") or None
        alignments = aligner.of_claims(claims, node)
        if alignments:
            where = node if node is not None else aligner.node_of(claims)
            names = tuple("/".join(key) for key in keys)
            found.append(Use(None if pod is None else "/".join(pod[0]), names, where, alignments))
    return tuple(sorted(found, key=lambda use: (use.share is None, use.share or 0, use.pod or "", use.claims)))


def _together(state: ClusterState) -> Iterator[tuple[tuple[Key, Raw] | None, list[Key], list[Raw]]]:
    """Allocated claims by the pod that uses them; a claim that several pods use with each of them."""
    left = {key: claim for key, claim in state.all("ResourceClaim").items() if map_at(claim, "status", "allocation")}
    alone = dict(left)
    for key, pod in state.all("Pod").items():
        keys = [claim for claim in state.claims_of_pod(key) if claim in left]
        if keys and not ended(pod):
            for claim in keys:
                alone.pop(claim, None)
            yield (key, pod), keys, [left[claim] for claim in keys]
    for claim, value in alone.items():
        yield None, [claim], [value]
