"""Repairs of pools with inconsistent slices, as far as only their driver can make them."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from dractl.allocation import DanglingCounter, DanglingCounterSet, DuplicateDevice, PoolFault
from dractl.cluster.changes import Create, Patch, pointer
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic
from dractl.explain.fixes.edits import Operation, remove, replace
from dractl.explain.fixes.preference import Preference
from dractl.explain.reasons.pools import PoolCause
from dractl.model import Quantity
from dractl.objects import Device, Raw, items, mapping, newest, slice_of
from dractl.views import View
from dractl.views.counter_use import counter_uses


class Pool(Struct, frozen=True):
    """A pool that cannot be used, with its slices."""

    cause: PoolCause
    """The reason."""
    name: str
    """The name of the pool, without its driver."""
    slices: Mapping[str, Raw]
    """All slices of the pool, by their names."""

    @property
    def newest_slices(self) -> Sequence[Raw]:
        """The slices of the newest generation."""
        (slices,) = newest(self.slices.values(), lambda value: slice_of(value).identity).values()
        return slices

    def candidate(self, title: str, effect: str, changes: Sequence[Create | Patch]) -> Candidate:
        """Return a candidate that only the driver can apply."""
        slot = FixSlot(Topic.POOL, str(self.cause.pool))
        return Candidate(
            title, (), slot, Preference.RESTORE, effect=effect, consequences=tuple(changes)
        )

    def correction(self, noun: str, slice_name: str, operation: Operation) -> Candidate:
        """Return a correction that the driver would have to publish in a slice."""
        return self.candidate(
            f"fix driver {self.cause.driver}, which must publish {noun}",
            "report it to the driver, or use a version without the fault",
            [Patch(f"ResourceSlice/{slice_name}", (operation,))],
        )


def publish_missing_slices(pool: Pool, count: int) -> Candidate:
    """Publish the missing slices of a pool; the simulation adds empty slices."""
    model = View(pool.newest_slices[0])
    spec = {
        key: value for key, value in model.spec.items() if key not in ("devices", "sharedCounters")
    }
    announced = int(pool.cause.want or 0)
    pool_spec = {**mapping(spec.get("pool")), "resourceSliceCount": announced}
    creations = [
        Create(
            {
                "apiVersion": model.raw.get("apiVersion"),
                "kind": "ResourceSlice",
                "metadata": {"name": f"zz-missing-{number + 1}-{pool.name.replace('/', '-')}"},
                "spec": {**spec, "pool": pool_spec, "devices": []},
            }
        )
        for number in range(count)
    ]
    plural = "s" if count > 1 else ""
    return pool.candidate(
        f"restart driver {pool.cause.driver}, so that it publishes the missing slice{plural} "
        f"of pool {pool.name}",
        "tried with an empty slice in its place",
        creations,
    )


def publish_in_one_generation(pool: Pool) -> Candidate:
    """Publish all slices of a pool in its newest generation."""
    generation = max(slice_of(value).generation for value in pool.slices.values())
    count = len(pool.slices)
    patches = []
    for name, value in pool.slices.items():
        operations: list[Operation] = []
        if slice_of(value).generation != generation:
            operations.append(replace(("spec", "pool", "generation"), generation))
        if slice_of(value).announced != count:
            operations.append(replace(("spec", "pool", "resourceSliceCount"), count))
        if operations:
            patches.append(Patch(f"ResourceSlice/{name}", tuple(operations)))
    return pool.candidate(
        f"restart driver {pool.cause.driver}, so that it publishes all slices "
        f"of pool {pool.cause.pool} in generation {generation}",
        "",
        patches,
    )


def remove_fault(pool: Pool, fault: PoolFault | None) -> Iterator[Candidate]:
    """Add the missing counter or counter set, or remove the repeated device."""
    match fault:
        case DanglingCounter():
            yield from _add_counter(pool, fault)
        case DanglingCounterSet(counter_set=counter_set):
            yield from _add_counter_set(pool, counter_set)
            yield from _remove_consumption(pool, counter_set)
        case DuplicateDevice(device=device):
            yield from _remove_duplicate(pool, device)


def _add_counter(pool: Pool, fault: DanglingCounter) -> Iterator[Candidate]:
    """Add a counter that devices consume to its counter set."""
    value = {"value": _total_consumption(pool, fault.counter)}
    for slice_name, published in pool.slices.items():
        for index, counter_set in enumerate(items(View(published).spec.get("sharedCounters"))):
            if mapping(counter_set).get("name") == fault.counter_set:
                place = pointer("spec", "sharedCounters", index, "counters", fault.counter)
                addition = {"op": "add", "path": place, "value": value}
                yield pool.correction(f"counter {fault.counter}", slice_name, addition)


def _add_counter_set(pool: Pool, name: str) -> Iterator[Candidate]:
    """Add a counter set with the amounts that all devices consume together."""
    names = dict.fromkeys(
        counter
        for _, device in _devices(pool)
        for use in counter_uses(device.fields)
        if use.counter_set == name
        for counter in use.counters
    )
    counters = {counter: {"value": _total_consumption(pool, counter)} for counter in names}
    counter_set = {"name": name, "counters": counters}
    addition = {"op": "add", "path": "/spec/sharedCounters/-", "value": counter_set}
    for slice_name, value in pool.slices.items():
        if counters and View(value).spec.get("sharedCounters"):
            yield pool.correction(f"counter set {name}", slice_name, addition)


def _remove_consumption(pool: Pool, counter_set: str) -> Iterator[Candidate]:
    """Remove a device's consumption of a counter set that does not exist."""
    for slice_name, device in _devices(pool):
        if any(use.counter_set == counter_set for use in counter_uses(device.fields)):
            removal = remove((*device.path, "consumesCounters"))
            noun = f"device {device.name} without counter set {counter_set}"
            yield pool.correction(noun, slice_name, removal)


def _remove_duplicate(pool: Pool, name: str) -> Iterator[Candidate]:
    """Remove the last of several devices with the same name."""
    devices = [(slice_name, each) for slice_name, each in _devices(pool) if each.name == name]
    if len(devices) > 1:
        slice_name, device = devices[-1]
        yield pool.correction(f"device {name} only once", slice_name, remove(device.path[:3]))


def _devices(pool: Pool) -> Iterator[tuple[str, Device]]:
    """Yield the devices of a pool, each after the name of its slice."""
    return ((name, device) for name, v in pool.slices.items() for device in slice_of(v).devices)


def _total_consumption(pool: Pool, counter: str) -> str:
    """Return how much of a counter all devices consume."""
    total = Quantity.parse("0")
    for _, device in _devices(pool):
        for use in counter_uses(device.fields):
            if amount := use.amount(counter):
                total = total + Quantity.parse(amount)
    return str(total)
