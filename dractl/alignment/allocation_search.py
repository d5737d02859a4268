"""The best aligned allocation of requests on a node, among all that the allocator would accept.

The search is branch and bound over the locations from which devices are taken. If a choice of
locations could be better than the best so far, the allocator's own search tries the choice, with
each request restricted to its locations. So constraints, counters, capacities and taints are
treated as by the scheduler.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.alignment.distance import KindPair
from dractl.alignment.grid import LocationGrid, merge_locations
from dractl.alignment.pairing import Ranks, pair_ranks
from dractl.allocation.build import Built
from dractl.allocation.problem import SearchProblem, Slot, bits
from dractl.allocation.search import Abort, NoSolution, Solution, search

_MAX_STEPS = 30_000  # steps that take some seconds
_STEPS_PER_ALLOCATION = 5
_MAX_ALLOCATION_STEPS = 20_000  # steps of the allocator for one choice of locations
_MAX_LOCATIONS = 256

Choice = Mapping[int, tuple[int, ...]]
"""The locations of the devices of some requests, by the index of the request."""


class TooManyAllocations(Exception):
    """There are more allocations than can be compared."""


class AlignmentGoal(Struct, frozen=True):
    """The pairs that an allocation is optimized for."""

    kinds: KindPair
    """The two kinds, or one kind twice."""

    pair_count: int
    """The number of pairs in the allocation."""

    required_ranks: tuple[tuple[KindPair, Ranks], ...] = ()
    """Other kinds, and the ranks that their pairs must have, no better and no worse."""


class BestAllocation(Struct, frozen=True):
    """An allocation that is not worse than any other."""

    ranks: Ranks
    """Ranks of the allocation's pairs, the farthest first."""

    devices: tuple[int, ...]
    """The devices, as indices into the problem."""


def find_allocated_slots(built: Built, names: Collection[str]) -> tuple[int, ...]:
    """Return the slot of each request; for a request with alternatives, the slot of the allocated
    alternative.

    ``names`` are the allocated requests and alternatives: ``namespace/claim request``.
    """

    def slot_name(slot: int) -> str:
        request = built.asked[slot]
        return f"{request.claim.metadata.full_name} {request.full_name}"

    return tuple(
        next((slot for slot in slots if slot_name(slot) in names), slots[0])
        for slots in built.problem.requests
    )


