"""An alignment as a value: the pairs of two kinds, their levels, and the share of the best."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from dractl.alignment.distance import Distance, level_of, position
from dractl.alignment.pairing import Positions, at_least_as_near

Share = tuple[float, float]
"""The lowest and the highest part that is possible; equal where every level is known."""


class Pair(Struct, frozen=True):
    """Two devices (``driver/pool/device``), the level between them (None: unknown), and where it is known from:
    ``slices``, a ``snapshot`` of the node, or the description of ``hardware``."""

    a: str
    b: str
    level: str | None
    source: str


class Improvement(Struct, frozen=True):
    """A constraint with which the scheduler finds the best devices that are free.

    ``parts``: the requests are split into so many equal groups, each with a constraint of its own. ``within``: an
    attribute that the devices of the first kind share besides."""

    match_attribute: str
    requests: tuple[str, ...]
    parts: int = 1
    within: str | None = None

    @property
    def text(self) -> str:
        """The constraint in words."""
        names = " and ".join(self.requests)
        within = f", and {self.within} over all of {self.requests[0]}" if self.within else ""
        if self.parts > 1:
            names = f"split {names} into {self.parts} requests each, paired by"
            return f"{names} matchAttribute {self.match_attribute}{within}"
        return f"matchAttribute {self.match_attribute} over {names}{within}"


class Alignment(Struct, frozen=True):
    """How near the devices of two kinds (or of one, with each other) are.

    ``levels`` counts the pairs of each level. ``best_free`` are those of the best allocation of the same requests on
    the node if nothing else is held, ``best_now`` beside what others hold; None where they are not known, for the
    reason ``why``. ``share``: sorted by level, the part of the pairs that are at least as near as those of
    ``best_free``. ``share_now`` compares with ``best_now``. ``improvement`` is a constraint that leads to it.
    """

    kinds: tuple[str, str]
    pairs: tuple[Pair, ...]
    levels: Mapping[str, int]
    best_free: Mapping[str, int] | None = None
    best_now: Mapping[str, int] | None = None
    share: Share | None = None
    share_now: Share | None = None
    improvement: Improvement | None = None
    why: str = ""

    @property
    def best(self) -> bool:
        """True if no allocation is better aligned."""
        return self.share is not None and self.share[0] == 1


def counted(positions: Iterable[int]) -> dict[str, int]:
    """Pairs by level, the nearest first."""
    return {level_of(number): count for number, count in sorted(Counter(positions).items())}


def levels(distances: Sequence[Distance]) -> dict[str, int]:
    """Pairs by level, the nearest first; ``unknown`` last."""
    found = counted(d.near for d in distances if d.level is not None)
    unknown = sum(d.level is None for d in distances)
    return {**found, **({"unknown": unknown} if unknown else {})}


def compare_levels(alignment: Alignment) -> dict[str, float]:
    """Return for each known level the part of its pairs that are at least as near as those of the best allocation,
    both sorted by level; pairs of unknown levels count as the farthest. Empty if the best is not known."""
    if alignment.best_free is None:
        return {}
    best = sorted(
        position(level) for level, count in alignment.best_free.items() for _ in range(count)
    )
    parts: dict[str, float] = {}
    start = 0
    for level, count in alignment.levels.items():
        if level != "unknown":
            near = sum(position(level) <= other for other in best[start : start + count])
            parts[level] = near / count
        start += count
    return parts


def share(far: Sequence[int], near: Sequence[int], best: Positions) -> Share:
    """The part of the pairs that are at least as near as those of the best allocation, as an interval: with unknown
    levels as ``far`` as they can be, and as ``near``."""
    low, high = sorted(at_least_as_near(positions, best) / len(best) for positions in (far, near))
    return low, high
