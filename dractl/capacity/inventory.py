"""Every pool and device of a cluster: its state, who holds it, and what is left of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import AllocatedState, DeviceID, Features
from dractl.capacity.summaries import (
    Amount,
    PartitionCount,
    ShareableDevices,
    consumed_counters,
    count_partitions,
    count_shareable_devices,
    sum_counters,
)
from dractl.cel import environment
from dractl.cluster.devices import Devices, Holder, ready_devices
from dractl.cluster.state import ClusterState, list_at, maps_at
from dractl.model import Device, DeviceClass, Quantity, ResourceClaim, ResourceSlice, Target
from dractl.scheduler.cache import scheduler_slices
from dractl.scheduler.holdings import collect_held_devices

PoolID = tuple[str, str]


State = Literal[
    "free", "unknown", "held", "shared", "blocked", "tainted", "incomplete", "stale", "gone"
]

PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
NUMA_NODE = "resource.kubernetes.io/numaNode"
# Attributes by which drivers name the model, the most telling first (their catalogues have the sources).
_MODEL_ATTRIBUTES = ("productName", "model", "pciDevice", "chipType", "modelName", "type")
_CACHED_ATTRIBUTE_SETS = 256  # of devices, whose attributes are remembered
_OUT_OF_SERVICE_EFFECTS = ("NoSchedule", "NoExecute")


class DeviceRow(Struct, frozen=True):
    """One device. ``node`` is None for a device that several nodes reach; ``classes`` are the DeviceClasses that match
    it; ``taints`` are written ``key=value:effect``, with those of DeviceTaintRules."""

    id: DeviceID
    node: str | None
    state: State
    classes: tuple[str, ...] = ()
    model: str | None = None
    pcie_root: str | None = None
    numa_node: int | None = None
    capacity: tuple[Amount, ...] = ()
    holders: tuple[Holder, ...] = ()
    requests: tuple[str, ...] = ()  # of the holders' claims, in their order
    taints: tuple[str, ...] = ()


class PoolRow(Struct, frozen=True):
    """One pool in its newest generation. The four counts are those that a ResourcePoolStatusRequest answers (kubernetes
    pkg/controller/resourcepoolstatusrequest/controller.go), None for a pool of which slices are missing; two of them
    also where not every claim may be read."""

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

    duplicates: tuple[str, ...] = ()  # device names that occur more than once
    shared: ShareableDevices | None = None
    counters: tuple[tuple[str, tuple[Amount, ...]], ...] = ()  # by counter set
    partitions: tuple[PartitionCount, ...] = ()

    @property
    def usable(self) -> bool:
        """True if the scheduler takes the pool: as many slices as announced, and no device name twice."""
        return self.slices == self.expected and not self.duplicates


class Inventory(Struct, frozen=True):
    """All pools and devices, sorted by driver, pool and the order of publication."""

    pools: tuple[PoolRow, ...]
    devices: tuple[DeviceRow, ...]


def take_inventory(
    state: ClusterState, features: Features, progress: Callable[[str], None] = lambda _: None
) -> Inventory:
    """Takes stock of a cluster. Where not every claim may be read, a device that none of the others holds is
    ``unknown``, and pools have no count of what is allocated."""
    whole = not any(one.kind == "ResourceClaim" for one in state.rights.unread)
    slices = scheduler_slices(state, features)
    index = Devices(state, slices)
    held = collect_held_devices(state, features).devices
    matching, amounts = _MatchingClasses(state.classes, features), _RemainingCapacity(held)
    pools: list[PoolRow] = []
    devices: list[DeviceRow] = []
    by_pool: dict[PoolID, list[ResourceSlice]] = {}
    for item in slices:
        by_pool.setdefault((item.spec.driver, item.spec.pool.name), []).append(item)
    allocated = {pool: frozenset(index.claims_by_device(pool)) for pool in index.claims_by_pool}
    consumed, moved = _sum_consumed_capacity(state), ready_devices(state)
    for number, (key, found) in enumerate(sorted(by_pool.items())):
        if number % 500 == 499:
            progress(f"taking stock ({number + 1} of {len(by_pool)} pools)")
        newest = index.pool(*key)
        used = allocated.get(key, frozenset())
        row = _count_pool(key, newest, used)
        if not whole:
            row = replace(row, allocated=None, available=None)
        elif row.total is not None:
            row = replace(
                row,
                shared=count_shareable_devices(newest, used, consumed.get(key, {})),
                counters=sum_counters(newest, used),
                partitions=count_partitions(newest, used),
            )
        pools.append(row)
        blocked = _find_blocked_devices(key, newest, held)
        published = set()
        for item in newest:
            for device in item.spec.devices:
                published.add(device.name)
                identity = DeviceID(*key, device.name)
                taken = _device_state(
                    identity, device, held, usable=row.usable, blocked=device.name in blocked
                )
                if taken == "free" and not whole:
                    taken = "unknown"
                devices.append(_build_row(identity, device, item, taken, index, amounts, matching))
        for item in found:
            if item not in newest:
                for device in item.spec.devices:
                    if device.name not in published:
                        published.add(device.name)
                        identity = DeviceID(*key, device.name)
                        devices.append(
                            _build_row(identity, device, item, "stale", index, amounts, matching)
                        )
        devices += [
            DeviceRow(
                identity,
                row.node,
                _state_without_slice(identity, moved),
                holders=index.holders([identity]),
            )
            for identity in sorted(
                DeviceID(*key, name) for name in allocated.get(key, frozenset()) - published
            )
        ]
    homes = _nodes_of_allocations(state) if allocated.keys() - by_pool.keys() else {}
    for key in sorted(allocated.keys() - by_pool.keys()):  # no slice of the pool is left
        devices += [
            DeviceRow(
                identity,
                homes.get(identity),
                _state_without_slice(identity, moved),
                holders=index.holders([identity]),
            )
            for identity in sorted(DeviceID(*key, name) for name in allocated[key])
        ]
    requests = _requests_by_claim(state)
    rows = (
        replace(row, requests=tuple(requests.get((row.id, h.claim), "") for h in row.holders))
        if row.holders
        else row
        for row in devices
    )
    return Inventory(tuple(pools), tuple(rows))


def _state_without_slice(device: DeviceID, moved: frozenset[DeviceID]) -> State:
    """The state of an allocated device that no slice has."""
    return "held" if device in moved else "gone"


def _requests_by_claim(state: ClusterState) -> dict[tuple[DeviceID, str], str]:
    """For which request a claim (``namespace/name``) has a device."""
    return {
        (device.id, "/".join(key)): device.request
        for key, claim in state.claims.items()
        for device in claim.allocated_devices
    }


def _nodes_of_allocations(state: ClusterState) -> dict[DeviceID, str]:
    """The node to which an allocation binds each device; without those that may be used on several."""
    found: dict[DeviceID, str] = {}
    for claim in state.claims.values():
        names = [
            str(value)
            for term in maps_at(claim.allocation, "nodeSelector", "nodeSelectorTerms")
            for field in maps_at(term, "matchFields")
            if field.get("key") == "metadata.name"
            for value in list_at(field, "values")
        ]
        if len(names) == 1:
            found |= {device.id: names[0] for device in claim.allocated_devices}
    return found


def _sum_consumed_capacity(state: ClusterState) -> dict[PoolID, dict[str, Quantity]]:
    """Claims' shares of each capacity, by pool, except through adminAccess."""
    found: dict[PoolID, dict[str, Quantity]] = {}
    for value in state.objects("ResourceClaim").values():
        if not any(
            r.get("consumedCapacity")
            for r in maps_at(value, "status", "allocation", "devices", "results")
        ):
            continue
        claim: ResourceClaim = state.decode(value)
        allocation = claim.status.allocation if claim.status is not None else None
        for result in allocation.devices.results if allocation is not None else ():
            for name, amount in (
                () if result.admin_access else (result.consumed_capacity or {}).items()
            ):
                of_pool = found.setdefault((result.driver, result.pool), {})
                of_pool[name] = of_pool[name] + amount if name in of_pool else amount
    return found


