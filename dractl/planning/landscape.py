"""The demands of pods on each node, the devices that are free there, and the pods in the way. All
counts are bounds. If they exclude a place, kube-scheduler would refuse it; if they allow a place,
the proof runs the scheduler.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations, product
from math import prod

from msgspec import Struct

from dractl.allocation import AllocatedState, DeviceID
from dractl.allocation.survey import RequestSurvey, Survey
from dractl.cluster.changes import Delete, apply
from dractl.model import ResourceClaim
from dractl.objects import Raw
from dractl.planning.movable import Movability, Unit
from dractl.properties import cached_property
from dractl.scheduler.attempt import Scheduler
from dractl.scheduler.snapshot import NodeInfo
from dractl.views import Pod

MAX_PLACES = 64
"""The maximum number of ways to satisfy constraints on one node; if there are more, the constraints
are left to the proof.
"""
MAX_BLOCKERS = 24
"""The maximum number of pods on one node whose combinations are examined; pods that hold the most
come first.
"""


class Demand(Struct, frozen=True):
    """A demand for a number of devices out of a set."""

    devices: frozenset[DeviceID]
    """The devices that can be used, even if a movable pod holds them now."""

    count: int
    """The number of devices that are needed."""


_RequestKey = tuple[int, str]
"""The index of a claim, and the name of one of its requests."""

Place = tuple[Demand, ...]
"""The demands of one way to place a pod on a node, all of which must be met."""


class Client(Struct, frozen=True):
    """A pod that needs a place."""

    pod: Pod
    """The pod as its owner would create it."""

    kind: int
    """A number that all pods share that the scheduler cannot tell apart."""


class Layout(Struct, frozen=True):
    """Moves so far: the units that have left, and the pods that have arrived."""

    left: frozenset[Unit] = frozenset()
    """The units that have left their nodes."""

    arrivals: Mapping[str, tuple[Client, ...]] = {}
    """The pods that have arrived, by node."""

    def add(self, client: Client, node: str, units: Iterable[Unit] = ()) -> "Layout":
        """Return the layout after ``units`` have left and a pod has arrived on a node."""
        arrivals = {**self.arrivals, node: (*self.arrivals.get(node, ()), client)}
        return Layout(self.left | frozenset(units), arrivals)

    def leave(self, units: Iterable[Unit]) -> "Layout":
        """Return the layout after further units have left."""
        return Layout(self.left | frozenset(units), self.arrivals)

    @property
    def touched(self) -> frozenset[str]:
        """The nodes whose pods have changed."""
        return frozenset(self.arrivals).union(*(unit.nodes for unit in self.left))


class NodeUse(Struct, frozen=True):
    """The devices in use and the room that remains on a node while some of its pods stay."""

    held: frozenset[DeviceID]
    """The devices that the staying movable pods hold exclusively."""

    room: Mapping[str, int]
    """The amount that remains of each resource, in the scheduler's units."""


