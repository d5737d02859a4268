"""The pools that a node sees: their slices, whether they are complete and valid, and the order of
the search.

GatherPools in k8s.io/dynamic-resource-allocation/structured/internal/*/pools_*.go. Slices of older
generations are dropped without an error, and so is a pool if all of its newest slices are for other
nodes.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from dractl.allocation.faults import (
    AttemptFailed,
    DanglingCounter,
    DanglingCounterSet,
    DuplicateCounterSet,
    DuplicateDevice,
    Fault,
    PoolFault,
)
from dractl.allocation.features import Behaviour, Features
from dractl.allocation.nodes import SelectorFault, node_matches
from dractl.allocation.state import DeviceID
from dractl.model import Device, Node, Quantity, ResourceSlice

PoolID = tuple[str, str]


class PoolDevice(Struct, frozen=True):
    """A device in a pool that the node can use."""

    id: DeviceID
    device: Device
    slice: ResourceSlice


class Pool(Struct):
    """A pool as one node sees it."""

    driver: str
    name: str
    generation: int
    expected: int
    """The number of slices that the pool declares."""
    found: int
    """The number of slices of the pool's generation in the cluster."""
    slices: tuple[ResourceSlice, ...] = ()
    """The slices with the devices for the node."""
    others: tuple[ResourceSlice, ...] = ()
    """The slices for other nodes, which matter for counters."""
    counter_sets: Mapping[str, Mapping[str, Quantity]] = field(default_factory=dict)
    incomplete: bool = False
    invalid: PoolFault | None = None
    devices: tuple[PoolDevice, ...] = ()
    binding: bool = False
    memory: dict[Hashable, Any] = field(default_factory=dict)
    """Results for the pool's devices, shared by all nodes that see the pool."""

    @property
    def id(self) -> PoolID:
        return self.driver, self.name

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"

    @property
    def state(self) -> Literal["usable", "incomplete", "invalid"]:
        if self.incomplete:
            return "incomplete"
        return "usable" if self.invalid is None else "invalid"


def has_binding_conditions(slice_: ResourceSlice) -> bool:
    """Return True if any device has the field bindingConditions, even an empty one."""
    return any(
        device.mapping.get("bindingConditions") is not None for device in slice_.spec.devices
    )


def uses_groups(slice_: ResourceSlice) -> bool:
    """Return True if any device declares compatibility groups."""
    return any(
        consumption.compatibility_groups
        for device in slice_.spec.devices
        if device.mapping.get("consumesCounters")
        for consumption in device.consumes_counters
    )


