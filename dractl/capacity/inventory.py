"""Every pool and device of a cluster: its state, its holders, and its remaining capacity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import AllocatedState, DeviceID, Features
from dractl.capacity.summaries import (
    Amount,
    PartitionCount,
    ShareableDevices,
    count_partitions,
    count_shareable_devices,
    list_consumed_counters,
    sum_counters,
)
from dractl.cel import environment
from dractl.cluster.devices import Devices, Holder, ready_devices
from dractl.cluster.state import ClusterState
from dractl.model import (
    Device,
    DeviceAttribute,
    DeviceClass,
    Quantity,
    ResourceClaim,
    ResourceSlice,
    Target,
)
from dractl.model.taints import format_taint
from dractl.scheduler.cache import scheduler_slices
from dractl.scheduler.holdings import collect_held_devices

PoolID = tuple[str, str]


State = Literal[
    "free", "unknown", "held", "shared", "blocked", "tainted", "incomplete", "stale", "gone"
]
STATES: tuple[State, ...] = get_args(State)

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
NUMA_NODE = "resource.kubernetes.io/numaNode"
# Attributes in which drivers publish the model, the most specific first; the drivers' catalogues
# have the sources.
_MODEL_ATTRIBUTES = ("productName", "model", "pciDevice", "chipType", "modelName", "type")
_CACHED_ATTRIBUTE_SETS = 256
_OUT_OF_SERVICE_EFFECTS = ("NoSchedule", "NoExecute")


class DeviceRow(Struct, frozen=True):
    """One device."""

    id: DeviceID
    node: str | None
    """The node of the device; None if several nodes can use it."""
    state: State
    classes: tuple[str, ...] = ()
    """The DeviceClasses that match the device."""
    model: str | None = None
    pcie_root: str | None = None
    numa_node: int | None = None
    capacity: tuple[Amount, ...] = ()
    holders: tuple[Holder, ...] = ()
    requests: tuple[str, ...] = ()
    """The requests of the holders' claims, in the order of ``holders``."""
    taints: tuple[str, ...] = ()
    """Taints as ``key=value:effect``, including the taints of DeviceTaintRules."""


class PoolRow(Struct, frozen=True):
    """One pool in its newest generation.

    The four counts are those with which a ResourcePoolStatusRequest answers (kubernetes
    pkg/controller/resourcepoolstatusrequest/controller.go). They are None for a pool with missing
    slices. ``allocated`` and ``available`` are also None if some claims are unreadable.
    """

    driver: str
    pool: str
    node: str | None
    generation: int
    slices: int
    expected: int
    total: int | None = None
    allocated: int | None = None
    available: int | None = None
    unavailable: int | None = None

    duplicates: tuple[str, ...] = ()
    """Device names that occur more than once."""
    shared: ShareableDevices | None = None
    counters: tuple[tuple[str, tuple[Amount, ...]], ...] = ()
    """The amounts of each counter set."""
    partitions: tuple[PartitionCount, ...] = ()

    @property
    def usable(self) -> bool:
        """Return whether the scheduler uses the pool: all its slices exist, and no device name
        occurs twice.
        """
        return self.slices == self.expected and not self.duplicates


class Inventory(Struct, frozen=True):
    """All pools and devices, sorted by driver, pool and the order of publication."""

    pools: tuple[PoolRow, ...]
    devices: tuple[DeviceRow, ...]


def take_inventory(
    state: ClusterState, features: Features, progress: Callable[[str], None] = lambda _: None
) -> Inventory:
    """List the pools and devices of a cluster, with their states and holders.

    If some claims are unreadable, a device that no readable claim holds is ``unknown``, and pools
    have no count of allocated devices.
    """
    slices = scheduler_slices(state, features)
    survey = _Survey(state, features, slices)
    slices_by_pool: dict[PoolID, list[ResourceSlice]] = {}
    for resource_slice in slices:
        key = resource_slice.spec.driver, resource_slice.spec.pool.name
        slices_by_pool.setdefault(key, []).append(resource_slice)
    pools: list[PoolRow] = []
    devices: list[DeviceRow] = []
    for number, (key, all_slices) in enumerate(sorted(slices_by_pool.items())):
        if number % 500 == 499:
            progress(f"taking stock ({number + 1} of {len(slices_by_pool)} pools)")
        pool = survey.count_pool(key)
        pools.append(pool)
        devices += survey.list_devices(pool, all_slices)
    vanished_pools = sorted(survey.allocated.keys() - slices_by_pool.keys())
    nodes = _nodes_of_allocations(state) if vanished_pools else {}
    for key in vanished_pools:
        ids = sorted(DeviceID(*key, name) for name in survey.allocated[key])
        devices += [survey.row_without_slice(identity, nodes.get(identity)) for identity in ids]
    requests = _requests_by_claim(state)
    rows = (
        (
            replace(row, requests=tuple(requests.get((row.id, h.claim), "") for h in row.holders))
            if row.holders
            else row
        )
        for row in devices
    )
    return Inventory(tuple(pools), tuple(rows))


