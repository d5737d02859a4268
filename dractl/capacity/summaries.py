"""A pool's contents other than whole devices: shared capacity, counters, and partitions by type.

These are the views of a ResourcePoolStatusRequest (kubernetes
pkg/controller/resourcepoolstatusrequest/views.go), and the counters from which they are computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from dractl.model import Device, Quantity, ResourceSlice

CounterName = tuple[str, str]  # counter set, counter


class Amount(Struct, frozen=True):
    """A capacity or counter with its consumed and remaining amounts, as quantities."""

    name: str
    total: str
    consumed: str
    remaining: str

    @classmethod
    def from_quantities(cls, name: str, total: Quantity, consumed: Quantity) -> Amount:
        """Return the amount; the remainder is never negative."""
        remaining = total - consumed
        return cls(
            name, str(total), str(consumed), str(remaining if remaining.sign() > 0 else Quantity())
        )


class ShareableDevices(Struct, frozen=True):
    """Devices that several claims may share."""

    full: int
    """The number of devices that are in no claim."""
    partial: int
    """The number of devices that are in at least one claim."""
    capacity: tuple[Amount, ...]


class PartitionCount(Struct, frozen=True):
    """Partitions of one type."""

    attribute: str
    type: str
    total: int
    allocatable: int
    """The number of further partitions that the remaining counters allow."""


def count_shareable_devices(
    slices: Iterable[ResourceSlice], used: frozenset[str], consumed: Mapping[str, Quantity]
) -> ShareableDevices | None:
    """Count the devices of a pool that may be shared; None if it has none.

    ``used`` are names of devices in claims, and ``consumed`` is the claims' share of each capacity.
    """
    devices = [
        device
        for resource_slice in slices
        for device in resource_slice.spec.devices
        if device.allow_multiple_allocations
    ]
    if not devices:
        return None
    totals: dict[str, Quantity] = {}
    for device in devices:
        for name, capacity in device.capacity.items():
            totals[name] = totals.get(name, Quantity()) + capacity.value
    partial = sum(device.name in used for device in devices)
    amounts = tuple(
        Amount.from_quantities(name, totals[name], consumed.get(name, Quantity()))
        for name in sorted(totals)
    )
    return ShareableDevices(len(devices) - partial, partial, amounts)


def sum_counters(
    slices: Sequence[ResourceSlice], used: frozenset[str]
) -> tuple[tuple[str, tuple[Amount, ...]], ...]:
    """Sum the amounts of each counter of a pool that devices in claims consume, by counter set."""
    consumed: dict[CounterName, Quantity] = {}
    for device in _list_partitions(slices):
        if device.name in used:
            for name, amount in list_consumed_counters(device):
                consumed[name] = consumed.get(name, Quantity()) + amount
    return tuple(
        (
            counter_set.name,
            tuple(
                Amount.from_quantities(n, v, consumed.get((counter_set.name, n), Quantity()))
                for n, v in counter_set.counters.items()
            ),
        )
        for resource_slice in slices
        for counter_set in resource_slice.spec.shared_counters
    )


def list_consumed_counters(device: Device) -> list[tuple[CounterName, Quantity]]:
    """Return a device's consumption of its counters."""
    return [
        ((c.counter_set, name), value)
        for c in device.consumes_counters
        for name, value in c.counters.items()
    ]


def count_partitions(
    slices: Sequence[ResourceSlice], used: frozenset[str]
) -> tuple[PartitionCount, ...]:
    """Count partitions by type; the type is in the attribute that their slice names.

    Nothing is returned for a pool in which a partition lacks the attribute, or in which two
    partitions of one type consume different counters.
    """
    remaining = {
        (name, a.name): Quantity.parse(a.remaining)
        for name, amounts in sum_counters(slices, used)
        for a in amounts
    }
    types: dict[tuple[str, str], list[Device]] = {}
    for resource_slice in slices:
        attribute = resource_slice.spec.partition_type_attribute
        for device in resource_slice.spec.devices if attribute else ():
            if not device.consumes_counters or attribute is None:
                continue
            attribute_value = device.attribute(attribute, resource_slice.spec.driver)
            if attribute_value is None or not isinstance(attribute_value.value, str):
                return ()
            types.setdefault((attribute, attribute_value.value), []).append(device)
    rows = []
    for (attribute, name), devices in sorted(types.items()):
        if (
            len(
                {
                    repr(sorted((n, str(v)) for n, v in list_consumed_counters(device)))
                    for device in devices
                }
            )
            > 1
        ):
            return ()
        unused = [device for device in devices if device.name not in used]
        rows.append(
            PartitionCount(attribute, name, len(devices), _count_fitting(unused, remaining))
        )
    return tuple(rows)


def _count_fitting(devices: Iterable[Device], remaining: Mapping[CounterName, Quantity]) -> int:
    free, number = dict(remaining), 0
    for device in devices:
        needs = list_consumed_counters(device)
        if all(name in free and not free[name] < amount for name, amount in needs):
            number += 1
            for name, amount in needs:
                free[name] = free[name] - amount
    return number


def _list_partitions(slices: Iterable[ResourceSlice]) -> Iterable[Device]:
    return (
        device
        for resource_slice in slices
        for device in resource_slice.spec.devices
        if device.mapping.get("consumesCounters")
    )
