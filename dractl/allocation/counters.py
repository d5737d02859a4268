"""Shared counters and compatibility groups: consumption by devices, and the remainder.

checkAvailableCounters and compatibilityGroupsBaselineForPool in
k8s.io/dynamic-resource-allocation/structured/internal/*/allocator_*.go.
"""

from collections.abc import Hashable, Iterable, Mapping

from msgspec import Struct

from dractl.allocation.capacity import nano
from dractl.allocation.devices import NodeDevices
from dractl.allocation.features import Behaviour
from dractl.allocation.pools import Pool, PoolDevice
from dractl.allocation.problem import Charge, Ledger, bits
from dractl.allocation.state import AllocatedState, DeviceID
from dractl.model import Device, Quantity, ResourceSlice

NO_GROUP = frozenset({""})
"""The groups of allocated devices that have no compatibility group in common, so that no further
device may join them.
"""


class Counters(Struct, frozen=True):
    """The parts of a problem that describe counters."""

    charges: tuple[Charge | None, ...] | None
    ledgers: tuple[Ledger, ...]
    groups: tuple[tuple[tuple[int, frozenset[str]], ...], ...] | None
    baseline: tuple[frozenset[str] | None, ...]
    names: tuple[tuple[tuple[str, str], ...], ...] = ()
    """For each ledger, the (set, counter) pair of each of its counters, by the counter's number."""


def is_allocated(device: DeviceID, state: AllocatedState, *, shares: bool) -> bool:
    """Return True if a device consumes its counters: if it is allocated or, with ``shares`` (from
    1.36 on), if a share of it is.
    """
    return device in state.devices or (
        shares and (device in state.shared or device in state.capacity)
    )


def shares_count(behaviour: Behaviour, *, since_136: bool) -> bool:
    """Return True if shares of devices take their counters."""
    return since_136 and behaviour.shares


def available_counters(
    pool: Pool, slice_: ResourceSlice | None, state: AllocatedState, *, shares: bool
) -> dict[tuple[str, str], int]:
    """Return the remaining amount of each counter of a pool, or of one slice (``slice_``), in
    billionths; may be negative.
    """
    sets: Mapping[str, Mapping[str, Quantity]]
    sources: Iterable[ResourceSlice]
    if slice_ is not None:
        sets = {
            counter_set.name: counter_set.counters for counter_set in slice_.spec.shared_counters
        }
        sources = (slice_,)
    else:
        sets, sources = pool.counter_sets, (*pool.slices, *pool.others)
    left = {
        (name, counter): nano(value)
        for name, counters in sets.items()
        for counter, value in counters.items()
    }
    for source in sources:
        for device in source.spec.devices:
            if not device.mapping.get("consumesCounters"):
                continue
            if not is_allocated(
                DeviceID(pool.driver, pool.name, device.name), state, shares=shares
            ):
                continue
            for key, amount in amounts_of(device):
                if key in left:
                    left[key] -= amount
    return left


def amounts_of(device: Device) -> list[tuple[tuple[str, str], int]]:
    """Return a device's consumption of each (set, counter), in billionths."""
    return [
        ((consumption.counter_set, counter), nano(value))
        for consumption in device.consumes_counters
        for counter, value in consumption.counters.items()
    ]