def _count_pool(key: PoolID, newest: list[ResourceSlice], allocated: frozenset[str]) -> PoolRow:
    first = newest[0].spec
    nodes = {item.spec.node_name for item in newest}
    node = nodes.pop() if len(nodes) == 1 else None
    devices = [device for item in newest for device in item.spec.devices]
    seen: dict[str, int] = {}
    for device in devices:
        seen[device.name] = seen.get(device.name, 0) + 1
    row = PoolRow(
        *key,
        node,
        first.pool.generation,
        len(newest),
        first.pool.resource_slice_count,
        duplicates=tuple(name for name, count in seen.items() if count > 1),
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
    """Devices whose shared counters are used up by others."""
    left: dict[tuple[str, str], Quantity] = {
        (counters.name, name): value
        for item in newest
        for counters in item.spec.shared_counters
        for name, value in counters.counters.items()
    }
    if not left:
        return frozenset()
    devices = [
        device
        for item in newest
        for device in item.spec.devices
        if device.mapping.get("consumesCounters")
    ]
    for device in devices:
        identity = DeviceID(*key, device.name)
        if identity in held.devices or identity in held.shared or identity in held.capacity:
            for counter, amount in consumed_counters(device):
                if counter in left:
                    left[counter] = left[counter] - amount
    return frozenset(
        device.name
        for device in devices
        if any(
            counter in left and amount > left[counter]
            for counter, amount in consumed_counters(device)
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


def _build_row(
    identity: DeviceID,
    device: Device,
    item: ResourceSlice,
    state: State,
    index: Devices,
    amounts: _RemainingCapacity,
    matching: _MatchingClasses,
) -> DeviceRow:
    root, numa = _attribute_value(device, PCIE_ROOT), _attribute_value(device, NUMA_NODE)
    return DeviceRow(
        identity,
        item.spec.node_name or device.node_name,
        state,
        matching.of(identity.driver, device),
        _model(device),
        root if isinstance(root, str) else None,
        numa if isinstance(numa, int) else None,
        amounts.of(identity, device),
        index.holders([identity]) if state in ("held", "shared", "stale") else (),
        taints=tuple(
            f"{t.key}={t.value or ''}:{t.effect}".replace("=:", ":") for t in device.taints
        ),
    )


def _attribute_value(device: Device, name: str) -> object:
    found = device.attributes.get(name)
    value = None if found is None else found.value
    return value[0] if isinstance(value, tuple) and value else value


def _model(device: Device) -> str | None:
    values = (device.attributes[name].value for name in _model_attributes(tuple(device.attributes)))
    return next((value for value in values if isinstance(value, str) and value), None)


@lru_cache(_CACHED_ATTRIBUTE_SETS)
def _model_attributes(attributes: tuple[str, ...]) -> tuple[str, ...]:
    """Of the attributes of a device those that name its model, the most telling first."""
    named = {name.rpartition("/")[2]: name for name in attributes}
    return tuple(named[name] for name in _MODEL_ATTRIBUTES if name in named)


class _RemainingCapacity:
    """What is left of the capacities of devices; of those that are alike, and of which nothing is consumed, once."""

    def __init__(self, held: AllocatedState) -> None:
        self._held = held.capacity
        self._untouched: dict[str, tuple[Amount, ...]] = {}

    def of(self, identity: DeviceID, device: Device) -> tuple[Amount, ...]:
        consumed = self._held.get(identity)
        if consumed is not None:
            return self._left(device, consumed)
        written = repr(device.mapping.get("capacity"))
        if written not in self._untouched:
            self._untouched[written] = self._left(device, {})
        return self._untouched[written]

    @staticmethod
    def _left(device: Device, consumed: Mapping[str, Quantity]) -> tuple[Amount, ...]:
        return tuple(
            Amount.of(name, capacity.value, consumed.get(name, Quantity()))
            for name, capacity in device.capacity.items()
        )


class _MatchingClasses:
    """The DeviceClasses that match a device; selectors are compiled once."""

    def __init__(self, classes: Iterable[DeviceClass], features: Features) -> None:
        gates = features.on if features.cel_on is None else features.cel_on
        compiled = environment(Target(features.release, gates), "stored")
        self._programs = [
            (
                item.metadata.name,
                [compiled.compile(s.cel.expression) for s in item.spec.selectors if s.cel],
            )
            for item in classes
        ]

    def of(self, driver: str, device: Device) -> tuple[str, ...]:
        return tuple(
            name
            for name, programs in self._programs
            if all(program.ok and program.evaluate(driver, device) is True for program in programs)
        )