class SliceIndex:
    """All slices of a cluster by node and by pool. Pools that many nodes see are built once."""

    def __init__(
        self, slices: Sequence[ResourceSlice], features: Features, behaviour: Behaviour
    ) -> None:
        self.features = features
        self.behaviour = behaviour
        self.slices = tuple(slices)
        self.partitionable = features.enabled("DRAPartitionableDevices")
        self.without_groups = features.has("compatibility-groups") and not features.enabled(
            "DRADeviceCompatibilityGroups"
        )
        self._by_node: dict[str, list[int]] = {}
        self._shared: list[int] = []
        self._by_pool: dict[PoolID, list[int]] = {}
        self._built: dict[Hashable, Pool] = {}
        self._ignored: dict[int, bool] = {}
        self._named: dict[
            int, dict[str | None, list[tuple[int, Device]]]
        ] = {}  # devices of a slice by their node
        self._gathered: dict[Hashable, tuple[Pool, ...]] = {}
        for number, slice_ in enumerate(self.slices):
            spec = slice_.spec
            self._by_pool.setdefault((spec.driver, spec.pool.name), []).append(number)
            if spec.node_name and not (
                spec.shared_counters and behaviour.counter_slices_everywhere
            ):
                self._by_node.setdefault(spec.node_name, []).append(number)
            else:
                self._shared.append(number)

    def gather(self, node: Node) -> tuple[Pool, ...]:
        """Return the pools in the scheduler's order; they are sorted if that order is random.

        Raises AttemptFailed if the scheduler fails.
        """
        key = _node_key(node)
        if key not in self._gathered:
            self._gathered[key] = self._gather(node)
        return self._gathered[key]

    def _gather(self, node: Node) -> tuple[Pool, ...]:
        of_node = self._by_node.get(node.metadata.name, [])
        numbers = (
            [*of_node, *self._shared]
            if self.behaviour.ordered
            else sorted([*of_node, *self._shared])
        )
        relevant = [n for n in numbers if not self._ignore(n) and self._relevant(n, node)]
        if self.behaviour.binding_slices_last:
            late = [n for n in relevant if self._moves_back(n)]
            relevant = [n for n in relevant if n not in set(late)] + late
        by_pool: dict[PoolID, list[int]] = {}
        for number in relevant:
            self._add(by_pool, number)
        pools = [
            pool for key in sorted(by_pool) if (pool := self._pool(key, by_pool[key])) is not None
        ]
        if self.behaviour.binding:
            pools.sort(key=lambda pool: pool.binding)
        return tuple(pools)

    def obsolete(self, node: Node) -> list[tuple[PoolID, int, int]]:
        """Return the node's pools that are obsolete because all slices of a newer generation are
        for other nodes, each with its generation on this node and its number of devices.
        """
        gathered = {pool.id for pool in self.gather(node)}
        gone: dict[PoolID, tuple[int, int]] = {}
        for number in [*self._by_node.get(node.metadata.name, []), *self._shared]:
            spec = self.slices[number].spec
            key = (spec.driver, spec.pool.name)
            if key not in gathered and not self._ignore(number) and self._relevant(number, node):
                generation, devices = gone.get(key, (0, 0))
                gone[key] = max(generation, spec.pool.generation), devices + len(spec.devices)
        return [(key, generation, devices) for key, (generation, devices) in gone.items()]

    def _ignore(self, number: int) -> bool:
        """Return True for a slice that is left out because it has a field whose gate is off."""
        ignored = self._ignored.get(number)
        if ignored is None:
            slice_ = self.slices[number]
            early = self.behaviour.counters_in_slice
            ignored = self._ignored[number] = (
                not self.partitionable
                and (
                    slice_.spec.per_device_node_selection is not None
                    or (bool(slice_.spec.shared_counters) and not early)
                )
            ) or (self.without_groups and uses_groups(slice_))
        return ignored

    def _relevant(self, number: int, node: Node) -> bool:
        slice_ = self.slices[number]
        spec = slice_.spec
        if spec.shared_counters and self.behaviour.counter_slices_everywhere:
            return True
        try:
            if spec.node_name or spec.all_nodes or spec.node_selector is not None:
                return node_matches(node, spec.node_name, spec.all_nodes, spec.node_selector)
        except SelectorFault as fault:
            raise _unparsable(slice_, f"slice {slice_.metadata.name}", fault) from None
        if not spec.per_device_node_selection:
            return False
        named = self._named.get(number)
        if named is None:
            named = self._named[number] = {}
            for position, device in enumerate(spec.devices):
                named.setdefault(device.node_name, []).append((position, device))
        for _, device in sorted(
            [*named.get(node.metadata.name, ()), *named.get(None, ()), *named.get("", ())]
        ):
            try:
                if node_matches(node, device.node_name, device.all_nodes, device.node_selector):
                    return True
            except SelectorFault as fault:
                place = f"device {device.name} in slice {slice_.metadata.name}"
                raise _unparsable(slice_, place, fault) from None
        return False

    def _moves_back(self, number: int) -> bool:
        slice_ = self.slices[number]
        if slice_.spec.shared_counters and self.behaviour.counter_slices_everywhere:
            return False
        return has_binding_conditions(slice_)

    def _add(self, by_pool: dict[PoolID, list[int]], number: int) -> None:
        spec = self.slices[number].spec
        key = (spec.driver, spec.pool.name)
        numbers = by_pool.get(key)
        if numbers is None:
            by_pool[key] = [number]
            return
        generation = self.slices[numbers[0]].spec.pool.generation
        if spec.pool.generation > generation:
            by_pool[key] = [number]
        elif spec.pool.generation == generation:
            numbers.append(number)

    def _pool(self, key: PoolID, numbers: list[int]) -> Pool | None:
        memory = (key, tuple(numbers))
        if memory not in self._built:
            self._built[memory] = _OBSOLETE if (pool := self._build(key, numbers)) is None else pool
        pool = self._built[memory]
        return None if pool is _OBSOLETE else pool

    def _build(self, key: PoolID, numbers: list[int]) -> Pool | None:
        """Return the pool, or None if a newer generation replaces it."""
        first = self.slices[numbers[0]].spec.pool
        everywhere = numbers
        complete = len(numbers) == first.resource_slice_count
        if not complete and self.behaviour.whole_cluster:
            everywhere = []
            for number in self._by_pool[key]:
                generation = self.slices[number].spec.pool.generation
                if generation > first.generation:
                    return None
                if generation == first.generation and not (
                    self.without_groups and self._ignore_groups(number)
                ):
                    everywhere.append(number)
            complete = len(everywhere) == first.resource_slice_count
        pool = Pool(
            *key,
            first.generation,
            first.resource_slice_count,
            len(everywhere),
            incomplete=not complete,
        )
        if complete or self.behaviour.counters_in_slice:
            self._fill(pool, numbers, everywhere)
        return pool

    def _ignore_groups(self, number: int) -> bool:
        return uses_groups(self.slices[number])

    def _fill(self, pool: Pool, numbers: list[int], everywhere: list[int]) -> None:
        slices = [self.slices[n] for n in numbers]
        if self.behaviour.ordered:
            slices.sort(key=lambda slice_: slice_.metadata.name)
        if self.behaviour.counters_in_slice:
            device_slices, counter_slices, others = slices, [], []
        else:
            device_slices = [
                s for s in slices if not (self.partitionable and s.spec.shared_counters)
            ]
            counter_slices = [s for s in slices if self.partitionable and s.spec.shared_counters]
            names = {s.metadata.name for s in slices}
            others = [
                self.slices[n] for n in everywhere if self.slices[n].metadata.name not in names
            ]
            if self.partitionable and not self.behaviour.counter_slices_everywhere:
                counter_slices += [s for s in others if s.spec.shared_counters]
                others = [s for s in others if not s.spec.shared_counters]
        pool.binding = any(map(has_binding_conditions, device_slices))
        pool.invalid = _find_duplicate_device(device_slices)
        if pool.invalid is None and self.partitionable and not self.behaviour.counters_in_slice:
            pool.invalid = self._counter_fault(pool, slices, device_slices, counter_slices, others)
        if pool.invalid is not None:
            pool.binding = False
            if not self.behaviour.counters_in_slice:
                return
            pool.binding = any(map(has_binding_conditions, device_slices))
        pool.slices, pool.others = tuple(device_slices), tuple(others)
        pool.devices = tuple(
            PoolDevice(DeviceID(pool.driver, pool.name, device.name), device, slice_)
            for slice_ in device_slices
            for device in slice_.spec.devices
        )

    def _counter_fault(
        self,
        pool: Pool,
        slices: list[ResourceSlice],
        device_slices: list[ResourceSlice],
        counter_slices: list[ResourceSlice],
        others: list[ResourceSlice],
    ) -> PoolFault | None:
        sets: dict[str, Mapping[str, Quantity]] = {}
        for slice_ in counter_slices:
            for counter_set in slice_.spec.shared_counters:
                if counter_set.name in sets:
                    return DuplicateCounterSet(counter_set.name)
                sets[counter_set.name] = counter_set.counters
        pool.counter_sets = sets
        checked = slices if self.behaviour.counter_slices_everywhere else device_slices
        return _find_dangling_counter(sets, checked) or _find_dangling_counter(sets, others)