def build_counters(devices: NodeDevices) -> Counters:
    """Build the charges and ledgers of all devices, and compatibility groups if the gate is on."""
    if not devices.partitionable or not devices.charging:
        return Counters(None, (), None, ())
    behaviour = devices.behaviour
    shares = shares_count(behaviour, since_136=devices.features.has("shares-take-counters"))
    ledger_keys: dict[Hashable, int] = {}
    pools: list[dict[Hashable, int]] = []  # by ledger: the pools (or slices) that use it
    available: list[list[dict[tuple[str, str], int]]] = []
    names: list[dict[tuple[str, str], int]] = []
    raw: dict[int, tuple[int, int, list[tuple[tuple[str, str], int]]]] = {}
    for number in bits(devices.charging):
        offer = devices.offers[number]
        candidate, pool = offer.candidate, offer.pool
        assert candidate is not None
        key, member = _ledger_key(behaviour, candidate, pool)
        ledger = ledger_keys.setdefault(key, len(ledger_keys))
        if ledger == len(pools):
            pools.append({})
            available.append([])
            names.append({})
        index = pools[ledger].setdefault(member, len(pools[ledger]))
        if index == len(available[ledger]):
            slice_ = candidate.slice if behaviour.counters_in_slice else None
            amounts_left = available_counters(pool, slice_, devices.state, shares=shares)
            available[ledger].append(amounts_left)
            for name in amounts_left:
                names[ledger].setdefault(name, len(names[ledger]))
        amounts = amounts_of(candidate.device)
        for name, _ in amounts:
            names[ledger].setdefault(name, len(names[ledger]))
        raw[number] = (ledger, index, amounts)
    charges: list[Charge | None] = [None] * len(devices.offers)
    for number, (ledger, index, amounts) in raw.items():
        total: dict[int, int] = {}
        for name, amount in amounts:
            total[names[ledger][name]] = total.get(names[ledger][name], 0) + amount
        charges[number] = Charge(ledger, index, tuple(sorted(total.items())))
    ledgers = tuple(
        Ledger(
            tuple(
                tuple([amounts_left.get(name) for name in names[ledger]])
                for amounts_left in members
            )
        )
        for ledger, members in enumerate(available)
    )
    groups, baseline = _groups(devices, shares=shares)
    return Counters(tuple(charges), ledgers, groups, baseline, tuple(map(tuple, names)))


def _ledger_key(
    behaviour: Behaviour, candidate: PoolDevice, pool: Pool
) -> tuple[Hashable, Hashable]:
    if behaviour.counters_in_slice:
        return candidate.slice.metadata.name, candidate.slice.metadata.name
    if "pool-name-key" in behaviour.bugs:
        return pool.name, pool.id
    return pool.id, pool.id


def _groups(
    devices: NodeDevices, *, shares: bool
) -> tuple[
    tuple[tuple[tuple[int, frozenset[str]], ...], ...] | None, tuple[frozenset[str] | None, ...]
]:
    on = devices.experimental and devices.features.has("compatibility-groups")
    if not on or not devices.features.enabled("DRADeviceCompatibilityGroups"):
        return None, ()
    keys: dict[tuple[str, str, str], int] = {}
    rows: list[tuple[tuple[int, frozenset[str]], ...]] = []
    seen: dict[tuple[str, str], Pool] = {}
    for offer in devices.offers:
        candidate, pool = offer.candidate, offer.pool
        if candidate is None or not candidate.device.mapping.get("consumesCounters"):
            rows.append(())
            continue
        seen[pool.id] = pool
        rows.append(
            tuple(
                [
                    (
                        keys.setdefault((*pool.id, c.counter_set), len(keys)),
                        frozenset(c.compatibility_groups),
                    )
                    for c in candidate.device.consumes_counters
                ]
            )
        )
    baseline: list[frozenset[str] | None] = [None] * len(keys)
    for pool in seen.values():
        for slice_ in (*pool.slices, *pool.others):
            for device in slice_.spec.devices:
                if not is_allocated(
                    DeviceID(pool.driver, pool.name, device.name), devices.state, shares=shares
                ):
                    continue
                for consumption in device.consumes_counters:
                    number = keys.get((*pool.id, consumption.counter_set))
                    if number is not None:
                        baseline[number] = _join_groups(
                            baseline[number], frozenset(consumption.compatibility_groups)
                        )
    return tuple(rows), tuple(baseline)


def _join_groups(before: frozenset[str] | None, groups: frozenset[str]) -> frozenset[str]:
    """Return the groups that a counter set's allocated devices have in common after one more device
    is allocated. An empty set means that these devices have no groups.
    """
    if before is None:
        return groups
    if not before or not groups:
        return before
    return (before & groups) or NO_GROUP
