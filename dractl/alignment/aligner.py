"""The alignment of claims that are allocated in a cluster."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.alignment.allocation_search import AlignmentGoal, BestAllocation, TooManyAllocations
from dractl.alignment.distance import KIND_PAIRS, SAME_DEVICE, Distance, KindPair, distance
from dractl.alignment.improvement import propose_constraints
from dractl.alignment.locator import DeviceLocator, device_id, list_allocated_devices
from dractl.alignment.optimizer import Optimizer
from dractl.alignment.pairing import Ranks, pair_devices
from dractl.alignment.quality import (
    Alignment,
    Improvement,
    Pair,
    count_distances,
    count_levels,
    share_of_best,
)
from dractl.allocation import AllocatedState, Allocator, DeviceID
from dractl.allocation.faults import AttemptFailed
from dractl.model import ResourceClaim
from dractl.objects import Raw
from dractl.properties import cached_property
from dractl.scheduler.attempt import Scheduler
from dractl.views import Claim

_MAX_DEVICES_PER_KIND = 64
"""The maximum number of devices of one pod that are compared; one claim has at most 32 devices."""
_UNKNOWN_LEVELS = "it depends on unknown levels"
_TOO_MANY = "there are too many allocations to compare"
_SEVERAL_NODES = "its devices are not on one node"
_NO_SLICES = "the input has no ResourceSlices"


class ClaimDevices(Struct, frozen=True):
    """The allocated devices of two kinds that one pod uses."""

    claims: Sequence[Raw]
    """The claims of the pod."""

    node: str | None
    """The node of the pod; None if its devices are not on one node."""

    kinds: KindPair
    """The two kinds, or one kind twice."""

    first: tuple[DeviceID, ...]
    """Devices of the first kind."""

    second: tuple[DeviceID, ...]
    """Devices of the second kind."""

    @property
    def is_pair(self) -> bool:
        """Whether there are two devices to compare."""
        if self.kinds[0] == self.kinds[1]:
            return len(self.first) > 1
        return bool(self.first and self.second)


class MeasuredPairs(Struct, frozen=True):
    """Pairs of devices with their distances."""

    pairs: tuple[Pair, ...]
    """The pairs; an unknown level counts as the farthest possible level."""

    levels: Mapping[str, int]
    """Number of pairs by level."""

    max_ranks: tuple[int, ...]
    """Ranks of ``pairs``."""

    min_ranks: tuple[int, ...]
    """Ranks of the pairs if an unknown level counts as the nearest possible level."""


class Aligner:
    """Compares the allocations in one cluster with the best possible ones."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.state = scheduler.state
        # The best alignment that a node could provide is a property of its devices, so it is
        # computed without the bugs in the release's search.
        self.features = replace(scheduler.features, upstream_bugs=False)
        self.allocator = Allocator(scheduler.slices, self.state.classes, features=self.features)
        self.nodes = scheduler.nodes
        self.locator = DeviceLocator(self.state, scheduler.slices)
        self.optimizer = Optimizer(self.state, self.nodes, self.locator)

    def find_node(self, claims: Sequence[Raw]) -> str | None:
        """Return the only node that has devices of the claims; None for none or several."""
        nodes = {self.locator.find_node(device) for device in list_allocated_devices(claims)}
        nodes -= {None}
        return nodes.pop() if len(nodes) == 1 else None

    def align_claims(self, claims: Sequence[Raw], node: str | None = None) -> tuple[Alignment, ...]:
        """Return an alignment for each two kinds of devices in the claims of one pod.

        ``node`` is the node of the pod; if it is None, the node of the devices is used.
        """
        if node is None:
            node = self.find_node(claims)
        devices = list_allocated_devices(claims)
        kinds = {device: self.locator.locate(device, node).kind for device in devices}
        alignments: list[Alignment] = []
        for pair in KIND_PAIRS:
            first, second = (tuple(d for d in devices if kinds[d] == kind) for kind in pair)
            claim_devices = ClaimDevices(claims, node, pair, first, second)
            if max(len(first), len(second)) > _MAX_DEVICES_PER_KIND:
                alignments.append(Alignment(pair, (), {}, comparison_failure=_TOO_MANY))
            elif claim_devices.is_pair:
                alignments.append(self._align(claim_devices))
        return tuple(alignments)

    def _align(self, devices: ClaimDevices) -> Alignment:
        measured = self._measure(devices)
        alignment = Alignment(devices.kinds, measured.pairs, measured.levels)
        if not self.state.covers("ResourceSlice"):
            return replace(alignment, comparison_failure=_NO_SLICES)
        if devices.node is None or devices.node not in self.nodes:
            return replace(alignment, comparison_failure=_SEVERAL_NODES)
        try:
            return self._compare_with_best(alignment, devices, devices.node, measured)
        except TooManyAllocations:
            return replace(alignment, comparison_failure=_TOO_MANY)
        except AttemptFailed as failure:
            return replace(alignment, comparison_failure=failure.fault.text)

    def _measure(self, devices: ClaimDevices) -> MeasuredPairs:
        """Pair the devices twice: with unknown levels as the farthest, and as the nearest."""
        every = (*devices.first, *devices.second)
        locations = [self.locator.locate(device, devices.node) for device in every]
        levels = self.locator.levels.get(devices.node or "")

        def measure(a: int, b: int) -> Distance:
            return (
                SAME_DEVICE
                if every[a] == every[b]
                else distance(locations[a], locations[b], levels)
            )

        is_one_kind = devices.kinds[0] == devices.kinds[1]
        first = range(len(devices.first))
        second = None if is_one_kind else range(len(devices.first), len(every))
        pairs = pair_devices(first, second, lambda a, b: measure(a, b).max_rank)
        near_pairs = pair_devices(first, second, lambda a, b: measure(a, b).min_rank)
        distances = [measure(a, b) for a, b in pairs]
        return MeasuredPairs(
            pairs=tuple(
                Pair(str(every[a]), str(every[b]), apart.level, apart.source)
                for (a, b), apart in zip(pairs, distances, strict=True)
            ),
            levels=count_distances(distances),
            max_ranks=tuple(apart.max_rank for apart in distances),
            min_ranks=tuple(measure(a, b).min_rank for a, b in near_pairs),
        )

    # -- the best --

    def _compare_with_best(
        self, alignment: Alignment, devices: ClaimDevices, node: str, measured: MeasuredPairs
    ) -> Alignment:
        """Add the best levels that the empty node could provide, the best levels that are possible
        beside the other claims, and an improvement if these are better.
        """
        goal = AlignmentGoal(devices.kinds, len(measured.pairs))
        claims = [self.state.decode(claim) for claim in devices.claims]
        best_free = self.optimizer.find_best(self.allocator, node, claims, goal)
        allocator = self._allocator_beside_others(node, claims)
        best_now = None
        if not self._may_miss_holders:
            best_now = self.optimizer.find_best(allocator, node, claims, goal)
        if best_free is None:
            failure = self._describe_unknown_best(devices)
            return replace(alignment, comparison_failure=failure)
        alignment = replace(
            alignment,
            best_free=count_levels(best_free.ranks),
            share=share_of_best(measured.min_ranks, measured.max_ranks, best_free.ranks),
        )
        if best_now is None:
            return alignment
        share_now = share_of_best(measured.min_ranks, measured.max_ranks, best_now.ranks)
        alignment = replace(alignment, best_now=count_levels(best_now.ranks), share_now=share_now)
        if share_now[1] == 1:
            return alignment
        improvement = self._find_improvement(allocator, alignment, devices, node, best_now.ranks)
        return replace(alignment, improvement=improvement)

    @property
    def _may_miss_holders(self) -> bool:
        """Return True if claims that hold devices may be missing, because access to claims is
        denied.
        """
        return any(unread.kind == "ResourceClaim" for unread in self.state.rights.unread)

    def _describe_unknown_best(self, devices: ClaimDevices) -> str:
        for device in list_allocated_devices(devices.claims):
            if not self.locator.locate(device, devices.node).is_known:
                return f"{device} is in no slice of {devices.node}"
        return _UNKNOWN_LEVELS

    def _allocator_beside_others(self, node: str, claims: Sequence[ResourceClaim]) -> Allocator:
        """Return the allocator of a cluster in which all claims except these hold their devices."""
        names = {claim.metadata.full_name for claim in claims}
        others = [
            claim
            for claim in self._claims_by_node.get(node, ())
            if claim.metadata.full_name not in names
        ]
        return self.allocator.replace(state=AllocatedState.from_claims(others, self.features))

    @cached_property
    def _claims_by_node(self) -> dict[str | None, list[ResourceClaim]]:
        """Allocated claims by the node of their devices.

        A claim is listed for every node if the node of one of its devices is unknown.
        """
        claims: dict[str | None, list[ResourceClaim]] = {node: [] for node in self.nodes}
        for claim in self.state.decoded_claims:
            allocation = claim.status.allocation if claim.status is not None else None
            devices = allocation.devices.results if allocation is not None else ()
            nodes = {self.locator.find_node(DeviceID(d.driver, d.pool, d.device)) for d in devices}
            for node in claims if None in nodes else claims.keys() & nodes:
                claims[node].append(claim)
        return claims

    def _find_improvement(
        self,
        allocator: Allocator,
        alignment: Alignment,
        devices: ClaimDevices,
        node: str,
        best_ranks: Ranks,
    ) -> Improvement | None:
        """Return a constraint that makes the scheduler's first choice as good as the best
        allocation.
        """
        requests = find_requests(alignment, devices.claims)
        if requests.claim is None:
            return None  # no constraint can apply to requests of several claims
        for improvement, constrained in propose_constraints(
            devices.claims[requests.claim], requests.names
        ):
            claims = [
                self.state.decode(constrained if number == requests.claim else claim)
                for number, claim in enumerate(devices.claims)
            ]
            chosen = self.optimizer.choose_first(allocator, node, claims)
            if chosen is None:
                continue
            if self.optimizer.rank_pairs(chosen, alignment.kinds, node) == best_ranks:
                return improvement
        return None

    # -- choices --

    def choose_devices(
        self,
        node: str,
        claims: Sequence[ResourceClaim],
        alignments: Sequence[Alignment],
        excluded: frozenset[DeviceID],
    ) -> frozenset[DeviceID]:
        """Choose free devices for claims, as well aligned as on the empty node.

        The choice avoids ``excluded``. It is empty if no free devices are as good, or if devices
        are shared. Raises TooManyAllocations and AttemptFailed.
        """
        held = AllocatedState.from_claims(self._claims_by_node.get(node, ()), self.features)
        allocator = self.allocator.replace(state=replace(held, devices=held.devices | excluded))
        built = allocator.problem(self.optimizer.decode_node(node), claims)
        if built.problem.multi:
            return frozenset()
        best_ranks: dict[KindPair, Ranks] = {}
        for alignment in alignments:
            goal = AlignmentGoal(alignment.kinds, len(alignment.pairs))
            best = self.optimizer.find_best(self.allocator, node, claims, goal)
            if best is None:
                return frozenset()
            best_ranks[alignment.kinds] = best.ranks
        chosen = self._find_equal(allocator, node, claims, alignments[-1], best_ranks)
        if chosen is None:
            return frozenset()
        return frozenset(built.candidate(number).id for number in chosen.devices)

    def _find_equal(
        self,
        allocator: Allocator,
        node: str,
        claims: Sequence[ResourceClaim],
        alignment: Alignment,
        best_ranks: Mapping[KindPair, Ranks],
    ) -> BestAllocation | None:
        """Return an allocation that is best for every pair of kinds; None if there is none."""
        kinds = alignment.kinds
        required = tuple((pair, ranks) for pair, ranks in best_ranks.items() if pair != kinds)
        goal = AlignmentGoal(kinds, len(alignment.pairs), required)
        best = self.optimizer.find_best(allocator, node, claims, goal)
        return best if best is not None and best.ranks == best_ranks[kinds] else None


class AlignedRequests(Struct, frozen=True):
    """The requests for the devices of an alignment."""

    claim: int | None
    """Index of the claim that has all the requests; None if they belong to several claims."""

    names: list[list[str]]
    """Names of the requests for each kind."""


def find_requests(alignment: Alignment, claims: Sequence[Raw]) -> AlignedRequests:
    """Return the requests for which the devices of an alignment are allocated."""
    sides = [{pair.a for pair in alignment.pairs}, {pair.b for pair in alignment.pairs}]
    if alignment.kinds[0] == alignment.kinds[1]:
        sides = [sides[0] | sides[1]]
    names: list[dict[str, None]] = [{} for _ in sides]
    numbers: set[int] = set()
    for number, claim in enumerate(map(Claim, claims)):
        for allocated in claim.allocated_devices:
            device = str(device_id(allocated))
            for side, devices in enumerate(sides):
                if device in devices:
                    numbers.add(number)
                    names[side].setdefault(allocated.request.partition("/")[0])
    only_claim = numbers.pop() if len(numbers) == 1 else None
    return AlignedRequests(only_claim, [list(side) for side in names])