class Landscape:
    """The nodes of a cluster with their movable pods, and the devices and room that are free
    without these pods.
    """

    def __init__(self, scheduler: Scheduler, movability: Movability) -> None:
        self.scheduler = scheduler
        self.units = (*movability.units, *movability.bare)
        deletions = [Delete("/".join(("Pod", *key))) for unit in self.units for key in unit.keys]
        self.emptied = scheduler.with_state(apply(scheduler.state, deletions))
        """The scheduler of the cluster without its movable pods."""
        self._kinds: dict[Hashable, int] = {}
        self._places: dict[tuple[int, str], tuple[Place, ...]] = {}
        self._nodes: dict[int, Mapping[str, tuple[ResourceClaim, ...]]] = {}
        self._fitting: dict[int, frozenset[str]] = {}
        self._uses: dict[tuple[str, frozenset[Unit]], NodeUse] = {}
        self._verdicts: dict[tuple[int, str, frozenset[Unit], tuple[int, ...]], bool] = {}

    @cached_property
    def units_by_node(self) -> Mapping[str, tuple[Unit, ...]]:
        """The movable units that have a pod on each node."""
        units: dict[str, list[Unit]] = {}
        for unit in self.units:
            for node in unit.nodes:
                units.setdefault(node, []).append(unit)
        return {node: tuple(members) for node, members in units.items()}

    def client(self, pod: Pod) -> Client:
        """Return a pod as a :class:`Client`."""
        identity = pod.key if _depends_on_others(pod) else ""
        key = pod.key[0], pod.scheduling_key, identity
        return Client(pod, self._kinds.setdefault(key, len(self._kinds)))

    # -- nodes, if all movable pods were gone --

    def nodes_for(self, client: Client) -> Mapping[str, tuple[ResourceClaim, ...]]:
        """Return the nodes where a pod would fit if all movable pods were gone.

        The values are the claims that it would allocate there.
        """
        if client.kind not in self._nodes:
            self._nodes[client.kind] = self._find_nodes(client.pod)
        return self._nodes[client.kind]

    def _find_nodes(self, pod: Pod) -> Mapping[str, tuple[ResourceClaim, ...]]:
        """Return the nodes for a pod. The proof checks affinity to movable pods and spread among
        them.
        """
        attempt = self.emptied.attempt_pod(unbind(pod), recreated=True)
        return {
            node.name: tuple(claim.claim for claim in node.claims if claim.claim is not None)
            for node in attempt.nodes
            if (node.fits and not node.victims) or (_depends_on_others(pod) and node.allocates)
        }

    def fits_now(self, client: Client) -> frozenset[str]:
        """Return the nodes where kube-scheduler would place a pod in the present cluster."""
        if client.kind not in self._fitting:
            attempt = self._exclude(client.pod).attempt_pod(unbind(client.pod), recreated=True)
            fitting = [n.name for n in attempt.nodes if n.fits and not n.victims]
            self._fitting[client.kind] = frozenset(fitting if attempt.fits else ())
        return self._fitting[client.kind]

    def _exclude(self, pod: Pod) -> Scheduler:
        """Return the scheduler of the cluster without ``pod`` if the pod's own labels, terms or
        claim may prevent its placement; otherwise return the scheduler of the cluster as it is.

        An existing claim binds a pod to its node, and is deallocated when the pod is gone
        (pkg/controller/resourceclaim/controller.go syncClaim).
        """
        names_claim = any(reference.claim_name for reference in pod.claim_references)
        if not pod.node_name or not (names_claim or _depends_on_others(pod)):
            return self.scheduler
        deletion = Delete("/".join(("Pod", *pod.key)))
        return self.scheduler.with_state(apply(self.scheduler.state, [deletion]))

    def places(self, client: Client, node: str) -> tuple[Place, ...]:
        """Return the ways to place a pod on a node, as far as its devices are concerned."""
        key = client.kind, node
        if key not in self._places:
            claims = self.nodes_for(client)[node]
            self._places[key] = self._find_places(node, claims) if claims else ((),)
        return self._places[key]

    def _find_places(self, node: str, claims: Sequence[ResourceClaim]) -> tuple[Place, ...]:
        cache = self.emptied
        survey = cache.allocator.survey(cache.state.decode(cache.nodes[node].raw), claims)
        return find_places(survey, claims, self._shareable)

    @cached_property
    def _shareable(self) -> frozenset[DeviceID]:
        """The devices that several claims may share."""
        return frozenset(
            DeviceID(item.spec.driver, item.spec.pool.name, device.name)
            for item in self.scheduler.slices
            for device in item.spec.devices
            if device.allow_multiple_allocations
        )

    # -- nodes with the pods that stay --

    def use_of(self, node: str, left: frozenset[Unit]) -> NodeUse:
        """Return the use of a node by the pods that stay there when the units ``left`` have
        gone.
        """
        gone = left.intersection(self.units_by_node.get(node, ()))
        key = node, gone
        if key not in self._uses:
            self._uses[key] = self._find_use(node, gone)
        return self._uses[key]

    def _find_use(self, node: str, gone: frozenset[Unit]) -> NodeUse:
        staying = [
            pod
            for unit in self.units_by_node.get(node, ())
            if unit not in gone
            for pod in unit.pods
            if pod.node_name == node
        ]
        room = dict(self._rooms[node])
        for pod in staying:
            _take(room, pod)
        held = [self._holdings[pod.key] for pod in staying if pod.key in self._holdings]
        return NodeUse(frozenset().union(*held), room)

    @cached_property
    def _rooms(self) -> Mapping[str, Mapping[str, int]]:
        """The amount of each resource on a node that is free if all movable pods are gone."""
        nodes = self.emptied.snapshot.nodes
        return {name: _room(nodes[name]) if name in nodes else {} for name in self.emptied.nodes}

    @cached_property
    def _holdings(self) -> Mapping[tuple[str, str], frozenset[DeviceID]]:
        """The devices that each movable pod holds exclusively."""
        state, features = self.scheduler.state, self.scheduler.features
        holdings = {}
        for unit in self.units:
            for key in unit.keys:
                claims = [state.decode_claim(claim) for claim in state.claims_of_pod(key)]
                held = [AllocatedState.from_claim(c, features).devices for c in claims if c]
                if held:
                    holdings[key] = frozenset[DeviceID]().union(*held)
        return holdings

    def free_devices(self, node: str) -> frozenset[DeviceID]:
        """Return the devices of a node that no claim would hold if all movable pods were gone."""
        return self._devices_by_node.get(node, frozenset()) - self._held_by_others

    @cached_property
    def _devices_by_node(self) -> Mapping[str, frozenset[DeviceID]]:
        devices: dict[str, set[DeviceID]] = {}
        for item in self.scheduler.slices:
            for device in item.spec.devices if item.spec.node_name else ():
                name = DeviceID(item.spec.driver, item.spec.pool.name, device.name)
                devices.setdefault(item.spec.node_name or "", set()).add(name)
        return {node: frozenset(names) for node, names in devices.items()}

    @cached_property
    def _held_by_others(self) -> frozenset[DeviceID]:
        return frozenset(self.emptied.held_devices.devices.devices)

    def count_devices(self, client: Client) -> Mapping[str, int]:
        """Return the minimum number of devices of each driver that a pod takes, on any node.

        Devices that no node publishes as its own are not counted.
        """
        nodes = self.nodes_for(client)
        fewest: dict[str, int] | None = None
        for node in nodes:
            for place in self.places(client, node):
                counts = _count_by_driver(place, self._devices_by_node.get(node, frozenset()))
                names = counts.keys() if fewest is None else fewest.keys() & counts.keys()
                fewest = {n: min(counts[n], (fewest or counts)[n]) for n in names}
        return fewest or {}

    def count_held_devices(self, pod: Pod) -> Mapping[str, int]:
        """Return how many devices of each driver a running pod takes on any node.

        The result is empty if a different number of devices may satisfy its claims.
        """
        state = self.scheduler.state
        claims = [state.claim(key) for key in state.claims_of_pod(pod.key)]
        if not all(request.has_fixed_count for claim in claims for request in claim.requests):
            return {}
        return Counter(device.driver for device in self._holdings.get(pod.key, ()))

    def list_held_devices(self, unit: Unit, node: str) -> frozenset[DeviceID]:
        """Return the devices that a unit's pods on a node hold."""
        held = [self._holdings.get(p.key, frozenset()) for p in unit.pods if p.node_name == node]
        return frozenset[DeviceID]().union(*held)

    # -- checks whether a pod may fit --

    def may_fit(self, client: Client, node: str, layout: Layout) -> bool:
        """Return False if a pod certainly does not fit on a node together with the pods of a
        layout.
        """
        arrivals = layout.arrivals.get(node, ())
        gone = layout.left.intersection(self.units_by_node.get(node, ()))
        key = client.kind, node, gone, tuple(arrival.kind for arrival in arrivals)
        if key not in self._verdicts:
            self._verdicts[key] = self._may_fit(client, node, gone, arrivals)
        return self._verdicts[key]

    def _may_fit(
        self, client: Client, node: str, gone: frozenset[Unit], arrivals: Sequence[Client]
    ) -> bool:
        """Return False if a pod certainly does not fit on a node with the pods that have arrived
        there, after the units ``gone`` have left.
        """
        use = self.use_of(node, gone)
        if not _has_room(use.room, (client, *arrivals)):
            return False
        places = self.places(client, node)
        if not any(_is_met(place, use.held) for place in places):
            return False
        if not arrivals:
            return True
        others = [self.places(arrival, node) for arrival in arrivals]
        return _are_met_together([places, *others], use.held)

    def leave_sets(
        self, client: Client, node: str, layout: Layout, allowed: Sequence[Unit], limit: int
    ) -> list[tuple[Unit, ...]]:
        """Return the smallest sets of units whose departure may make a pod fit on a node.

        The sets consist of ``allowed`` units with at most ``limit`` pods. No set contains another,
        unless the counts do not show why the pod is refused: any set may help then.
        """
        blockers = self._rank_blockers(client, node, allowed)
        hidden = self.may_fit(client, node, layout)
        if not hidden and not self.may_fit(client, node, layout.leave(blockers)):
            return []
        fewest = 1 if hidden else self._count_fewest(client, node, layout, blockers, limit)
        sets: list[tuple[Unit, ...]] = []
        for count in range(fewest, limit + 1):
            for chosen in combinations(blockers, count):
                if sum(unit.size for unit in chosen) > limit:
                    continue
                if not hidden and any(set(smaller) <= set(chosen) for smaller in sets):
                    continue
                if self.may_fit(client, node, layout.leave(chosen)):
                    sets.append(chosen)
        return sets

    def _count_fewest(
        self, client: Client, node: str, layout: Layout, blockers: Sequence[Unit], limit: int
    ) -> int:
        """Return a lower bound of the number of units that have to leave to make room for a pod."""
        use = self.use_of(node, layout.left)
        clients = (client, *layout.arrivals.get(node, ()))
        places = self.places(client, node)
        wanted = _devices_of(places)
        shortage = min(
            max((d.count - len(d.devices - use.held) for d in place), default=0) for place in places
        )
        gains = [len(self.list_held_devices(unit, node) & wanted) for unit in blockers]
        fewest = _count_until(gains, shortage, limit)
        for name, amount in client.pod.request_units.items():
            if name in use.room:
                others = sum(each.pod.request_units.get(name, 0) for each in clients[1:])
                units = [_sum_requests(unit, node, name) for unit in blockers]
                fewest = max(fewest, _count_until(units, amount + others - use.room[name], limit))
        return max(fewest, 1)

    def _rank_blockers(self, client: Client, node: str, allowed: Sequence[Unit]) -> list[Unit]:
        """Return the units on a node that may be in the way, beginning with units that hold
        most.
        """
        wanted = _devices_of(self.places(client, node))
        requests = client.pod.request_units
        weights = {
            unit: (
                len(self.list_held_devices(unit, node) & wanted),
                _sum_requests(unit, node, "cpu"),
            )
            for unit in allowed
        }
        blockers = [unit for unit in allowed if weights[unit][0] or requests or not wanted]
        return sorted(blockers, key=lambda unit: weights[unit], reverse=True)[:MAX_BLOCKERS]