class _Survey:
    """The allocations of a cluster's readable claims, and the properties of its devices."""

    def __init__(
        self, state: ClusterState, features: Features, slices: Sequence[ResourceSlice]
    ) -> None:
        self._state = state
        self._are_claims_readable = not any(
            unread.kind == "ResourceClaim" for unread in state.rights.unread
        )
        self._index = Devices(state, slices)
        self._held = collect_held_devices(state, features).devices
        self._classes = _MatchingClasses(state.classes, features)
        self._capacity = _RemainingCapacity(self._held)
        self._consumed = _sum_consumed_capacity(state)
        self._ready = ready_devices(state)
        self.allocated = {
            pool: frozenset(self._index.claims_by_device(pool))
            for pool in self._index.claims_by_pool
        }
        """The names of the devices in claims, by pool."""

    def count_pool(self, key: PoolID) -> PoolRow:
        """Count the devices of a pool's newest generation."""
        newest = self._index.pool(*key)
        allocated = self.allocated.get(key, frozenset())
        row = _count_pool(key, newest, allocated)
        if not self._are_claims_readable:
            return replace(row, allocated=None, available=None)
        if row.total is None:
            return row
        return replace(
            row,
            shared=count_shareable_devices(newest, allocated, self._consumed.get(key, {})),
            counters=sum_counters(newest, allocated),
            partitions=count_partitions(newest, allocated),
        )

    def list_devices(
        self, pool: PoolRow, all_slices: Iterable[ResourceSlice]
    ) -> Iterator[DeviceRow]:
        """Yield the devices of a pool: those of the newest generation, then those of older ones,
        then unpublished ones.

        ``all_slices`` are the slices of every generation.
        """
        key = pool.driver, pool.pool
        newest = self._index.pool(*key)
        blocked = _find_blocked_devices(key, newest, self._held)
        published = set()
        for resource_slice in newest:
            for device in resource_slice.spec.devices:
                published.add(device.name)
                identity = DeviceID(*key, device.name)
                state = _device_state(
                    identity, device, self._held, usable=pool.usable, blocked=device.name in blocked
                )
                if state == "free" and not self._are_claims_readable:
                    state = "unknown"
                yield self._build_row(identity, device, resource_slice, state)
        for resource_slice in all_slices:
            for device in resource_slice.spec.devices if resource_slice not in newest else ():
                if device.name not in published:
                    published.add(device.name)
                    identity = DeviceID(*key, device.name)
                    yield self._build_row(identity, device, resource_slice, "stale")
        names = self.allocated.get(key, frozenset()) - published
        for identity in sorted(DeviceID(*key, name) for name in names):
            yield self.row_without_slice(identity, pool.node)

    def row_without_slice(self, identity: DeviceID, node: str | None) -> DeviceRow:
        """Return the row of an allocated device that no slice has."""
        is_held = identity in self._ready or not self._state.covers("ResourceSlice")
        state: State = "held" if is_held else "gone"
        return DeviceRow(identity, node, state, holders=self._index.holders([identity]))

    def _build_row(
        self, identity: DeviceID, device: Device, resource_slice: ResourceSlice, state: State
    ) -> DeviceRow:
        attributes = device.attributes
        root, numa = _first_value(attributes, PCIE_ROOT), _first_value(attributes, NUMA_NODE)
        has_holders = state in ("held", "shared", "stale")
        return DeviceRow(
            identity,
            resource_slice.spec.node_name or device.node_name,
            state,
            self._classes.match(identity.driver, device),
            _model(attributes),
            root if isinstance(root, str) else None,
            numa if isinstance(numa, int) else None,
            self._capacity.amounts(identity, device),
            self._index.holders([identity]) if has_holders else (),
            taints=tuple(map(format_taint, device.taints)),
        )


def _requests_by_claim(state: ClusterState) -> dict[tuple[DeviceID, str], str]:
    """Return, by device and claim (``namespace/name``), the request for which the claim has the
    device.
    """
    return {
        (device.id, "/".join(key)): device.request
        for key, claim in state.claims.items()
        for device in claim.allocated_devices
    }


def _nodes_of_allocations(state: ClusterState) -> dict[DeviceID, str]:
    """Return the node to which an allocation binds each device; devices of several nodes are left
    out.
    """
    nodes: dict[DeviceID, str] = {}
    for claim in state.claims.values():
        if len(claim.node_names) == 1:
            (name,) = claim.node_names
            nodes |= {device.id: name for device in claim.allocated_devices}
    return nodes


def _sum_consumed_capacity(state: ClusterState) -> dict[PoolID, dict[str, Quantity]]:
    """Sum the claims' shares of each capacity, by pool; adminAccess does not count."""
    consumed: dict[PoolID, dict[str, Quantity]] = {}
    for view in state.claims.values():
        if not view.consumes_capacity:
            continue
        claim: ResourceClaim = state.decode(view.raw)
        allocation = claim.status.allocation if claim.status is not None else None
        for result in allocation.devices.results if allocation is not None else ():
            for name, amount in (
                () if result.admin_access else (result.consumed_capacity or {}).items()
            ):
                amounts = consumed.setdefault((result.driver, result.pool), {})
                amounts[name] = amounts[name] + amount if name in amounts else amount
    return consumed


