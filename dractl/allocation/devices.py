"""The devices that one node offers, numbered in the order of the search, and everything that
affects each of them.

This module decides which devices are excluded, both for the search and for the stages of
:mod:`dractl.allocation.survey`. A set of devices is an int with one bit per device; the survey
describes in words why a device is in a set.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from msgspec import Struct

from dractl.allocation.capacity import Arithmetic, CapacityFault, Unfit, consumption, nano
from dractl.allocation.features import Behaviour, Features
from dractl.allocation.pools import Pool, PoolDevice
from dractl.allocation.problem import Vector
from dractl.allocation.state import AllocatedState
from dractl.allocation.taints import first_exclusion
from dractl.model import Device, DeviceTaint, DeviceToleration, Node, Quantity
from dractl.model.names import strip_domain
from dractl.properties import cached_property

NODE_OPERATIONS = "DRAOptionalNodeOperations"
_BINDING_GATES = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")


class Offer(Struct, frozen=True):
    """A device at its position in the search, or a pool that ends the attempt when the search
    reaches it.
    """

    candidate: PoolDevice | None
    pool: Pool


class _Marks(Struct, frozen=True):
    """The facts about a pool's devices that hold on every node."""

    offers: list[Offer]
    multi: int
    """Devices that can be shared."""
    charging: int
    """Devices that consume counters."""
    operating: int
    """Devices that set ``skipNodeOperations``."""
    tainting: int
    """Devices with taints."""
    sized: bool
    """True if any device has a capacity."""


def _marks(pool: Pool) -> _Marks:
    marks = pool.memory.get("marks")
    if marks is None:
        devices = [(1 << at, candidate.device.mapping) for at, candidate in enumerate(pool.devices)]
        marks = pool.memory["marks"] = _Marks(
            [Offer(candidate, pool) for candidate in pool.devices],
            sum(bit for bit, device in devices if device.get("allowMultipleAllocations")),
            sum(bit for bit, device in devices if device.get("consumesCounters")),
            sum(
                1 << at
                for at, candidate in enumerate(pool.devices)
                if candidate.slice.spec.skip_node_operations
            ),
            sum(bit for bit, device in devices if device.get("taints")),
            any(device.get("capacity") for _, device in devices),
        )
    return cast("_Marks", marks)


