"""The alignment of claims that are allocated in a cluster."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations_with_replacement

from msgspec import Struct
from msgspec.structs import replace

from dractl.alignment.best import Best, Choices, Grid, TooMany, taken
from dractl.alignment.distance import (
    KINDS,
    NOWHERE,
    SAME,
    Distance,
    Levels,
    Location,
    distance,
    kind,
    place,
)
from dractl.alignment.improvement import candidates
from dractl.alignment.pairing import Positions, paired
from dractl.alignment.quality import Alignment, Improvement, Pair, counted, levels, share
from dractl.allocation import AllocatedState, Allocator, DeviceID
from dractl.allocation.faults import AttemptFailed
from dractl.cluster.devices import Devices, result_device
from dractl.cluster.pods import ended
from dractl.cluster.state import ClusterState, Key, map_at, maps_at, text_at
from dractl.model import Node, ResourceClaim
from dractl.objects import Raw
from dractl.scheduler.attempt import Scheduler

_UNKNOWN = "it depends on levels that nothing tells"
_DEVICES = 64  # of one kind, of one pod; a claim has at most 32
_MANY = "there are too many allocations to compare"


class Aligner:
    """Judges allocations in one cluster."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.state = scheduler.state
        # What a node could give does not depend on the bugs of the release's search.
        features = replace(scheduler.features, upstream_bugs=False)
        self.features = features
        self.devices = Devices(self.state, scheduler.slices)
        self.allocator = Allocator(scheduler.slices, self.state.classes, features=features)
        self.nodes = scheduler.nodes
        self.levels = {
            name: Levels.of(machine, source)
            for name, (machine, source) in self.state.machines.items()
        }
        self._homes: dict[tuple[str, str], dict[str, str | None]] = {}
        self._known: dict[object, Best | None] = {}
        self._places: dict[tuple[DeviceID, str | None], Location] = {}

    def node_of(self, claims: Sequence[Raw]) -> str | None:
        """The node of allocated claims: the only one that has devices of them; None for several, and for none."""
        found = {self._home(device) for device in _allocated(claims)} - {None}
        return found.pop() if len(found) == 1 else None

    def of_claims(self, claims: Sequence[Raw], node: str | None = None) -> tuple[Alignment, ...]:
        """The alignments of the devices of claims that one pod uses: one for each two kinds that it has.

        ``node``: where the pod runs, else the devices' own."""
        where = self.node_of(claims) if node is None else node
        devices = _allocated(claims)
        places = {device: self._place(device, where) for device in devices}
        found = []
        for kinds in KINDS:
            first, second = ([d for d in devices if places[d].kind == kind] for kind in kinds)
            if len(first) > _DEVICES or len(second) > _DEVICES:
                found.append(Alignment(kinds, (), {}, why=_MANY))
            elif first and (len(first) > 1 if kinds[0] == kinds[1] else second):
                found.append(self._alignment(kinds, first, second, places, claims, where))
        return tuple(found)

    def places(self, node: str) -> dict[DeviceID, Location]:
        """Where the devices of a node are."""
        return {
            device: self._place(device, node)
            for item in self.devices.slices
            if item.spec.node_name == node
            for published in item.spec.devices
            for device in [DeviceID(item.spec.driver, item.spec.pool.name, published.name)]
        }

    def _home(self, device: DeviceID) -> str | None:
        """The node that a device is on; None for one that several nodes reach, or that no slice has."""
        pool = (device.driver, device.pool)
        if pool not in self._homes:
            self._homes[pool] = {
                published.name: item.spec.node_name or published.node_name
                for item in self.devices.pool(*pool)
                for published in item.spec.devices
            }
        return self._homes[pool].get(device.device)

    @cached_property
    def _held(self) -> dict[str | None, list[ResourceClaim]]:
        """Allocated claims by the nodes whose devices they have; those of other devices on every node."""
        found: dict[str | None, list[ResourceClaim]] = {node: [] for node in self.nodes}
        for claim in self.state.decoded_claims:
            allocation = claim.status.allocation if claim.status is not None else None
            results = allocation.devices.results if allocation is not None else ()
            homes = {self._home(DeviceID(r.driver, r.pool, r.device)) for r in results}
            for node in found if None in homes else homes & found.keys():
                found[node].append(claim)
        return found

    def _place(self, device: DeviceID, node: str | None) -> Location:
        key = (device, node)
        if key not in self._places:
            published = self.devices.get(device)
            if published is None or node is None or self._home(device) != node:
                self._places[key] = replace(NOWHERE, kind=kind(device.driver))
            else:
                self._places[key] = place(device.driver, published, self.levels.get(node))
        return self._places[key]

    def _alignment(
        self,
        kinds: tuple[str, str],
        first: Sequence[DeviceID],
        second: Sequence[DeviceID],
        places: Mapping[DeviceID, Location],
        claims: Sequence[Raw],
        node: str | None,
    ) -> Alignment:
        known = self.levels.get(node or "")
        every = [*first, *second]

        def apart(a: int, b: int) -> Distance:
            return (
                SAME
                if every[a] == every[b]
                else distance(places[every[a]], places[every[b]], known)
            )

        others = None if kinds[0] == kinds[1] else range(len(first), len(every))
        between = paired(range(len(first)), others, lambda a, b: apart(a, b).far)
        distances = [apart(a, b) for a, b in between]
        nearest = paired(range(len(first)), others, lambda a, b: apart(a, b).near)
        actual = [d.far for d in distances], [apart(a, b).near for a, b in nearest]
        pairs = tuple(
            Pair(str(every[a]), str(every[b]), d.level, d.source)
            for (a, b), d in zip(between, distances, strict=True)
        )
        found = Alignment(kinds, pairs, levels(distances))
        if node is None or node not in self.nodes:
            return replace(found, why="its devices are not on one node")
        return self._compared(found, actual, claims, node)

    def _compared(
        self,
        found: Alignment,
        actual: tuple[list[int], list[int]],
        claims: Sequence[Raw],
        node: str,
    ) -> Alignment:
        """The alignment with the best that the node could give. ``actual``: its positions with unknown levels as far as
        they can be, and as near."""
        wanted = [self.state.decode(claim) for claim in claims]
        keys = {claim.metadata.full_name for claim in wanted}
        held = [c for c in self._held.get(node, ()) if c.metadata.full_name not in keys]
        now = self.allocator.replace(state=AllocatedState.from_claims(held, self.features))
        try:
            free_positions = self._best(self.allocator, node, wanted, found, len(actual[0]))
            # What others hold is not known where their claims may not be read.
            blind = any(one.kind == "ResourceClaim" for one in self.state.rights.unread)
            now_positions = None if blind else self._best(now, node, wanted, found, len(actual[0]))
        except TooMany:
            return replace(found, why=_MANY)
        except AttemptFailed as failed:
            return replace(found, why=failed.fault.text)
        if free_positions is None:
            gone = [d for d in _allocated(claims) if not self._place(d, node).known]
            return replace(found, why=f"{gone[0]} is in no slice of {node}" if gone else _UNKNOWN)
        found = replace(
            found, best_free=counted(free_positions), share=share(*actual, free_positions)
        )
        if now_positions is None:
            return found
        found = replace(
            found, best_now=counted(now_positions), share_now=share(*actual, now_positions)
        )
        if found.share_now is not None and found.share_now[1] < 1:
            found = replace(
                found, improvement=self._improvement(now, node, claims, found, now_positions)
            )
        return found

    def _best(
        self,
        allocator: Allocator,
        node: str,
        claims: Sequence[ResourceClaim],
        found: Alignment,
        pairs: int,
    ) -> Positions | None:
        """The positions of the best allocation; None if it depends on what is unknown, or there is none."""
        best = self.best(allocator, node, claims, found.kinds, pairs)
        return None if best is None else best.positions

    def best(
        self,
        allocator: Allocator,
        node: str,
        claims: Sequence[ResourceClaim],
        kinds: tuple[str, str],
        pairs: int,
        also: Mapping[tuple[str, str], Positions] | None = None,
    ) -> Best | None:
        """The best aligned allocation of claims; None if it depends on levels that are unknown, or there is none.

        ``also``: only allocations with these positions of other kinds count. Raises TooMany and AttemptFailed."""
        built = allocator.problem(self._node(node), claims)
        known = self.levels.get(node)
        numbers: dict[Location, int] = {}
        of = []
        for offer in built.devices.offers:
            where = NOWHERE if offer.candidate is None else self._place(offer.candidate.id, node)
            of.append(numbers.setdefault(where, len(numbers)))
        slots = taken(
            built, {f"{c.metadata.full_name} {name}" for c in claims for name in _requests(c)}
        )
        # Equal nodes have equal answers.
        key = (
            built.problem,
            tuple(of),
            tuple(numbers),
            slots,
            kinds,
            pairs,
            tuple((also or {}).items()),
            id(known),
        )
        if key not in self._known:
            places = list(numbers)

            def best(*, near: bool) -> Best | None:
                grid = _grid(of, places, known, near=near)
                return Choices(built.problem, grid, slots, kinds, pairs, also or {}).best()

            near = far = best(near=True)
            both = [where for where in places if where.kind in kinds]
            if any(
                distance(a, b, known).level is None
                for a, b in combinations_with_replacement(both, 2)
            ):
                far = best(near=False)
            agree = near is not None and far is not None and near.positions == far.positions
            self._known[key] = near if agree else None
        return self._known[key]

    def choose(
        self,
        node: str,
        claims: Sequence[ResourceClaim],
        alignments: Sequence[Alignment],
        taken: frozenset[DeviceID],
    ) -> frozenset[DeviceID]:
        """Devices for claims on a node, beside what others hold and have ``taken``, that are as well aligned as on the
        free node; empty if there are none, or if devices are shared. Raises TooMany and AttemptFailed."""
        state = AllocatedState.from_claims(self._held.get(node, ()), self.features)
        now = self.allocator.replace(state=replace(state, devices=state.devices | taken))
        built = now.problem(self._node(node), claims)
        if built.problem.multi:
            return frozenset()
        free: dict[tuple[str, str], Positions] = {}
        for wanted in alignments:
            best = self.best(self.allocator, node, claims, wanted.kinds, len(wanted.pairs))
            if best is None:
                return frozenset()
            free[wanted.kinds] = best.positions
        last = alignments[-1]
        others = {kinds: positions for kinds, positions in free.items() if kinds != last.kinds}
        found = self.best(now, node, claims, last.kinds, len(last.pairs), others)
        if found is None or found.positions != free[last.kinds]:
            return frozenset()
        return frozenset(built.candidate(number).id for number in found.devices)

    def _node(self, name: str) -> Node:
        node: Node = self.state.decode(self.nodes[name].raw)
        return node

    def requests(self, found: Alignment, claims: Sequence[Raw]) -> list[list[str]]:
        """The names of the requests for each kind of devices of an alignment."""
        return _asking(found, claims)[1]

    def _improvement(
        self,
        now: Allocator,
        node: str,
        claims: Sequence[Raw],
        found: Alignment,
        best_now: Positions,
    ) -> Improvement | None:
        """A constraint with which the scheduler's first choice is as good as the best one."""
        claim, names = _asking(found, claims)
        if claim is None:
            return None  # no constraint covers requests of several claims
        for constraint, changed in candidates(claims[claim], names):
            asked = [self.state.decode(changed if n == claim else c) for n, c in enumerate(claims)]
            picks = self._first(now, node, asked)
            if picks is not None and self._positions(picks, found.kinds, node) == best_now:
                return constraint
        return None

    def _first(
        self, allocator: Allocator, node: str, claims: Sequence[ResourceClaim]
    ) -> list[DeviceID] | None:
        results = getattr(allocator.allocate(self._node(node), claims), "results", None)
        if results is None:
            return None
        return [
            DeviceID(d.driver, d.pool, d.device)
            for r in results
            for d in r.devices.results
            if not d.admin_access
        ]

    def _positions(
        self, devices: Sequence[DeviceID], kinds: tuple[str, str], node: str
    ) -> Positions:
        known = self.levels.get(node)
        places = [self._place(device, node) for device in devices]

        def far(a: int, b: int) -> int:
            return distance(places[a], places[b], known).far

        first, second = ([n for n, p in enumerate(places) if p.kind == kind] for kind in kinds)
        found = paired(first, None if kinds[0] == kinds[1] else second, far)
        return tuple(sorted((far(a, b) for a, b in found), reverse=True))


