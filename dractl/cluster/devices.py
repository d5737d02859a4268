"""Looking up devices and who holds them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import DeviceID
from dractl.cluster.pods import consumers, ended
from dractl.cluster.state import ClusterState, Key, list_at, maps_at, parse_key, text_at
from dractl.cluster.workloads import workload_of
from dractl.model import Device, DeviceAttribute, ResourceSlice
from dractl.objects import PoolName, Raw, identity, newest


class Holder(Struct, frozen=True):
    """A holder of devices: a claim, the pod that it is reserved for (None: no pod), and the pod's workload."""

    claim: str  # namespace/name
    devices: tuple[str, ...]  # driver/pool/device
    pod: str | None = None  # namespace/name
    since: str | None = None  # RFC 3339, when the claim was allocated
    finished: bool | None = None  # the pod has ended or is gone; None: not in the input
    workload: str | None = None  # Kind namespace/name, of pods that a controller creates
    consumer: str | None = (
        None  # RESOURCE[.GROUP] NAME, for which the claim is reserved if not for a pod
    )


class Devices:
    """The published devices of a cluster and the claims that hold them; both are indexed when first asked for."""

    def __init__(self, state: ClusterState, slices: Iterable[ResourceSlice]) -> None:
        self.state = state
        self.slices = tuple(slices)
        self._pools: dict[PoolName, list[ResourceSlice]] | None = None
        self._named: dict[tuple[str, str], dict[str, Device]] = {}
        self._claims_by_pool: dict[PoolName, list[Key]] | None = None
        self._claims_by_device: dict[PoolName, dict[str, list[Key]]] = {}
        self._holders: dict[Key, tuple[Holder, ...]] = {}

    def pool(self, driver: str, pool: str) -> list[ResourceSlice]:
        """The slices of the pool's newest generation."""
        if self._pools is None:
            self._pools = newest(self.slices, identity)
        return self._pools.get((driver, pool), [])

    def get(self, device: DeviceID) -> Device | None:
        """A device of the newest generation of its pool, or None where no slice has it."""
        key = (device.driver, device.pool)
        named = self._named.get(key)
        if named is None:
            named = {d.name: d for item in self.pool(*key) for d in item.spec.devices}
            self._named[key] = named
        return named.get(device.device)

    def attribute(self, device: DeviceID, name: str) -> DeviceAttribute | None:
        """An attribute by its full name, as constraints look it up: with its domain, else in the driver's own."""
        published = self.get(device)
        return None if published is None else published.attribute(name, device.driver)

    # -- holders --

    @property
    def claims_by_pool(self) -> Mapping[PoolName, Sequence[Key]]:
        """The claims that hold devices of each pool, except through adminAccess."""
        if self._claims_by_pool is None:
            self._claims_by_pool = {}
            for key, claim in self.state.objects("ResourceClaim").items():
                for pool in dict.fromkeys([_pool_of(result) for result in _held_results(claim)]):
                    self._claims_by_pool.setdefault(pool, []).append(key)
        return self._claims_by_pool

    def claims_by_device(self, pool: PoolName) -> Mapping[str, list[Key]]:
        """By name the devices of a pool that are held, and the claims that hold them."""
        if pool not in self._claims_by_device:
            named = self._claims_by_device[pool] = dict[str, list[Key]]()
            for key in self.claims_by_pool.get(pool, ()):
                for device in map(
                    allocated_device_id, _held_results(self.state.get("ResourceClaim", key))
                ):
                    if (device.driver, device.pool) == pool:
                        named.setdefault(device.device, []).append(key)
        return self._claims_by_device[pool]

    def claims_of(self, device: DeviceID) -> list[Key]:
        """Claims holding the device, except through adminAccess."""
        return self.claims_by_device((device.driver, device.pool)).get(device.device, [])

    def counter_consumers(self, sets: Collection[tuple[str, str, str]]) -> list[DeviceID]:
        """The held devices that consume counters of any of the sets, each by driver, pool and name."""
        consumers = []
        for driver, pool in dict.fromkeys((driver, pool) for driver, pool, _ in sets):
            for item in self.pool(driver, pool):
                for device in item.spec.devices:
                    identity = DeviceID(driver, pool, device.name)
                    takes = any(
                        (driver, pool, c.counter_set) in sets for c in device.consumes_counters
                    )
                    if takes and self.claims_of(identity):
                        consumers.append(identity)
        return consumers

    def holders(self, devices: Iterable[DeviceID]) -> tuple[Holder, ...]:
        """Holders of any of ``devices``: one entry for each claim and pod, those with the most devices first."""
        by_claim: dict[Key, list[DeviceID]] = {}
        for device in devices:
            for key in self.claims_of(device):
                by_claim.setdefault(key, []).append(device)
        holders: list[Holder] = []
        for key, claim_devices in sorted(
            by_claim.items(), key=lambda item: (-len(item[1]), item[0])
        ):
            if key not in self._holders:
                self._holders[key] = tuple(self._holders_of(key))
            named = tuple(str(device) for device in claim_devices)
            holders += [replace(holder, devices=named) for holder in self._holders[key]]
        return tuple(holders)

    def _holders_of(self, key: Key) -> Iterator[Holder]:
        """The holders that a claim is, without its devices."""
        claim = self.state.get("ResourceClaim", key)
        since = text_at(claim, "status", "allocation", "allocationTimestamp") or text_at(
            claim, "metadata", "creationTimestamp"
        )
        names = [
            text_at(c, "name")
            for c in maps_at(claim, "status", "reservedFor")
            if c.get("resource") == "pods"
        ]
        other = next(
            (c for c in maps_at(claim, "status", "reservedFor") if c.get("resource") != "pods"),
            None,
        )
        if not names and other is not None:
            resource = ".".join(
                filter(None, (text_at(other, "resource"), text_at(other, "apiGroup")))
            )
            consumer = f"{resource} {text_at(other, 'name')}"
            yield Holder("/".join(key), (), None, since or None, finished=False, consumer=consumer)
            return
        if not names:
            names = [text_at(p, "metadata", "name") for p in consumers(self.state, key)]
        if not names:
            yield Holder(
                "/".join(key),
                (),
                None,
                since or None,
                bool(not list_at(claim, "status", "reservedFor")),
            )
        for name in names:
            pod = self.state.get("Pod", (key[0], name))
            finished = (
                None if pod is None and not self.state.has("Pod") else pod is None or ended(pod)
            )
            owner = workload_of(pod)
            made_by = f"{owner[0]} {key[0]}/{owner[1]}" if owner is not None else None
            yield Holder("/".join(key), (), f"{key[0]}/{name}", since or None, finished, made_by)