class AllocationSearch:
    """The search for the best aligned allocation of one problem."""

    def __init__(
        self, problem: SearchProblem, grid: LocationGrid, slots: Sequence[int], goal: AlignmentGoal
    ) -> None:
        self.problem = problem
        self.slots = slots
        self.goal = goal
        kinds = {kind for pair in (goal.kinds, *dict(goal.required_ranks)) for kind in pair}
        self.grid = merge_locations(grid, self._device_masks(grid), kinds)
        self.masks = self._device_masks(self.grid)
        requests = [
            number
            for number, masks in enumerate(self.masks)
            if any(grid.kinds[location] in kinds for location in masks)
        ]
        self.order = sorted(requests, key=self._kind_order)
        self.best: BestAllocation | None = None
        self.met_infeasible_choice = False
        self.steps = 0
        self.ranks_by_sides: dict[tuple[object, ...], Ranks] = {}
        self.min_rank = self._find_min_rank(requests)

    def find_best(self) -> BestAllocation | None:
        """Return the best allocation; None if there is none. Raises TooManyAllocations."""
        first_solution = self._allocate({})
        if first_solution is None:
            return None
        self._record(first_solution)
        self._explore(0, {})
        return self.best

    # -- choices of locations --

    def _explore(self, depth: int, choice: Choice) -> None:
        """Try every choice of locations for the requests from ``depth`` on."""
        bound = self._lower_bound(choice)
        if self._is_beaten(bound):
            return
        if depth == len(self.order):
            self._try_choice(choice)
            return
        # Trying an incomplete choice costs one run of the allocator. This pays only after a
        # complete choice was infeasible, since the run can then rule out many choices at once.
        if self.met_infeasible_choice and choice and self._allocate(choice) is None:
            return
        request = self.order[depth]
        for locations in self._list_locations(request, choice):
            if self._is_beaten(bound):
                return
            self._count_steps(1)
            self._explore(depth + 1, {**choice, request: locations})

    def _is_beaten(self, bound: Ranks) -> bool:
        return self.best is not None and bound >= self.best.ranks

    def _try_choice(self, choice: Choice) -> None:
        if not self._is_better(choice):
            return
        solution = self._allocate(choice)
        if solution is None:
            self.met_infeasible_choice = True
        else:
            self._record(solution)

    def _list_locations(self, request: int, choice: Choice) -> Iterator[tuple[int, ...]]:
        """Yield the multisets of locations of a request's devices, near ones first."""
        slot, masks = self.problem.slots[self.slots[request]], self.masks[request]
        if slot.every is not None:
            yield tuple(self.grid.location_by_device[device] for device in slot.every)
            return
        chosen = [
            location
            for locations in choice.values()
            for location in locations
            if self.grid.kinds[location] in self.goal.kinds
        ]

        def nearness(location: int) -> tuple[int, int]:
            return min((self.grid.rank(location, c) for c in chosen), default=0), location

        locations = sorted(masks, key=nearness)
        capacities = [
            slot.need if masks[each] & self.problem.multi else masks[each].bit_count()
            for each in locations
        ]
        yield from _distribute(slot.need, locations, capacities)

    def _count_steps(self, steps: int) -> None:
        self.steps += steps
        if self.steps > _MAX_STEPS:
            raise TooManyAllocations

    # -- the value of a choice --

    def _ranks(self, choice: Choice, kinds: KindPair) -> Ranks:
        """Return the ranks of the pairs of two kinds."""
        first, second = self._sides(choice, kinds)
        key = (kinds, first, second)
        if key not in self.ranks_by_sides:
            other_side = None if kinds[0] == kinds[1] else second
            self.ranks_by_sides[key] = pair_ranks(first, other_side, self.grid.rank)
        return self.ranks_by_sides[key]

    def _sides(self, choice: Choice, kinds: KindPair) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the locations of the devices of each kind, in their order."""
        locations = sorted(location for group in choice.values() for location in group)
        first = tuple(each for each in locations if self.grid.kinds[each] == kinds[0])
        return first, tuple(each for each in locations if self.grid.kinds[each] == kinds[1])

    def _is_better(self, choice: Choice) -> bool:
        ranks = self._ranks(choice, self.goal.kinds)
        if len(ranks) != self.goal.pair_count or self._is_beaten(ranks):
            return False
        return all(
            self._ranks(choice, kinds) == required for kinds, required in self.goal.required_ranks
        )

    def _lower_bound(self, choice: Choice) -> Ranks:
        """Return ranks that no completion of a choice can improve on."""
        kinds = self.goal.kinds
        first, second = self._sides(choice, kinds)
        open_requests = [request for request in self.order if request not in choice]
        if not open_requests:
            return self._ranks(choice, kinds)
        if kinds[0] == kinds[1]:
            return self._pad(pair_ranks(first, None, self.grid.rank))
        if any(self._request_kind(request) == kinds[0] for request in open_requests):
            return self._pad(())
        open_locations = {
            location
            for request in open_requests
            for location in self.masks[request]
            if self.grid.kinds[location] == kinds[1]
        }
        return self._pad(self._nearest_ranks(first, {*second, *open_locations}))

    def _nearest_ranks(self, locations: Sequence[int], others: Collection[int]) -> list[int]:
        """Return, for each location, the rank of the level to the nearest of ``others``.

        If there are fewer locations than pairs, return the smallest rank for every pair, as a lower
        bound.
        """
        ranks = sorted(
            min((self.grid.rank(location, other) for other in others), default=0)
            for location in locations
        )
        is_complete = len(locations) == self.goal.pair_count
        return ranks if is_complete else ranks[:1] * self.goal.pair_count

    def _pad(self, ranks: Sequence[int]) -> Ranks:
        """Append the smallest possible rank for each pair whose rank is not in ``ranks``."""
        open_pairs = self.goal.pair_count - len(ranks)
        padded = sorted([*ranks, *([self.min_rank] * open_pairs)], reverse=True)
        return tuple(padded[: self.goal.pair_count])

    def _find_min_rank(self, requests: Sequence[int]) -> int:
        """Return the rank of the nearest possible pair."""
        locations = sorted({location for request in requests for location in self.masks[request]})
        if len(locations) > _MAX_LOCATIONS:
            raise TooManyAllocations
        first, second = (
            [location for location in locations if self.grid.kinds[location] == kind]
            for kind in self.goal.kinds
        )
        return min((self.grid.rank(a, b) for a in first for b in second), default=0)

    # -- the allocator --

    def _allocate(self, choice: Choice) -> Solution | None:
        """Return an allocation with the chosen locations; None if there is none."""
        self._count_steps(_STEPS_PER_ALLOCATION)
        outcome = search(self._restrict_problem(choice), _MAX_ALLOCATION_STEPS)
        if isinstance(outcome, Solution):
            return outcome
        if isinstance(outcome, NoSolution | Abort):
            return None
        raise TooManyAllocations

    def _restrict_problem(self, choice: Choice) -> SearchProblem:
        """Return the problem with a separate request for the devices of each chosen location."""
        slots: list[Slot] = []
        origins: list[int] = []
        for request, origin in enumerate(self.slots):
            slot = self.problem.slots[origin]
            for need, mask in self._split_request(request, choice):
                part = replace(
                    slot,
                    request=len(slots),
                    alternative=None,
                    need=need,
                    selectable=slot.selectable & mask,
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
            requests=tuple((number,) for number in range(len(slots))),
            choices=(False,) * len(slots),
            constraints=constraints,
        )

    def _split_request(self, request: int, choice: Choice) -> list[tuple[int, int]]:
        """Return the number and the mask of devices for each chosen location; if none is chosen,
        return one entry whose mask has all devices.
        """
        slot = self.problem.slots[self.slots[request]]
        locations = choice.get(request, ()) if slot.every is None else ()
        if not locations:
            return [(slot.need, -1)]
        masks = self.masks[request]
        return [(locations.count(each), masks[each]) for each in dict.fromkeys(locations)]

    def _record(self, solution: Solution) -> None:
        """Keep a solution if it is better than the best so far."""
        devices = tuple(device for _, device in solution.picks)
        choice = {0: tuple(self.grid.location_by_device[device] for device in devices)}
        if self._is_better(choice):
            self.best = BestAllocation(self._ranks(choice, self.goal.kinds), devices)

    # -- requests --

    def _device_masks(self, grid: LocationGrid) -> list[dict[int, int]]:
        """Return the devices that each request may get, by location."""
        masks: list[dict[int, int]] = []
        for number in self.slots:
            slot = self.problem.slots[number]
            by_location: dict[int, int] = {}
            for device in self._list_devices(slot):
                location = grid.location_by_device[device]
                by_location[location] = by_location.get(location, 0) | 1 << device
            masks.append(by_location)
        return masks

    def _list_devices(self, slot: Slot) -> Iterator[int]:
        free = slot.selectable & ~slot.refused & ~slot.tainted & ~slot.faults
        return bits(free if slot.admin else free & ~self.problem.held)

    def _request_kind(self, request: int) -> str:
        """Return the kind of a request's devices; if some device has a kind of the goal, return
        that kind.
        """
        kinds = [self.grid.kinds[location] for location in self.masks[request]]
        return next((kind for kind in kinds if kind in self.goal.kinds), kinds[0])

    def _kind_order(self, request: int) -> int:
        """Return a sort key for requests: requests for the first kind come first."""
        kind = self._request_kind(request)
        return [*self.goal.kinds, kind].index(kind)


def _distribute(
    need: int, locations: Sequence[int], capacities: Sequence[int], start: int = 0
) -> Iterator[tuple[int, ...]]:
    """Yield the ways to take ``need`` devices, beginning with as many as possible from early
    locations.
    """
    if not need:
        yield ()
        return
    if sum(min(capacity, need) for capacity in capacities[start:]) < need:
        return
    for count in range(min(need, capacities[start]), -1, -1):
        for following in _distribute(need - count, locations, capacities, start + 1):
            yield (locations[start],) * count + following
