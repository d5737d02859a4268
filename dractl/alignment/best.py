"""The best aligned allocation of requests on a node, over all that the allocator would accept.

Branch and bound over where devices are taken from: a choice of places that could be better than the best one so far is
given to the allocator's own search, each request confined to its places. So constraints, counters, capacities and
taints hold as they do for the scheduler.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.alignment.pairing import Positions, paired
from dractl.allocation.build import Built
from dractl.allocation.problem import SearchProblem, Slot, bits
from dractl.allocation.search import Abort, NoSolution, Solution, search

_BUDGET = 30_000  # steps: choices of places, and
_SEARCHED = 5  # for each search; some seconds in all
_SEARCH = 20_000  # of one search
_PLACES = 256


class TooMany(Exception):
    """There are more choices than can be compared."""


class Best(Struct, frozen=True):
    """The positions of the best allocation, the farthest first, and its devices by their numbers in the problem."""

    positions: Positions
    devices: tuple[int, ...]


class Grid(Struct, frozen=True):
    """Devices by place. ``of``: by device the number of its place; ``kinds``: by place the kind of its devices; ``far``
    says how far two places are apart, and of one place how far its devices are."""

    of: Sequence[int]
    kinds: Sequence[str]
    far: Callable[[int, int], int]


def taken(built: Built, names: Collection[str]) -> tuple[int, ...]:
    """The slot of each request; of alternatives the one that was allocated. ``names``: ``namespace/claim request``."""

    def name(slot: int) -> str:
        return f"{built.asked[slot].claim.metadata.full_name} {built.asked[slot].full_name}"

    return tuple(
        next((n for n in request if name(n) in names), request[0])
        for request in built.problem.requests
    )


class Choices:
    """All choices of places for so many pairs of two kinds. ``slots``: those of :func:`taken`.
    ``also``: only allocations with these positions of other kinds count."""

    def __init__(
        self,
        problem: SearchProblem,
        grid: Grid,
        slots: Sequence[int],
        kinds: tuple[str, str],
        pairs: int,
        also: Mapping[tuple[str, str], Positions],
    ) -> None:
        self.problem, self.also = problem, also
        self.slots, self.kinds, self.pairs = slots, kinds, pairs
        every = {kind for those in (kinds, *also) for kind in those}
        self.grid = grid
        self.grid = _merged(grid, self._masks(), every)
        self.masks = self._masks()
        relevant = [
            n for n, masks in enumerate(self.masks) if any(grid.kinds[p] in every for p in masks)
        ]
        self.order = sorted(relevant, key=lambda n: [*kinds, self._kind(n)].index(self._kind(n)))
        self.found: Best | None = None
        self.failed = False
        self.work = 0
        self.known: dict[tuple[tuple[str, str], tuple[int, ...], tuple[int, ...]], Positions] = {}
        self.least = self._least(relevant)

    def best(self) -> Best | None:
        """The best allocation; None if there is no allocation. Raises TooMany."""
        first = self._search({})
        if first is None:
            return None
        self._consider(first)
        self._choose(0, {})
        return self.found

    # -- the choice of places --

    def _choose(self, depth: int, chosen: dict[int, tuple[int, ...]]) -> None:
        """Tries every choice of places for the requests from ``depth`` on."""
        bound = self._bound(chosen)
        if self.found is not None and bound >= self.found.positions:
            return
        if depth == len(self.order):
            if not self._improves(chosen):
                return
            solution = self._search(chosen)
            if solution is None:
                self.failed = True
            else:
                self._consider(solution)
            return
        if self.failed and chosen and self._search(chosen) is None:
            return
        number = self.order[depth]
        for places in self._multisets(number, chosen):
            if self.found is not None and bound >= self.found.positions:
                return
            self._spend()
            self._choose(depth + 1, {**chosen, number: places})

    def _multisets(
        self, number: int, chosen: Mapping[int, tuple[int, ...]]
    ) -> Iterator[tuple[int, ...]]:
        """The places of a request's devices, in one order each; first those that are near to what is chosen."""
        slot, masks = self.problem.slots[self.slots[number]], self.masks[number]
        if slot.every is not None:
            yield tuple(self.grid.of[device] for device in slot.every)
            return
        there = [
            p for places in chosen.values() for p in places if self.grid.kinds[p] in self.kinds
        ]
        places = sorted(
            masks, key=lambda p: (min((self.grid.far(p, q) for q in there), default=0), p)
        )
        room = [
            slot.need if masks[p] & self.problem.multi else masks[p].bit_count() for p in places
        ]
        yield from self._filled(slot.need, places, room, 0)

    def _filled(
        self, need: int, places: Sequence[int], room: Sequence[int], start: int
    ) -> Iterator[tuple[int, ...]]:
        if not need:
            yield ()
            return
        if sum(min(r, need) for r in room[start:]) < need:
            return
        for count in range(min(need, room[start]), -1, -1):
            for rest in self._filled(need - count, places, room, start + 1):
                yield (places[start],) * count + rest

    def _spend(self, steps: int = 1) -> None:
        self.work += steps
        if self.work > _BUDGET:
            raise TooMany

    # -- what a choice is worth --

    def _sides(
        self, chosen: Mapping[int, tuple[int, ...]], kinds: tuple[str, str]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        places = sorted(p for found in chosen.values() for p in found)
        first = tuple(p for p in places if self.grid.kinds[p] == kinds[0])
        return first, tuple(p for p in places if self.grid.kinds[p] == kinds[1])

    def _positions(self, chosen: Mapping[int, tuple[int, ...]]) -> Positions:
        return self._of(self._sides(chosen, self.kinds), self.kinds)

    def _of(
        self, sides: tuple[tuple[int, ...], tuple[int, ...]], kinds: tuple[str, str]
    ) -> Positions:
        if (kinds, *sides) not in self.known:
            found = paired(sides[0], None if kinds[0] == kinds[1] else sides[1], self.grid.far)
            self.known[kinds, *sides] = tuple(
                sorted((self.grid.far(a, b) for a, b in found), reverse=True)
            )
        return self.known[kinds, *sides]

    def _improves(self, chosen: Mapping[int, tuple[int, ...]]) -> bool:
        positions = self._positions(chosen)
        if len(positions) != self.pairs or (
            self.found is not None and positions >= self.found.positions
        ):
            return False
        return all(
            self._of(self._sides(chosen, kinds), kinds) == wanted
            for kinds, wanted in self.also.items()
        )

    def _bound(self, chosen: Mapping[int, tuple[int, ...]]) -> Positions:
        """No completion of a choice is better than this."""
        first, second = self._sides(chosen, self.kinds)
        left = [n for n in self.order if n not in chosen]
        if not left:
            return self._positions(chosen)
        if self.kinds[0] == self.kinds[1]:
            return self._padded(
                [self.grid.far(a, b) for a, b in paired(first, None, self.grid.far)]
            )
        if any(self._kind(n) == self.kinds[0] for n in left):
            return self._padded([])
        others = {p for n in left for p in self.masks[n] if self.grid.kinds[p] == self.kinds[1]}
        return self._padded(self._nearest(first, {*second, *others}))

    def _nearest(self, places: Sequence[int], others: Collection[int]) -> list[int]:
        """The nearest other of each place; of fewer others, as many as there are pairs."""
        found = sorted(min((self.grid.far(p, q) for q in others), default=0) for p in places)
        return found if len(places) == self.pairs else found[:1] * self.pairs

    def _padded(self, known: Sequence[int]) -> Positions:
        """The positions of known pairs, with the nearest that there is for the others."""
        return tuple(sorted([*known, *([self.least] * (self.pairs - len(known)))], reverse=True))[
            : self.pairs
        ]

    def _least(self, relevant: Sequence[int]) -> int:
        """The nearest that any pair can be."""
        places = sorted({p for n in relevant for p in self.masks[n]})
        if len(places) > _PLACES:
            raise TooMany
        first, second = ([p for p in places if self.grid.kinds[p] == kind] for kind in self.kinds)
        return min((self.grid.far(p, q) for p in first for q in second), default=0)

    # -- the allocator --

    def _search(self, chosen: Mapping[int, tuple[int, ...]]) -> Solution | None:
        """An allocation with these places; None if there is none."""
        self._spend(_SEARCHED)
        found = search(self._confined(chosen), _SEARCH)
        if isinstance(found, Solution):
            return found
        if isinstance(found, NoSolution | Abort):
            return None
        raise TooMany

    def _confined(self, chosen: Mapping[int, tuple[int, ...]]) -> SearchProblem:
        """The problem with a request for the devices of each place."""
        slots: list[Slot] = []
        origins: list[int] = []
        for number, origin in enumerate(self.slots):
            slot = self.problem.slots[origin]
            places = chosen.get(number, ()) if slot.every is None else ()
            parts = [(places.count(p), self.masks[number][p]) for p in dict.fromkeys(places)]
            for need, mask in parts or [(slot.need, -1)]:
                confined = slot.selectable & mask
                part = replace(
                    slot,
                    request=len(slots),
                    alternative=None,
                    need=need,
                    selectable=confined,
                    faults=0,
                )
                slots.append(part)
                origins.append(origin)
        constraints = tuple(
            tuple(replace(c, values=tuple(c.values[origin] for origin in origins)) for c in claim)
            for claim in self.problem.constraints
        )
        return replace(
            self.problem,
            slots=tuple(slots),
            requests=tuple((n,) for n in range(len(slots))),
            choices=(False,) * len(slots),
            constraints=constraints,
        )

    def _consider(self, solution: Solution) -> None:
        chosen = {0: tuple(self.grid.of[device] for _, device in solution.picks)}
        if self._improves(chosen):
            self.found = Best(
                self._positions(chosen), tuple(device for _, device in solution.picks)
            )

    # -- requests --

    def _masks(self) -> list[dict[int, int]]:
        return [self._by_place(self.problem.slots[number]) for number in self.slots]

    def _by_place(self, slot: Slot) -> dict[int, int]:
        free = slot.selectable & ~slot.refused & ~slot.tainted & ~slot.faults
        if not slot.admin:
            free &= ~self.problem.held
        found: dict[int, int] = {}
        for device in bits(free) if slot.every is None else slot.every:
            found[self.grid.of[device]] = found.get(self.grid.of[device], 0) | 1 << device
        return found

    def _kind(self, number: int) -> str:
        kinds = [self.grid.kinds[p] for p in self.masks[number]]
        return next((kind for kind in kinds if kind in self.kinds), kinds[0])


def _merged(grid: Grid, masks: Sequence[Mapping[int, int]], kinds: Collection[str]) -> Grid:
    """The grid with places as one that are equally far from all others and from each other: GPUs with a root each."""
    devices: dict[int, int] = {}
    for of_slot in masks:
        for place, mask in of_slot.items():
            devices[place] = devices.get(place, 0) | mask
    places = [place for place in devices if grid.kinds[place] in kinds]
    several = {place for place in places if devices[place].bit_count() > 1}

    def equal(p: int, q: int) -> bool:
        apart = grid.far(p, q)
        if grid.kinds[p] != grid.kinds[q] or any(
            grid.far(x, x) != apart for x in (p, q) if x in several
        ):
            return False
        return all(grid.far(p, r) == grid.far(q, r) for r in places if r not in (p, q))

    first: dict[int, int] = {}
    inside: dict[int, int] = {}
    for place in places:
        like = next((p for p in dict.fromkeys(first.values()) if equal(p, place)), place)
        first[place] = like
        if like != place:
            inside[like] = grid.far(like, place)

    def far(a: int, b: int) -> int:
        return inside[a] if a == b and a in inside else grid.far(a, b)

    return Grid([first.get(place, place) for place in grid.of], grid.kinds, far)