def _count_pool(key: PoolID, newest: list[ResourceSlice], allocated: frozenset[str]) -> PoolRow:
    first = newest[0].spec
    nodes = {resource_slice.spec.node_name for resource_slice in newest}
    node = nodes.pop() if len(nodes) == 1 else None
    devices = [device for resource_slice in newest for device in resource_slice.spec.devices]
    name_counts: dict[str, int] = {}
    for device in devices:
        name_counts[device.name] = name_counts.get(device.name, 0) + 1
    row = PoolRow(
        *key,
        node,
        first.pool.generation,
        len(newest),
        first.pool.resource_slice_count,
        duplicates=tuple(name for name, count in name_counts.items() if count > 1),
    )
    if row.slices < row.expected:
        return row
    total = len(devices)
    unavailable = sum(
        any(t.effect in _OUT_OF_SERVICE_EFFECTS for t in device.taints) for device in devices
    )
    available = max(0, total - len(allocated) - unavailable)
    return replace(
        row, total=total, allocated=len(allocated), available=available, unavailable=unavailable
    )


def _find_blocked_devices(
    key: PoolID, newest: list[ResourceSlice], held: AllocatedState
) -> frozenset[str]:
    """Find the devices whose shared counters other devices have used up."""
    remaining: dict[tuple[str, str], Quantity] = {
        (counter_set.name, name): value
        for resource_slice in newest
        for counter_set in resource_slice.spec.shared_counters
        for name, value in counter_set.counters.items()
    }
    if not remaining:
        return frozenset()
    devices = [
        device
        for resource_slice in newest
        for device in resource_slice.spec.devices
        if device.mapping.get("consumesCounters")
    ]
    for device in devices:
        identity = DeviceID(*key, device.name)
        if identity in held.devices or identity in held.shared or identity in held.capacity:
            for counter, amount in list_consumed_counters(device):
                if counter in remaining:
                    remaining[counter] = remaining[counter] - amount
    return frozenset(
        device.name
        for device in devices
        if any(
            counter in remaining and amount > remaining[counter]
            for counter, amount in list_consumed_counters(device)
        )
    )


def _device_state(
    identity: DeviceID, device: Device, held: AllocatedState, *, usable: bool, blocked: bool
) -> State:
    if identity in held.devices:
        return "held"
    if identity in held.shared or identity in held.capacity:
        return "shared"
    if not usable:
        return "incomplete"
    if any(taint.effect in _OUT_OF_SERVICE_EFFECTS for taint in device.taints):
        return "tainted"
    return "blocked" if blocked else "free"


def _first_value(attributes: Mapping[str, DeviceAttribute], name: str) -> object:
    attribute = attributes.get(name)
    value = None if attribute is None else attribute.value
    return value[0] if isinstance(value, tuple) and value else value


def _model(attributes: Mapping[str, DeviceAttribute]) -> str | None:
    values = (attributes[name].value for name in _model_attributes(tuple(attributes)))
    return next((value for value in values if isinstance(value, str) and value), None)


@lru_cache(_CACHED_ATTRIBUTE_SETS)
def _model_attributes(attributes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the attributes that name a device's model, the most specific first."""
    named = {name.rpartition("/")[2]: name for name in attributes}
    return tuple(named[name] for name in _MODEL_ATTRIBUTES if name in named)


class _RemainingCapacity:
    """The remaining capacities of devices.

    They are computed once for all unused devices of equal capacity.
    """

    def __init__(self, held: AllocatedState) -> None:
        self._consumed = held.capacity
        self._untouched: dict[str, tuple[Amount, ...]] = {}

    def amounts(self, identity: DeviceID, device: Device) -> tuple[Amount, ...]:
        """Return the total, consumed and remaining amounts of each capacity of a device."""
        consumed = self._consumed.get(identity)
        if consumed is not None:
            return self._subtract(device, consumed)
        written = repr(device.mapping.get("capacity"))
        if written not in self._untouched:
            self._untouched[written] = self._subtract(device, {})
        return self._untouched[written]

    @staticmethod
    def _subtract(device: Device, consumed: Mapping[str, Quantity]) -> tuple[Amount, ...]:
        return tuple(
            Amount.from_quantities(name, capacity.value, consumed.get(name, Quantity()))
            for name, capacity in device.capacity.items()
        )


class _MatchingClasses:
    """The DeviceClasses of a cluster, with their selectors compiled once."""

    def __init__(self, classes: Iterable[DeviceClass], features: Features) -> None:
        gates = features.on if features.cel_on is None else features.cel_on
        compiler = environment(Target(features.release, gates), "stored")
        self._programs = [
            (
                device_class.metadata.name,
                [
                    compiler.compile(selector.cel.expression)
                    for selector in device_class.spec.selectors
                    if selector.cel
                ],
            )
            for device_class in classes
        ]

    def match(self, driver: str, device: Device) -> tuple[str, ...]:
        """Return the names of the classes that match a device."""
        return tuple(
            name
            for name, programs in self._programs
            if all(program.ok and program.evaluate(driver, device) is True for program in programs)
        )
