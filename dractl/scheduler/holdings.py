"""Devices that the claims of a cluster hold, as a whole and by pool."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet

from msgspec import Struct

from dractl.allocation import AllocatedState, DeviceID, Features
from dractl.cluster.derived import update_from
from dractl.cluster.state import ClusterState, Key
from dractl.model.paths import at
from dractl.objects import PoolName, Raw
from dractl.scheduler.snapshot import diff_objects

DevicesInUse = Mapping[PoolName, frozenset[object]]
"""The devices in use, by pool. A device is given by its name; a shared device by its name with
``"share"``, or with the capacity that is consumed.
"""

_NO_SHARES = AllocatedState()
_PLAIN_RESULT_FIELDS = {"request", "driver", "pool", "device"}


class ExclusiveDevices(AbstractSet[DeviceID]):
    """The devices that claims hold whole, as a view of the devices in use.

    A set of its own would be copied for each candidate, and have a hundred thousand devices.
    """

    __slots__ = ("_in_use",)

    def __init__(self, in_use: DevicesInUse) -> None:
        self._in_use = in_use

    def __contains__(self, device: object) -> bool:
        return isinstance(device, DeviceID) and device.device in self._in_use.get(
            (device.driver, device.pool), ()
        )

    def __iter__(self) -> Iterator[DeviceID]:
        for (driver, pool), devices in self._in_use.items():
            for name in devices:
                if isinstance(name, str):
                    yield DeviceID(driver, pool, name)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return any(True for _ in self)

    @classmethod
    def _from_iterable(cls, devices: Iterable[DeviceID]) -> frozenset[DeviceID]:  # type: ignore[override]
        return frozenset(devices)


class ClaimHolding(Struct, frozen=True):
    """The devices that one claim holds."""

    in_use: DevicesInUse
    shares: AllocatedState = _NO_SHARES
    """The shares of devices, without the devices that are held whole."""

    @property
    def is_empty(self) -> bool:
        """True if the claim holds nothing."""
        return not self.in_use and not self.shares.capacity


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
    if previous is not None and all(holding.is_empty for holding in changed):
        return HeldDevices(claims, previous.devices, previous.in_use)
    current = [holdings[id(claim)][1] for claim in claims.values()]
    if (
        previous is None
        or previous.devices.capacity
        or any(holding.shares.capacity for holding in changed)
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
        entry = holdings.get(id(claim))
        if entry is not None and entry[0] is claim:
            continue
        in_use, shares = _plain_holding(claim), _NO_SHARES
        if in_use is None:
            held = AllocatedState.from_claim(state.decode(claim), features)
            in_use = _by_pool(held)
            shares = AllocatedState(shared=held.shared, capacity=held.capacity)
        in_use = {pool: interned.setdefault(devices, devices) for pool, devices in in_use.items()}
        holdings[id(claim)] = claim, ClaimHolding(in_use, shares)
    return holdings


def _plain_holding(claim: Raw) -> DevicesInUse | None:
    """Return the devices in use by a claim that is not allocated, or whose results only name
    request, driver, pool and device; None for other claims.

    Most claims of a large cluster are of this kind, and decoding them would take a tenth of the
    time of an answer.
    """
    if not at(claim, "status", "allocation"):
        return {}
    results = at(claim, "status", "allocation", "devices", "results")
    if not isinstance(results, list):
        return None
    in_use: dict[PoolName, set[object]] = {}
    for result in results:
        if (
            not isinstance(result, dict)
            or result.keys() != _PLAIN_RESULT_FIELDS
            or set(map(type, result.values())) != {str}
        ):
            return None
        in_use.setdefault((result["driver"], result["pool"]), set()).add(result["device"])
    return {pool: frozenset(devices) for pool, devices in in_use.items()}


def _by_pool(held: AllocatedState) -> DevicesInUse:
    """Return the devices that are held, whole or in part, by their pools."""
    in_use: dict[PoolName, set[object]] = {}
    for device in held.devices:
        in_use.setdefault((device.driver, device.pool), set()).add(device.device)
    for device in held.shared:
        in_use.setdefault((device.driver, device.pool), set()).add((device.device, "share"))
    return {pool: frozenset(devices) for pool, devices in in_use.items()}


def _add_up(claims: Mapping[Key, Raw], holdings: Sequence[ClaimHolding]) -> HeldDevices:
    shares = _merge_shares(holdings)
    in_use = _merge(holding.in_use for holding in holdings)
    for device, amounts in shares.capacity.items():
        consumed = tuple(sorted((name, str(amount)) for name, amount in amounts.items()))
        pool = device.driver, device.pool
        in_use[pool] = in_use.get(pool, frozenset()) | {(device.device, consumed)}
    devices = AllocatedState(ExclusiveDevices(in_use), shares.shared, shares.capacity)
    return HeldDevices(claims, devices, in_use)


def _merge_shares(holdings: Iterable[ClaimHolding]) -> AllocatedState:
    return AllocatedState.merge(
        [holding.shares for holding in holdings if holding.shares is not _NO_SHARES]
    )


def _update(
    previous: HeldDevices,
    claims: Mapping[Key, Raw],
    current: Sequence[ClaimHolding],
    changed: Sequence[ClaimHolding],
) -> HeldDevices:
    """Add up the pools of the changed claims again, without capacity."""
    pools = {pool for holding in changed for pool in holding.in_use}
    neighbours = [holding for holding in current if not pools.isdisjoint(holding.in_use)]
    shared = previous.devices.shared
    shared = (shared - _merge_shares(changed).shared) | _merge_shares(neighbours).shared
    merged = _merge(holding.in_use for holding in neighbours)
    in_use = dict(previous.in_use)
    for pool in pools:
        if pool in merged:
            in_use[pool] = merged[pool]
        else:
            in_use.pop(pool, None)
    devices = AllocatedState(ExclusiveDevices(in_use), shared)
    return HeldDevices(claims, devices, in_use)


def _merge(parts: Iterable[DevicesInUse]) -> dict[PoolName, frozenset[object]]:
    in_use: dict[PoolName, frozenset[object]] = {}
    for part in parts:
        for pool, devices in part.items():
            in_use[pool] = in_use[pool] | devices if pool in in_use else devices
    return in_use