def unbind(pod: Pod) -> Raw:
    """Return a pod as its owner creates it again: without a node and a status.

    All such pods have one name, so pods with equal claims share the allocator's verdicts.
    """
    spec = {key: value for key, value in pod.spec.items() if key != "nodeName"}
    metadata = {**pod.metadata, "name": "pod", "namespace": pod.key[0]}
    return {**pod.raw, "metadata": metadata, "spec": spec, "status": {}}


def _depends_on_others(pod: Pod) -> bool:
    """Return whether the nodes for a pod depend on other pods, apart from the devices and the room
    that they take.
    """
    return bool(pod.pod_affinity or pod.pod_anti_affinity or pod.spread_constraints)


def _sum_requests(unit: Unit, node: str, resource: str) -> int:
    pods = [pod for pod in unit.pods if pod.node_name == node]
    return sum(pod.request_units.get(resource, 0) for pod in pods)


def _count_until(gains: Iterable[int], shortage: int, limit: int) -> int:
    """Return how many of the largest gains are needed to cover a shortage; ``limit`` + 1 if more
    are needed.
    """
    count = 0
    for gain in sorted(gains, reverse=True)[:limit]:
        if shortage <= 0:
            break
        shortage -= gain
        count += 1
    return count if shortage <= 0 else limit + 1


