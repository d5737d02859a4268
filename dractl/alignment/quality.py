"""An alignment as a value: the pairs of two kinds, their levels, and the share of pairs that are as
near as in the best allocation.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from dractl.alignment.distance import Distance, KindPair, level_of_rank, level_rank
from dractl.alignment.pairing import Ranks, count_as_near

Share = tuple[float, float]
"""The lowest and the highest possible share, which are equal if every level is known."""


class Pair(Struct, frozen=True):
    """Two devices and the level between them."""

    a: str
    """``driver/pool/device``."""

    b: str
    """``driver/pool/device``."""

    level: str | None
    """The level between them; None if it is unknown."""

    source: str
    """The origin of the level: ``slices``, a ``snapshot`` of the node, or its ``hardware``."""


class Improvement(Struct, frozen=True):
    """A constraint with which the scheduler finds the best free devices."""

    match_attribute: str
    """Attribute whose value the devices must share."""

    requests: tuple[str, ...]
    """Names of the requests."""

    parts: int = 1
    """Number of equal parts into which the requests are split, each with its own constraint."""

    within: str | None = None
    """A further attribute whose value all devices of the first kind must share, if there is one."""

    @property
    def text(self) -> str:
        """Description of the constraint."""
        names = " and ".join(self.requests)
        within = f", and {self.within} over all of {self.requests[0]}" if self.within else ""
        if self.parts == 1:
            return f"matchAttribute {self.match_attribute} over {names}{within}"
        split = f"split {names} into {self.parts} requests each"
        return f"{split}, paired by matchAttribute {self.match_attribute}{within}"


class Alignment(Struct, frozen=True):
    """The levels of all pairs of two kinds, or of one kind, and the levels of the best
    allocation.
    """

    kinds: KindPair
    """The two kinds, or one kind twice."""

    pairs: tuple[Pair, ...]
    """Pairs of devices."""

    levels: Mapping[str, int]
    """Number of pairs by level, the nearest level first."""

    best_free: Mapping[str, int] | None = None
    """Levels of the best allocation of the same requests on the empty node; None if unknown."""

    best_now: Mapping[str, int] | None = None
    """Levels of the best allocation next to the present holders of devices; None if unknown."""

    share: Share | None = None
    """Share of the pairs that are at least as near as their counterparts in ``best_free``, when
    both are sorted by level; None if ``best_free`` is unknown.
    """

    share_now: Share | None = None
    """Share of the pairs that are at least as near as their counterparts in ``best_now``; None if
    ``best_now`` is unknown.
    """

    improvement: Improvement | None = None
    """A constraint that leads to ``best_now``; None if none is known."""

    comparison_failure: str = ""
    """The reason why the best allocation is unknown; empty if it is known."""

    @property
    def is_best(self) -> bool:
        """Whether no allocation is better aligned."""
        return self.share is not None and self.share[0] == 1


def count_levels(ranks: Iterable[int]) -> dict[str, int]:
    """Return the number of pairs by level, the nearest level first."""
    return {level_of_rank(rank): count for rank, count in sorted(Counter(ranks).items())}


def count_distances(distances: Sequence[Distance]) -> dict[str, int]:
    """Return the number of pairs by level, the nearest level first and ``unknown`` last."""
    levels = count_levels(d.min_rank for d in distances if d.level is not None)
    unknown = sum(d.level is None for d in distances)
    return {**levels, "unknown": unknown} if unknown else levels


def compare_levels(alignment: Alignment) -> dict[str, float]:
    """Return for each known level the share of its pairs that are as near as their counterparts in
    the best allocation.

    Pairs and best pairs are sorted by level, and unknown levels count as the farthest. Empty if the
    best allocation is unknown.
    """
    if alignment.best_free is None:
        return {}
    best_ranks = sorted(
        level_rank(level) for level, count in alignment.best_free.items() for _ in range(count)
    )
    shares: dict[str, float] = {}
    start = 0
    for level, count in alignment.levels.items():
        if level != "unknown":
            rank = level_rank(level)
            shares[level] = sum(rank <= best for best in best_ranks[start : start + count]) / count
        start += count
    return shares


def share_of_best(nearest: Sequence[int], farthest: Sequence[int], best: Ranks) -> Share:
    """Return the share of the pairs that are at least as near as the pairs of the best allocation.

    ``nearest`` and ``farthest`` are the ranks if every unknown level is the nearest, or the
    farthest, possible level.
    """
    shares = sorted(count_as_near(ranks, best) / len(best) for ranks in (nearest, farthest))
    return shares[0], shares[1]