def _grid(
    of: Sequence[int], places: Sequence[Location], known: Levels | None, *, near: bool
) -> Grid:
    """The distances of places; unknown ones as ``near`` as they can be, or as far."""
    memory: dict[tuple[int, int], int] = {}

    def far(a: int, b: int) -> int:
        key = (a, b) if a <= b else (b, a)
        if key not in memory:
            found = distance(places[a], places[b], known)
            memory[key] = found.near if near else found.far
        return memory[key]

    return Grid(of, [place.kind for place in places], far)


def _allocated(claims: Sequence[Raw]) -> list[DeviceID]:
    return [
        result_device(result)
        for claim in claims
        for result in maps_at(claim, "status", "allocation", "devices", "results")
        if result.get("adminAccess") is not True
    ]


def _requests(claim: ResourceClaim) -> list[str]:
    allocation = claim.status.allocation if claim.status is not None else None
    return (
        [result.request for result in allocation.devices.results] if allocation is not None else []
    )


def _asking(found: Alignment, claims: Sequence[Raw]) -> tuple[int | None, list[list[str]]]:
    """The only claim that asks for the devices of an alignment (None for several), and the requests for each kind."""
    both = [{pair.a for pair in found.pairs}, {pair.b for pair in found.pairs}]
    sides = [both[0] | both[1]] if found.kinds[0] == found.kinds[1] else both
    asking = set()
    names: list[dict[str, None]] = [{} for _ in sides]
    for number, claim in enumerate(claims):
        for result in maps_at(claim, "status", "allocation", "devices", "results"):
            for side, devices in enumerate(sides):
                if str(result_device(result)) in devices:
                    asking.add(number)
                    names[side].setdefault(text_at(result, "request").partition("/")[0])
    return asking.pop() if len(asking) == 1 else None, [list(those) for those in names]


