"""Devices, shares of devices and capacity already allocated, as kube-scheduler gathers them from
claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from types import MappingProxyType

from msgspec import Struct, field

from dractl.allocation.features import Features
from dractl.model import Quantity, ResourceClaim


class DeviceID(Struct, frozen=True, order=True, gc=False):
    """A device of the cluster. ``str()`` is ``driver/pool/device``, as in the scheduler's messages.

    A pool's name may contain slashes, so :meth:`parse` splits off the first and the last part.
    """

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"

    @classmethod
    def parse(cls, text: str) -> DeviceID:
        """Parse ``driver/pool/device``; raises ValueError for anything else."""
        driver, slash, remainder = text.partition("/")
        pool, second, device = remainder.rpartition("/")
        if not (slash and second and driver and pool and device):
            raise ValueError(f"{text!r} is not a device: want driver/pool/device")
        return cls(driver, pool, device)


_NOTHING: Mapping[DeviceID, Mapping[str, Quantity]] = MappingProxyType({})


class AllocatedState(Struct, frozen=True):
    """Devices that other claims hold."""

    devices: AbstractSet[DeviceID] = frozenset()
    """Devices that are held whole."""
    shared: frozenset[DeviceID] = frozenset()
    """Devices with at least one held share."""
    capacity: Mapping[DeviceID, Mapping[str, Quantity]] = field(default_factory=lambda: _NOTHING)
    """The amounts that the held shares consume, summed for each device."""

    @classmethod
    def from_claims(cls, claims: Iterable[ResourceClaim], features: Features) -> AllocatedState:
        """Return the state that results from the allocations in ``claims``, even if their pods no
        longer run.
        """
        return cls.merge([cls.from_claim(claim, features) for claim in claims])

    @classmethod
    def from_claim(cls, claim: ResourceClaim, features: Features) -> AllocatedState:
        """Return the devices that one claim holds.

        Results with adminAccess hold nothing. A result with a share ID holds a share if
        DRAConsumableCapacity is on, and the whole device if it is off (kubernetes
        pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go).
        """
        allocation = claim.status.allocation if claim.status is not None else None
        if allocation is None:
            return _FREE
        devices: set[DeviceID] = set()
        shared: set[DeviceID] = set()
        capacity: dict[DeviceID, dict[str, Quantity]] = {}
        for result in allocation.devices.results:
            if result.admin_access:
                continue
            device = DeviceID(result.driver, result.pool, result.device)
            if result.share_id is None or "DRAConsumableCapacity" not in features.on:
                devices.add(device)
                continue
            if features.has("shares-known-by-id"):
                # Up to 1.36, kube-scheduler notices a share of a stored claim only by its consumed
                # capacity: kubernetes#139034.
                shared.add(device)
            if result.consumed_capacity:
                _add(capacity, device, result.consumed_capacity)
        return cls(frozenset(devices), frozenset(shared), capacity)

    @classmethod
    def merge(cls, parts: Sequence[AllocatedState]) -> AllocatedState:
        """Return the devices that several claims hold together."""
        capacity: dict[DeviceID, dict[str, Quantity]] = {}
        for part in parts:
            for device, consumed in part.capacity.items():
                _add(capacity, device, consumed)
        devices = frozenset[DeviceID]().union(*[part.devices for part in parts])
        return cls(devices, frozenset[DeviceID]().union(*[part.shared for part in parts]), capacity)


_FREE = AllocatedState()


def _add(
    capacity: dict[DeviceID, dict[str, Quantity]],
    device: DeviceID,
    consumed: Mapping[str, Quantity],
) -> None:
    total = capacity.setdefault(device, {})
    for name, quantity in consumed.items():
        total[name] = total[name] + quantity if name in total else quantity
