"""Devices of a cluster, and the claims and pods that hold them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dractl.allocation import DeviceID
from dractl.cluster.pods import pods_using_claim
from dractl.cluster.state import ClusterState, Key, parse_key
from dractl.model import Device, DeviceAttribute, ResourceSlice
from dractl.objects import PoolName, identity, newest

MAX_SETS_OF_DEVICES = 1024
"""The number of sets of devices whose holders and nodes are cached."""


class Holder(Struct, frozen=True):
    """A holder of devices: a claim, and a pod that it is reserved for."""

    claim: str
    """``namespace/name``."""
    devices: tuple[str, ...]
    """``driver/pool/device`` of each."""
    pod: str | None = None
    """The pod, ``namespace/name``; None if no pod uses the claim."""
    since: str | None = None
    """The time at which the claim was allocated (RFC 3339)."""
    finished: bool | None = None
    """True if the pod has ended or is gone; None if the input has no pods."""
    workload: str | None = None
    """``Kind namespace/name`` of the controller that made the pod."""
    consumer: str | None = None
    """``RESOURCE[.GROUP] NAME`` for which the claim is reserved, if that is not a pod."""


class Devices:
    """The published devices of a cluster and the claims that hold them.

    Both are indexed when first needed.
    """

    def __init__(self, state: ClusterState, slices: Iterable[ResourceSlice]) -> None:
        self.state = state
        self.slices = tuple(slices)
        self._pools: dict[PoolName, list[ResourceSlice]] | None = None
        self._named: dict[tuple[str, str], dict[str, Device]] = {}
        self._claims_by_pool: dict[PoolName, list[Key]] | None = None
        self._claims_by_device: dict[PoolName, dict[str, list[Key]]] = {}
        self._holders: dict[Key, tuple[Holder, ...]] = {}
        self._nodes: dict[tuple[str, ...], str | None] = {}
        self._holders_by_devices: dict[tuple[DeviceID, ...], tuple[Holder, ...]] = {}

    def pool(self, driver: str, pool: str) -> list[ResourceSlice]:
        """Return the slices of the pool's newest generation."""
        if self._pools is None:
            self._pools = newest(self.slices, identity)
        return self._pools.get((driver, pool), [])

    def get(self, device: DeviceID) -> Device | None:
        """Return a device of the newest generation of its pool; None if no slice has it."""
        key = (device.driver, device.pool)
        named = self._named.get(key)
        if named is None:
            named = {d.name: d for item in self.pool(*key) for d in item.spec.devices}
            self._named[key] = named
        return named.get(device.device)

    def are_shared(self, devices: Iterable[DeviceID]) -> bool:
        """Return True if any of the devices can be allocated more than once at the same time."""
        return any(device.allow_multiple_allocations for device in map(self.get, devices) if device)

    def node_of(self, devices: tuple[str, ...]) -> str | None:
        """Return the only node that can use devices (``driver/pool/device``); None if several can.

        The result is cached, since many pods wait for the same devices.
        """
        if devices not in self._nodes:
            if len(self._nodes) >= MAX_SETS_OF_DEVICES:
                self._nodes.clear()
            pools = {
                (driver, name.rpartition("/")[0])
                for driver, _, name in (device.partition("/") for device in devices)
            }
            names = {item.spec.node_name for pool in pools for item in self.pool(*pool)}
            self._nodes[devices] = names.pop() if len(names) == 1 else None
        return self._nodes[devices]

    def attribute(self, device: DeviceID, name: str) -> DeviceAttribute | None:
        """Return an attribute of a device by its full name, as constraints look it up.

        A name without a domain is taken to be in the driver's own domain.
        """
        published = self.get(device)
        return None if published is None else published.attribute(name, device.driver)

    # -- holders --

    @property
    def claims_by_pool(self) -> Mapping[PoolName, Sequence[Key]]:
        """The claims that hold devices of each pool, except through adminAccess."""
        if self._claims_by_pool is None:
            self._claims_by_pool = {}
            for key, claim in self.state.claims.items():
                for pool in claim.held_pools:
                    self._claims_by_pool.setdefault(pool, []).append(key)
        return self._claims_by_pool

    def claims_by_device(self, pool: PoolName) -> Mapping[str, list[Key]]:
        """Return the claims that hold each device of a pool, by the name of the device."""
        if pool not in self._claims_by_device:
            holders = self._claims_by_device[pool] = dict[str, list[Key]]()
            claims = self.state.claims
            for key in self.claims_by_pool.get(pool, ()):
                for device in claims[key].held_devices:
                    if (device.driver, device.pool) == pool:
                        holders.setdefault(device.device, []).append(key)
        return self._claims_by_device[pool]

    def claims_of(self, device: DeviceID) -> list[Key]:
        """Return the claims that hold the device, except through adminAccess."""
        return self.claims_by_device((device.driver, device.pool)).get(device.device, [])

    def counter_consumers(self, sets: Collection[tuple[str, str, str]]) -> list[DeviceID]:
        """Return the held devices that consume counters of any of the sets.

        A set is given by driver, pool and name.
        """
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
        """Return the holders of any of ``devices``, one for each claim and pod.

        Holders of the most devices come first. The result is cached, since many pods wait for the
        same devices.
        """
        key = tuple(devices)
        holders = self._holders_by_devices.get(key)
        if holders is None:
            if len(self._holders_by_devices) >= MAX_SETS_OF_DEVICES:
                self._holders_by_devices.clear()
            holders = self._holders_by_devices[key] = self._find_holders(key)
        return holders

    def _find_holders(self, devices: Iterable[DeviceID]) -> tuple[Holder, ...]:
        by_claim: dict[Key, list[DeviceID]] = {}
        for device in devices:
            for key in self.claims_of(device):
                by_claim.setdefault(key, []).append(device)
        holders: list[Holder] = []
        claims = list(by_claim.items())
        if len(claims) > 1:
            claims.sort(key=lambda item: (-len(item[1]), item[0]))
        for key, claim_devices in claims:
            if key not in self._holders:
                self._holders[key] = tuple(self._holders_of(key))
            named = tuple(str(device) for device in claim_devices)
            holders += [replace(holder, devices=named) for holder in self._holders[key]]
        return tuple(holders)

    def _holders_of(self, key: Key) -> Iterator[Holder]:
        """Yield a holder for each pod that uses a claim, or one for the claim itself. ``devices``
        of the holders is still empty.
        """
        claim, claim_name = self.state.claim(key), "/".join(key)
        since = claim.allocation_timestamp or claim.creation_timestamp or None
        names = list(claim.consumer_pods)
        other = next((c for c in claim.consumers if c.resource != "pods"), None)
        if not names and other is not None:
            resource = ".".join(filter(None, (other.resource, other.api_group)))
            consumer = f"{resource} {other.name}"
            yield Holder(claim_name, (), None, since, finished=False, consumer=consumer)
            return
        names = names or [pod.name for pod in pods_using_claim(self.state, key)]
        if not names:
            yield Holder(claim_name, (), None, since, finished=not claim.consumers)
        for name in names:
            pod = self.state.pod((key[0], name))
            finished = pod.has_ended or not pod.exists
            owner = pod.workload
            workload = f"{owner[0]} {key[0]}/{owner[1]}" if owner is not None else None
            yield Holder(
                claim_name,
                (),
                f"{key[0]}/{name}",
                since,
                finished if self.state.shows("Pod", key[0]) else None,
                workload,
            )


def outlives_pod(state: ClusterState, holder: Holder) -> bool:
    """Return True if a claim holds its devices for a pod that has ended, or for a pod that is gone
    and whose deletion should have removed the claim.

    A pod that is merely not in the input may still run.
    """
    if holder.pod is None or not holder.finished:
        return False
    has_pod = state.pod(parse_key(holder.pod)).exists
    return has_pod or bool(state.claim(parse_key(holder.claim)).deletion_timestamp)


def ready_devices(state: ClusterState) -> frozenset[DeviceID]:
    """Return the devices that their drivers report as ready in the status of a claim.

    Such a device may be in no slice: dra.net no longer publishes an interface that it has moved
    into a pod, since it scans its own network namespace (kubernetes-sigs/dranet pkg/inventory).
    """
    return frozenset(
        device.id
        for claim in state.claims.values()
        for device in claim.reported_devices
        if device.condition("Ready").status == "True"
    )