class NodeDevices:
    """The devices of a node's pools. ``base`` has the number of each pool's first device, by the
    pool's position.

    The other attributes are sets of devices: ``held`` (in use by other claims), ``multi`` (can be
    shared), ``charging`` (consume counters), ``operating`` (set ``skipNodeOperations``),
    ``tainting`` (have taints) and ``sharing`` (are shared already).
    """

    def __init__(
        self,
        features: Features,
        behaviour: Behaviour,
        state: AllocatedState,
        node: Node,
        pools: tuple[Pool, ...],
    ) -> None:
        self.features = features
        self.behaviour = behaviour
        self.state = state
        self.node = node
        self.pools = pools
        self.partitionable = features.enabled("DRAPartitionableDevices")
        self.consumable = behaviour.shares and features.enabled("DRAConsumableCapacity")
        self.experimental = behaviour.variant == "experimental"
        self.binding = features.binding_conditions
        strict = features.has("strict-amounts")
        self.arithmetic = Arithmetic(
            milli=strict and features.enabled("DRAFractionalCapacityRange"),
            strict=strict,
            saturates=features.has("saturating-quantities"),
        )
        self.offers: list[Offer] = []
        self.base: dict[int, int] = {}
        for position, pool in enumerate(pools):
            if pool.invalid is not None:
                if behaviour.lenient_pools:
                    self.offers.append(Offer(None, pool))
                continue
            if pool.incomplete and not behaviour.lenient_pools:
                continue
            self.base[position] = len(self.offers)
            self.offers.extend(_marks(pool).offers)
        self.held = self.multi = self.charging = self.operating = self.sharing = self.tainting = 0
        sized = self._add_marks()
        self._add_allocations(strict=strict)
        self.capacity_matters = self.consumable and (sized or bool(self.multi))
        self._consumed: dict[
            tuple[int, str, str | None], Mapping[str, Quantity] | Unfit | CapacityFault
        ] = {}

    def _add_marks(self) -> bool:
        """Mark the devices with the facts that hold on every node, and return True if any device
        has a capacity.
        """
        sized = False
        for position, first in self.base.items():
            marks = _marks(self.pools[position])
            sized = sized or marks.sized
            self.charging |= marks.charging << first
            self.operating |= marks.operating << first
            self.tainting |= marks.tainting << first
            if self.consumable:
                self.multi |= marks.multi << first
        return sized

    def _add_allocations(self, *, strict: bool) -> None:
        """Mark the devices that other claims hold or share."""
        state = self.state
        # From allocateDevice of 1.38 on (kubernetes#140798), a device that no longer allows
        # multiple allocations stays in use while a claim holds a share of it.
        keeps = "share-forgotten" not in self.behaviour.bugs
        if state.devices or self.multi or (keeps and (state.capacity or state.shared)):
            for number, offer in enumerate(self.offers):
                candidate = offer.candidate
                if candidate is None:
                    continue
                if candidate.id in state.devices:
                    self.held |= 1 << number
                if candidate.id in state.capacity or (strict and candidate.id in state.shared):
                    if self.multi >> number & 1:
                        self.sharing |= 1 << number
                    elif keeps:
                        self.held |= 1 << number

    def __len__(self) -> int:
        return len(self.offers)

    def candidate(self, number: int) -> PoolDevice:
        """Return the device that has a number."""
        candidate = self.offers[number].candidate
        assert candidate is not None
        return candidate

    # -- gates -------------------------------------------------------------------------------------

    def gate_that_hides(self, device: Device) -> str | None:
        """Return the gate that is off and hides a device with binding conditions; None for a device
        that is not hidden.
        """
        if self.binding or not device.binding_conditions:
            return None
        return next(gate for gate in _BINDING_GATES if not self.features.enabled(gate))

    @property
    def uncharged(self) -> int:
        """Devices that are rejected, since they consume counters while DRAPartitionableDevices is
        off.
        """
        return 0 if self.partitionable else self.charging

    @cached_property
    def undeclared(self) -> int:
        """Devices that set ``skipNodeOperations`` although the gate for it is off, or the node does
        not declare the gate (from 1.37 on).
        """
        if not (self.experimental and self.operating and self.features.has("node-operations")):
            return 0
        declared = NODE_OPERATIONS in self.node.status.declared_features
        return 0 if self.features.enabled(NODE_OPERATIONS) and declared else self.operating

    # -- taints ------------------------------------------------------------------------------------

    def taint(self, number: int, tolerations: Sequence[DeviceToleration]) -> DeviceTaint | None:
        """Return the first taint of a device that excludes the device for a request; None if no
        taint does.
        """
        candidate = self.offers[number].candidate
        if candidate is None or not self.tainting >> number & 1:
            return None
        if not self.features.enabled("DRADeviceTaints"):
            return None
        return first_exclusion(
            candidate.device, tolerations, any_effect=self.behaviour.counters_in_slice
        )

    def taint_exclusions(self, tolerations: Sequence[DeviceToleration]) -> int:
        """Return the devices that a request cannot have because of a taint."""
        if not self.features.enabled("DRADeviceTaints"):
            return 0
        excluded = 0
        for number in range(self.tainting.bit_length()):
            if self.tainting >> number & 1 and self.taint(number, tolerations) is not None:
                excluded |= 1 << number
        return excluded

    # -- capacity ----------------------------------------------------------------------------------

    def share_consumption(
        self, requested: Mapping[str, Quantity] | None, number: int, key: int
    ) -> Mapping[str, Quantity] | Unfit | CapacityFault:
        """Return the amounts that a request consumes of a shared device. The result is cached;
        ``key`` is equal for equal requests.
        """
        candidate = self.candidate(number)
        capacity, driver = candidate.device.capacity, self.domain(candidate)
        memory = (key, repr(candidate.device.mapping.get("capacity")), driver)
        consumed = self._consumed.get(memory)
        if consumed is None:
            try:
                consumed = consumption(requested, capacity, self.arithmetic, driver)
            except CapacityFault as fault:
                consumed = fault
            self._consumed[memory] = consumed
        return consumed

    def domain(self, candidate: PoolDevice) -> str | None:
        """Return the driver of a device if the release accepts it as the domain in the name of a
        capacity; None otherwise.
        """
        return candidate.id.driver if self.features.has("capacity-names-of-driver") else None

    def capacity_claimed(self, candidate: PoolDevice) -> Mapping[str, Quantity]:
        """Sum the amounts that claims consume of each capacity of a device, by the capacity's name
        in the slice.
        """
        held = self.state.capacity.get(candidate.id) or {}
        driver = self.domain(candidate)
        spelled = {strip_domain(driver, name): name for name in candidate.device.capacity}
        amounts: dict[str, Quantity] = {}
        for name, amount in held.items():
            name_in_slice = spelled.get(strip_domain(driver, name))
            if name_in_slice is not None:
                amounts[name_in_slice] = (
                    amounts[name_in_slice] + amount if name_in_slice in amounts else amount
                )
        return amounts

    @cached_property
    def free(self) -> tuple[Vector, ...]:
        """For each device, the remaining amount of each capacity by name, in billionths."""
        free: list[Vector] = []
        for offer in self.offers:
            candidate = offer.candidate
            if candidate is None or not candidate.device.mapping.get("capacity"):
                free.append(())
                continue
            capacity = candidate.device.capacity
            left = {n: nano(capacity[n].value) for n in sorted(capacity)}
            for name, amount in self.capacity_claimed(candidate).items():
                left[name] -= nano(amount)
            free.append(tuple(left.values()))
        return tuple(free)
