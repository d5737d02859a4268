"""Devices that the claims of a cluster hold, as a whole and by pool."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from dractl.allocation import AllocatedState, DeviceID, Features
from dractl.cluster.derived import update_from
from dractl.cluster.state import ClusterState, Key
from dractl.model.paths import at
from dractl.objects import PoolName, Raw
from dractl.scheduler.snapshot import diff_objects

T = TypeVar("T")

DevicesInUse = Mapping[PoolName, frozenset[object]]
"""The devices in use, by pool. A device is given by its name; a shared device by its name with
``"share"``, or with the capacity that is consumed.
"""

_NOTHING_HELD = AllocatedState()
_PLAIN_RESULT_FIELDS = {"request", "driver", "pool", "device"}


class ClaimHolding(Struct, frozen=True):
    """The devices that one claim holds."""

    devices: AllocatedState
    in_use: DevicesInUse


class HeldDevices(Struct, frozen=True):
    """The devices that all claims of a cluster hold."""

    claims: Mapping[Key, Raw]
    devices: AllocatedState
    """The devices in the form that the allocator takes."""
    in_use: DevicesInUse


@update_from("ResourceClaim")
def collect_held_devices(
    state: ClusterState, previous: HeldDevices | None, features: Features
) -> HeldDevices:
    """Return the devices that the claims of a cluster hold.

    Most changes affect only a few claims, so only their pools are added up again; the capacity of
    shared devices is always added up for all claims.
    """
    claims = state.objects("ResourceClaim")
    removed, added = diff_objects(previous.claims if previous is not None else {}, claims)
    holdings = _holdings(state, features, added)
    changed = [holdings[id(claim)][1] for claim in (*removed, *added)]
    if previous is not None and all(holding.devices is _NOTHING_HELD for holding in changed):
        return HeldDevices(claims, previous.devices, previous.in_use)
    current = [holdings[id(claim)][1] for claim in claims.values()]
    if (
        previous is None
        or previous.devices.capacity
        or any(holding.devices.capacity for holding in changed)
    ):
        return _add_up(claims, current)
    return _update(previous, claims, current, changed)


def _holdings(
    state: ClusterState, features: Features, added: Iterable[Raw]
) -> Mapping[int, tuple[object, ClaimHolding]]:
    """Return the holdings of each claim by its identity, including the ``added`` claims."""
    holdings = state.cache.by_object(("holding", features))
    interned: dict[frozenset[object], frozenset[object]] = {}
    for claim in added:
        devices = _plain_holding(claim)
        if devices is None:
            devices = AllocatedState.from_claim(state.decode(claim), features)
        in_use = {pool: interned.setdefault(d, d) for pool, d in _by_pool(devices).items()}
        holdings[id(claim)] = claim, ClaimHolding(devices, in_use)
    return holdings


def _plain_holding(claim: Raw) -> AllocatedState | None:
    """Return the holding of a claim that is not allocated, or whose results only name request,
    driver, pool and device; None for other claims.

    Most claims of a large cluster are of this kind, and decoding them would take a tenth of the
    time of an answer.
    """
    if not at(claim, "status", "allocation"):
        return _NOTHING_HELD
    results = at(claim, "status", "allocation", "devices", "results")
    if not isinstance(results, list):
        return None
    devices = set()
    for result in results:
        if (
            not isinstance(result, dict)
            or result.keys() != _PLAIN_RESULT_FIELDS
            or set(map(type, result.values())) != {str}
        ):
            return None
        devices.add(DeviceID(result["driver"], result["pool"], result["device"]))
    return AllocatedState(frozenset(devices))


def _by_pool(held: AllocatedState) -> DevicesInUse:
    """Return the devices that are held, whole or in part, by their pools."""
    in_use: dict[PoolName, set[object]] = {}
    for device in held.devices:
        in_use.setdefault((device.driver, device.pool), set()).add(device.device)
    for device in held.shared:
        in_use.setdefault((device.driver, device.pool), set()).add((device.device, "share"))
    return {pool: frozenset(devices) for pool, devices in in_use.items()}


def _add_up(claims: Mapping[Key, Raw], holdings: Sequence[ClaimHolding]) -> HeldDevices:
    devices = AllocatedState.merge([holding.devices for holding in holdings])
    in_use = _merge(holding.in_use for holding in holdings)
    for device, amounts in devices.capacity.items():
        consumed = tuple(sorted((name, str(amount)) for name, amount in amounts.items()))
        pool = device.driver, device.pool
        in_use[pool] = in_use.get(pool, frozenset()) | {(device.device, consumed)}
    return HeldDevices(claims, devices, in_use)


def _update(
    previous: HeldDevices,
    claims: Mapping[Key, Raw],
    current: Sequence[ClaimHolding],
    changed: Sequence[ClaimHolding],
) -> HeldDevices:
    """Add up the pools of the changed claims again, without capacity."""
    pools = {pool for holding in changed for pool in holding.in_use}
    neighbours = [holding for holding in current if not pools.isdisjoint(holding.in_use)]
    before = AllocatedState.merge([holding.devices for holding in changed])
    after = AllocatedState.merge([holding.devices for holding in neighbours])
    devices = AllocatedState(
        _replace_part(previous.devices.devices, before.devices, after.devices),
        _replace_part(previous.devices.shared, before.shared, after.shared),
    )
    merged = _merge(holding.in_use for holding in neighbours)
    in_use = dict(previous.in_use)
    for pool in pools:
        if pool in merged:
            in_use[pool] = merged[pool]
        else:
            in_use.pop(pool, None)
    return HeldDevices(claims, devices, in_use)


def _replace_part(whole: frozenset[T], before: frozenset[T], after: frozenset[T]) -> frozenset[T]:
    """Return a set with ``before`` replaced by ``after``; the same set if nothing changes."""
    removed, added = before - after, after - whole
    whole = whole - removed if removed else whole
    return whole | added if added else whole


def _merge(parts: Iterable[DevicesInUse]) -> dict[PoolName, frozenset[object]]:
    in_use: dict[PoolName, frozenset[object]] = {}
    for part in parts:
        for pool, devices in part.items():
            in_use[pool] = in_use[pool] | devices if pool in in_use else devices
    return in_use
