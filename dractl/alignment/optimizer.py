"""The best aligned allocations of claims on the nodes of a cluster."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations_with_replacement
from operator import attrgetter

from dractl import views
from dractl.alignment.allocation_search import (
    AlignmentGoal,
    AllocationSearch,
    BestAllocation,
    find_allocated_slots,
)
from dractl.alignment.distance import UNKNOWN_LOCATION, Distance, Levels, Location, distance
from dractl.alignment.grid import build_grid
from dractl.alignment.locator import DeviceLocator
from dractl.alignment.pairing import Ranks, pair_ranks
from dractl.allocation import Allocator, DeviceID
from dractl.allocation.build import Built
from dractl.cluster.state import ClusterState
from dractl.model import Node, ResourceClaim

_MIN_RANK: Callable[[Distance], int] = attrgetter("min_rank")
_MAX_RANK: Callable[[Distance], int] = attrgetter("max_rank")


class Optimizer:
    """Finds the best allocations; equal nodes share one search."""

    def __init__(
        self, state: ClusterState, nodes: Mapping[str, views.Node], locator: DeviceLocator
    ) -> None:
        self.state = state
        self.nodes = nodes
        self.locator = locator
        self._best: dict[object, BestAllocation | None] = {}

    def decode_node(self, name: str) -> Node:
        """Return a node in the form that the allocator uses."""
        node: Node = self.state.decode(self.nodes[name].raw)
        return node

    def find_best(
        self, allocator: Allocator, node: str, claims: Sequence[ResourceClaim], goal: AlignmentGoal
    ) -> BestAllocation | None:
        """Return the best allocation of claims on a node.

        None if there is no allocation, or if the choice of the best one depends on unknown levels.
        Raises TooManyAllocations and AttemptFailed.
        """
        built = allocator.problem(self.decode_node(node), claims)
        numbers: dict[Location, int] = {}
        location_by_device = [
            numbers.setdefault(location, len(numbers))
            for location in self._list_locations(built, node)
        ]
        slots = find_allocated_slots(built, _list_allocated_requests(claims))
        levels = self.locator.levels.get(node)
        # The locator keeps the levels of a machine, so their id() is not reused.
        key = (built.problem, tuple(location_by_device), tuple(numbers), slots, goal, id(levels))
        if key not in self._best:

            def search(rank: Callable[[Distance], int]) -> BestAllocation | None:
                grid = build_grid(location_by_device, list(numbers), levels, rank)
                return AllocationSearch(built.problem, grid, slots, goal).find_best()

            self._best[key] = _find_certain_best(list(numbers), levels, goal, search)
        return self._best[key]

    def _list_locations(self, built: Built, node: str) -> list[Location]:
        """Return the location of each device of a problem, by its number."""
        return [
            UNKNOWN_LOCATION
            if offer.candidate is None
            else self.locator.locate(offer.candidate.id, node)
            for offer in built.devices.offers
        ]

    def choose_first(
        self, allocator: Allocator, node: str, claims: Sequence[ResourceClaim]
    ) -> list[DeviceID] | None:
        """Return the devices that kube-scheduler would choose; None if the claims do not fit."""
        outcome = allocator.allocate(self.decode_node(node), claims)
        allocations = getattr(outcome, "results", None)
        if allocations is None:
            return None
        return [
            DeviceID(device.driver, device.pool, device.device)
            for allocation in allocations
            for device in allocation.devices.results
            if not device.admin_access
        ]

    def rank_pairs(self, devices: Sequence[DeviceID], kinds: tuple[str, str], node: str) -> Ranks:
        """Return the ranks of the pairs of two kinds; an unknown level gets the worst possible
        rank.
        """
        levels = self.locator.levels.get(node)
        locations = [self.locator.locate(device, node) for device in devices]

        def rank(a: int, b: int) -> int:
            return distance(locations[a], locations[b], levels).max_rank

        first, second = (
            [number for number, location in enumerate(locations) if location.kind == kind]
            for kind in kinds
        )
        return pair_ranks(first, None if kinds[0] == kinds[1] else second, rank)


def _find_certain_best(
    locations: Sequence[Location],
    levels: Levels | None,
    goal: AlignmentGoal,
    search: Callable[[Callable[[Distance], int]], BestAllocation | None],
) -> BestAllocation | None:
    """Return the best allocation; None if the result depends on unknown levels."""
    nearest = farthest = search(_MIN_RANK)
    relevant = [location for location in locations if location.kind in goal.kinds]
    pairs = combinations_with_replacement(relevant, 2)
    if any(distance(a, b, levels).level is None for a, b in pairs):
        farthest = search(_MAX_RANK)
    if nearest is None or farthest is None or nearest.ranks != farthest.ranks:
        return None
    return nearest


def _list_allocated_requests(claims: Sequence[ResourceClaim]) -> set[str]:
    """Return the allocated requests and alternatives as ``namespace/claim request``."""
    return {
        f"{claim.metadata.full_name} {device.request}"
        for claim in claims
        if claim.status is not None and claim.status.allocation is not None
        for device in claim.status.allocation.devices.results
    }