def _node_key(node: Node) -> Hashable:
    """Return the parts of a node that node selectors read."""
    return node.metadata.name, tuple(node.metadata.labels.items())


def node_selection(node: Node, pool: Pool) -> tuple[bool | str, ...]:
    """Return for each device of a pool whether its own node selection includes the node.

    For a selector that cannot be parsed, upstream's message takes the place of True or False.
    """
    key = ("nodes", _node_key(node))
    if key not in pool.memory:
        pool.memory[key] = tuple(
            [_is_reached(node, candidate.device) for candidate in pool.devices]
        )
    reached: tuple[bool | str, ...] = pool.memory[key]
    return reached


def _is_reached(node: Node, device: Device) -> bool | str:
    try:
        return node_matches(node, device.node_name, device.all_nodes, device.node_selector)
    except SelectorFault as fault:
        return str(fault)


_OBSOLETE = Pool("", "", 0, 0, 0)


def _unparsable(slice_: ResourceSlice, place: str, fault: SelectorFault) -> AttemptFailed:
    """Return the exception for a node selector of a slice, or of one of its devices, that cannot be
    parsed.
    """
    text = f"gather pool information: failed to perform node selection for {place}: {fault}"
    return AttemptFailed(
        Fault("node-selector", text, pool=(slice_.spec.driver, slice_.spec.pool.name))
    )


def _find_duplicate_device(slices: Iterable[ResourceSlice]) -> DuplicateDevice | None:
    seen: set[str] = set()
    for slice_ in slices:
        for device in slice_.spec.devices:
            if device.name in seen:
                return DuplicateDevice(device.name)
            seen.add(device.name)
    return None


def _find_dangling_counter(
    sets: Mapping[str, Mapping[str, Quantity]], slices: Iterable[ResourceSlice]
) -> DanglingCounterSet | DanglingCounter | None:
    for slice_ in slices:
        for device in slice_.spec.devices:
            for consumption in device.consumes_counters:
                counters = sets.get(consumption.counter_set)
                if counters is None:
                    return DanglingCounterSet(consumption.counter_set, device.name)
                for name in consumption.counters:
                    if name not in counters:
                        return DanglingCounter(consumption.counter_set, name, device.name)
    return None