# -- resources --

_PODS = "pods"


def _room(node: NodeInfo) -> dict[str, int]:
    """Return the free amount of each limited resource of a node."""
    if not node.is_registered:
        return {}
    room = dict(node.allocatable_units)
    room.setdefault(_PODS, 0)
    for pod in node.pods:
        _take(room, pod)
    return room


def _take(room: dict[str, int], pod: Pod) -> None:
    for name, amount in pod.request_units.items():
        if name in room:
            room[name] -= amount
    if _PODS in room:
        room[_PODS] -= 1


def _has_room(room: Mapping[str, int], clients: Sequence[Client]) -> bool:
    """Return False if a resource that the first client requests, or the number of pods that the
    node may run, is too small for all clients together.
    """
    if room.get(_PODS, len(clients)) < len(clients):
        return False
    return all(
        sum(client.pod.request_units.get(name, 0) for client in clients) <= room[name]
        for name in clients[0].pod.request_units
        if name in room
    )


# -- devices --


def _count_by_driver(place: Place, published: frozenset[DeviceID]) -> dict[str, int]:
    """Count by driver the devices that the demands of a place need, for demands that only published
    devices of one driver can meet.
    """
    counts: dict[str, int] = {}
    for demand in place:
        drivers = {device.driver for device in demand.devices}
        if len(drivers) == 1 and demand.devices <= published:
            driver = drivers.pop()
            counts[driver] = counts.get(driver, 0) + demand.count
    return counts