# -- everything that is allocated in a cluster, the worst first --


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
        return sum(part[0] * pairs for part, pairs in counted if part) / sum(
            pairs for _, pairs in counted
        )


def uses(scheduler: Scheduler, tell: Callable[[str], None] = lambda _: None) -> tuple[Use, ...]:
    """Everything with at least one pair of devices, the smallest share of the best first, unknown ones last."""
    aligner = Aligner(scheduler)
    found = []
    for number, (pod, keys, claims) in enumerate(_by_pod(scheduler.state)):
        if number % 100 == 99:
            tell(f"comparing allocations ({number + 1})")
        node = None if pod is None else text_at(pod[1], "spec", "nodeName") or None
        alignments = aligner.of_claims(claims, node)
        if alignments:
            where = node if node is not None else aligner.node_of(claims)
            names = tuple("/".join(key) for key in keys)
            found.append(Use(None if pod is None else "/".join(pod[0]), names, where, alignments))
    return tuple(
        sorted(
            found, key=lambda use: (use.share is None, use.share or 0, use.pod or "", use.claims)
        )
    )


def _by_pod(state: ClusterState) -> Iterator[tuple[tuple[Key, Raw] | None, list[Key], list[Raw]]]:
    """Allocated claims by the pod that uses them; a claim that several pods use with each of them."""
    left = {
        key: claim
        for key, claim in state.all("ResourceClaim").items()
        if map_at(claim, "status", "allocation")
    }
    alone = dict(left)
    for key, pod in state.all("Pod").items():
        keys = [claim for claim in state.claims_of_pod(key) if claim in left]
        if keys and not ended(pod):
            for claim in keys:
                alone.pop(claim, None)
            yield (key, pod), keys, [left[claim] for claim in keys]
    for claim, value in alone.items():
        yield None, [claim], [value]