def outlives_pod(state: ClusterState, holder: Holder) -> bool:
    """True if a claim holds its devices for a pod that has ended, or that is gone and took the claim with it. A pod
    that is merely not in the input may run."""
    if holder.pod is None or not holder.finished:
        return False
    claim = state.get("ResourceClaim", parse_key(holder.claim))
    return state.get("Pod", parse_key(holder.pod)) is not None or bool(
        text_at(claim, "metadata", "deletionTimestamp")
    )


def _held_results(claim: Raw | None) -> list[Raw]:
    results = maps_at(claim, "status", "allocation", "devices", "results")
    return [result for result in results if result.get("adminAccess") is not True]


def _pool_of(result: Raw) -> PoolName:
    driver, pool = result.get("driver"), result.get("pool")
    return driver if isinstance(driver, str) else "", pool if isinstance(pool, str) else ""


def allocated_device_id(result: Raw) -> DeviceID:
    """The device of one allocation result."""
    return DeviceID(text_at(result, "driver"), text_at(result, "pool"), text_at(result, "device"))


def ready_devices(state: ClusterState) -> frozenset[DeviceID]:
    """The devices that their drivers call ready in the status of a claim. dra.net no longer publishes an interface that
    it has moved into a pod: it scans its own network namespace (kubernetes-sigs/dranet pkg/inventory)."""
    return frozenset(
        allocated_device_id(device)
        for claim in state.objects("ResourceClaim").values()
        for device in maps_at(claim, "status", "devices")
        if any(
            c.get("type") == "Ready" and c.get("status") == "True"
            for c in maps_at(device, "conditions")
        )
    )