def _devices_of(places: Sequence[Place]) -> frozenset[DeviceID]:
    """Return all devices that some way to place a pod may use."""
    return frozenset[DeviceID]().union(*(d.devices for place in places for d in place))


def find_places(
    survey: Survey, claims: Sequence[ResourceClaim], shareable: frozenset[DeviceID]
) -> tuple[Place, ...]:
    """Return the ways to satisfy claims on a node, given the devices that each request could use
    there.

    A request with alternatives, or for ``shareable`` devices, makes no demand.
    """
    demands: dict[_RequestKey, Demand] = {}
    for request in survey.requests:
        devices = frozenset(request.candidates)
        is_exact = request.ref.alternative is None and not _has_admin_access(claims, request)
        if is_exact and shareable.isdisjoint(devices):
            demands[request.claim_index, request.request] = Demand(devices, request.wanted)
    choices = [
        [
            {
                (constraint.claim_index, name): frozenset(devices)
                for name, devices in group.candidates
            }
            for group in constraint.groups
            if group.fits
        ]
        for constraint in survey.constraints
        if constraint.kind == "matchAttribute"
    ]
    if prod(map(len, choices)) > MAX_PLACES:
        return (tuple(demands.values()),)
    return tuple(_restrict_demands(demands, groups) for groups in product(*choices))


def _has_admin_access(claims: Sequence[ResourceClaim], survey: RequestSurvey) -> bool:
    """Return True if a request has adminAccess and so takes no device from other claims."""
    for request in claims[survey.claim_index].spec.devices.requests:
        if request.name == survey.ref.name and request.exactly is not None:
            return bool(request.exactly.admin_access)
    return False


def _restrict_demands(
    demands: Mapping[_RequestKey, Demand],
    groups: Sequence[Mapping[_RequestKey, frozenset[DeviceID]]],
) -> Place:
    """Restrict the demands to the devices that have the chosen value of each constraint."""
    restricted = dict(demands)
    for group in groups:
        for key in group.keys() & demands.keys():
            demand = restricted[key]
            restricted[key] = Demand(demand.devices & group[key], demand.count)
    return tuple(restricted.values())


def _is_met(place: Place, held: frozenset[DeviceID]) -> bool:
    """Return False if too few devices remain for a demand, or for all demands together."""
    if any(len(demand.devices - held) < demand.count for demand in place):
        return False
    if len(place) < 2:
        return True
    devices = frozenset[DeviceID]().union(*(demand.devices for demand in place))
    return len(devices - held) >= sum(demand.count for demand in place)


def _are_met_together(clients: Sequence[tuple[Place, ...]], held: frozenset[DeviceID]) -> bool:
    """Return False if all devices of the pods' places together are too few, even if each pod is
    placed where it needs the fewest.
    """
    devices: set[DeviceID] = set()
    count = 0
    for places in clients:
        for place in places:
            devices.update(*(demand.devices for demand in place))
        count += min(sum(demand.count for demand in place) for place in places)
    return len(devices - held) >= count
