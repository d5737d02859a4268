"""Turns objects into a :class:`dractl.allocation.problem.SearchProblem`: the devices that each
request may get.

Allocate and validateDeviceRequest in
k8s.io/dynamic-resource-allocation/structured/internal/*/allocator_*.go: requests are checked in
order, and the first invalid one ends the attempt.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct

from dractl.allocation.attributes import AttributeReader
from dractl.allocation.capacity import CapacityFault, Unfit, nano
from dractl.allocation.counters import build_counters
from dractl.allocation.devices import NODE_OPERATIONS, NodeDevices, Offer
from dractl.allocation.faults import AttemptFailed, Fault, FaultKind
from dractl.allocation.features import Behaviour, Features
from dractl.allocation.matching import Answer, Criteria, Failure, Matcher
from dractl.allocation.pools import Pool, PoolDevice, node_selection
from dractl.allocation.problem import (
    Constraint,
    ConstraintKind,
    Rules,
    SearchProblem,
    Slot,
    Value,
    Vector,
)
from dractl.allocation.state import DeviceID
from dractl.model import (
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
    Quantity,
    ResourceClaim,
)
from dractl.model.names import RequestRef

RESULTS_MAX = 32


# The obstacle that stops the search at a device: a selector, a node selector that cannot be parsed
# (with upstream's text), a capacity, or None for a pool with inconsistent slices.
Obstacle = Failure | str | CapacityFault | None


class ResolvedRequest(Struct, frozen=True):
    """A request or an alternative, with its class. ``mode`` and ``count`` have the API server's
    defaults.
    """

    claim: ResourceClaim
    claim_index: int
    request: DeviceRequest
    alternative: DeviceSubRequest | None
    spec: ExactDeviceRequest | DeviceSubRequest
    device_class: DeviceClass

    @property
    def name(self) -> str:
        return self.request.name if self.alternative is None else self.alternative.name

    @property
    def full_name(self) -> str:
        return (
            self.request.name
            if self.alternative is None
            else f"{self.request.name}/{self.alternative.name}"
        )

    @property
    def admin(self) -> bool:
        return bool(getattr(self.spec, "admin_access", None))

    @property
    def mode(self) -> str:
        return "ExactCount" if self.spec.allocation_mode is None else self.spec.allocation_mode

    @property
    def count(self) -> int:
        return 1 if self.spec.count is None else self.spec.count

    @property
    def tolerations(self) -> tuple[DeviceToleration, ...]:
        return self.spec.tolerations

    @property
    def capacity(self) -> Mapping[str, Quantity] | None:
        return None if self.spec.capacity is None else self.spec.capacity.requests

    @property
    def ref(self) -> RequestRef:
        """The request, for messages and faults."""
        alternative = None if self.alternative is None else self.alternative.name
        return RequestRef(self.claim.metadata.full_name, self.request.name, alternative)

    @property
    def place(self) -> str:
        """The beginning of upstream's messages. A message about an alternative names only the
        alternative, without its request.
        """
        return _place(self.ref)

    def fault(self, kind: FaultKind, text: str, **about: Any) -> AttemptFailed:
        """Return the exception for a fault of this request."""
        return _request_fault(kind, self.ref, text, **about)

    def is_named_by(self, requests: Sequence[str]) -> bool:
        """Return True if a list of names includes this request. The name of a request also stands
        for each of its alternatives.
        """
        return self.request.name in requests or (
            self.alternative is not None and self.full_name in requests
        )

    def criteria(self) -> Criteria:
        """Return the selectors of class and request."""
        return Criteria(
            self.device_class.metadata.name,
            tuple([s.cel.expression if s.cel else "" for s in self.device_class.spec.selectors]),
            tuple([s.cel.expression if s.cel else "" for s in self.spec.selectors]),
        )


class Built(Struct):
    """A problem for the search, with the objects behind its numbers."""

    features: Features
    behaviour: Behaviour
    claims: Sequence[ResourceClaim]
    devices: NodeDevices
    asked: list[ResolvedRequest]
    problem: SearchProblem
    node_operations: bool
    obstacles: dict[tuple[int, int], Obstacle]
    """The obstacle at each (slot, device)."""
    attributes: AttributeReader
    unordered: bool = False

    def candidate(self, device: int) -> PoolDevice:
        """Return the device that has a number."""
        return self.devices.candidate(device)

    def fault(self, slot: int, device: int) -> Fault:
        """Return the fault that ends the search at a device tried for a slot."""
        asked, offer = self.asked[slot], self.devices.offers[device]
        if offer.candidate is None:
            assert offer.pool.invalid is not None
            text = f"pool {offer.pool.name} is invalid: {offer.pool.invalid.text}"
            return Fault("pool-reached", text, asked.ref.claim, asked.ref, pool=offer.pool.id)
        obstacle = self.obstacles[slot, device]
        assert obstacle is not None
        return obstacle_fault(asked, offer.candidate.id, obstacle)

    def share_consumption(self, slot: int, device: int) -> Mapping[str, Quantity]:
        """Return the consumption of a device's share for a slot."""
        asked = self.asked[slot]
        consumption = self.devices.share_consumption(asked.capacity, device, id(asked.spec))
        assert not isinstance(consumption, Unfit | CapacityFault)
        return consumption


class _AllDevices(Struct, frozen=True):
    """The devices of a request with mode All."""

    every: tuple[int, ...]
    """The devices in their order."""
    selectable: int
    """The set of ``every``, as an int with one bit for each device."""
    wants: tuple[Vector | None, ...] | None
    """The amounts that a share of each device consumes."""


class Builder:
    """Builds the problem of one node and one pod's claims."""

    def __init__(
        self, matcher: Matcher, classes: Mapping[str, DeviceClass], devices: NodeDevices
    ) -> None:
        self.features = devices.features
        self.behaviour = devices.behaviour
        self.matcher = matcher
        self.classes = classes
        self.devices = devices
        self.asked: list[ResolvedRequest] = []
        self.slots: list[Slot] = []
        self.obstacles: dict[tuple[int, int], Obstacle] = {}
        self.attributes = AttributeReader(self.features, self.behaviour, matcher)
        self._vectors: dict[tuple[int, int], Vector | Unfit | CapacityFault] = {}

    # -- all claims --------------------------------------------------------------------------------

    def build(self, claims: Sequence[ResourceClaim]) -> Built:
        """Build the problem. Raises AttemptFailed if the attempt ends before the search."""
        requests: list[tuple[int, ...]] = []
        choices: list[bool] = []
        constraints: list[tuple[DeviceConstraint, ...]] = []
        for index, claim in enumerate(claims):
            self._claim(index, claim, requests, choices)
            self._check_constraints(claim)
            constraints.append(claim.spec.devices.constraints)
        bugs = self.behaviour.bugs
        counters = build_counters(self.devices)
        rules = Rules(
            combinations=self.behaviour.ordered,
            limit_unwinds=self.behaviour.limit_unwinds,
            charged_once="charged-again" not in bugs,
            leaks="rollback-leaks" in bugs,
            forgets_alternative="alternative-forgotten" in bugs,
            all_panics="all-with-counters" in bugs,
            recheck_by_position="recheck-by-position" in bugs,
        )
        uses_capacity = self.devices.capacity_matters or any(
            slot.wants is not None for slot in self.slots
        )
        problem = SearchProblem(
            rules=rules,
            devices=len(self.devices),
            slots=tuple(self.slots),
            requests=tuple(requests),
            choices=tuple(choices),
            constraints=tuple(
                self._constraints(index, listed) for index, listed in enumerate(constraints)
            ),
            held=self.devices.held,
            multi=self.devices.multi,
            sharing=self.devices.sharing,
            free=self.devices.free if uses_capacity else None,
            charges=counters.charges,
            ledgers=counters.ledgers,
            groups=counters.groups,
            baseline=counters.baseline,
            slices=self._slices() if rules.recheck_by_position else None,
        )
        return Built(
            self.features,
            self.behaviour,
            claims,
            self.devices,
            self.asked,
            problem,
            self.devices.experimental
            and self.features.has("node-operations")
            and self.features.enabled(NODE_OPERATIONS),
            self.obstacles,
            self.attributes,
            unordered=not self.behaviour.ordered and self._has_several_pools(),
        )

    def _claim(
        self, index: int, claim: ResourceClaim, requests: list[tuple[int, ...]], choices: list[bool]
    ) -> None:
        name = claim.metadata.full_name
        per_request = self.features.has("devices-counted-by-request")
        total = 0
        for request in claim.spec.devices.requests:
            number = len(requests)
            if request.first_available and not self.features.enabled("DRAPrioritizedList"):
                gate = "DRAPrioritizedList"
                text = f"has subrequests, but the {gate} feature is disabled"
                raise _request_fault("gate-off", RequestRef(name, request.name), text, gate=gate)
            self._check_capacity_gate(name, request)
            first = len(self.slots)
            if request.first_available:
                least = None
                for position, alternative in enumerate(request.first_available):
                    slot = self._slot(index, claim, request, alternative, number, position)
                    least = slot.need if least is None else min(least, slot.need)
                wanted = least or 0
            else:
                wanted = self._slot(index, claim, request, None, number, None).need
            requests.append(tuple(range(first, len(self.slots))))
            choices.append(bool(request.first_available))
            if per_request and wanted > RESULTS_MAX - total:
                text = (
                    f"adding {wanted} devices exceeds the claim limit of {RESULTS_MAX}, with"
                    f" {total} already"
                )
                raise _request_fault(
                    "limit", RequestRef(name, request.name), f"{text} accounted for"
                )
            total += wanted
        if total > RESULTS_MAX:
            text = (
                f"claim {name}: number of requested devices {total} exceeds the claim limit of"
                f" {RESULTS_MAX}"
            )
            raise AttemptFailed(Fault("limit", text, name))

    def _check_capacity_gate(self, claim: str, request: DeviceRequest) -> None:
        if not self.behaviour.shares or self.devices.consumable:
            return
        gate = "DRAConsumableCapacity"
        text = f"has capacity requests, but the {gate} feature is disabled"
        if request.exactly is not None and request.exactly.capacity is not None:
            raise _request_fault("gate-off", RequestRef(claim, request.name), text, gate=gate)
        for alternative in request.first_available:
            if alternative.capacity is not None:
                if not self.features.has("capacity-gate-per-alternative"):
                    raise _request_fault(
                        "gate-off", RequestRef(claim, request.name), text, gate=gate
                    )
                ref = RequestRef(claim, request.name, alternative.name)
                text = f"claim {claim}, subrequest {alternative.name}: {text}"
                raise AttemptFailed(Fault("gate-off", text, claim, ref, gate=gate))

    def _check_constraints(self, claim: ResourceClaim) -> None:
        for index, constraint in enumerate(claim.spec.devices.constraints):
            if constraint.match_attribute is not None:
                continue
            if constraint.distinct_attribute is None or not self.behaviour.shares:
                name = claim.metadata.full_name
                text = (
                    f"claim {name}, constraint #{index}: empty constraint (unsupported constraint"
                    " type?)"
                )
                raise AttemptFailed(Fault("constraint-empty", text, name, constraint=index))

    # -- one request -------------------------------------------------------------------------------

    def ask(
        self,
        index: int,
        claim: ResourceClaim,
        request: DeviceRequest,
        alternative: DeviceSubRequest | None,
    ) -> ResolvedRequest:
        """Return the request with its class. Raises AttemptFailed."""
        spec = alternative if alternative is not None else request.exactly
        ref = RequestRef(
            claim.metadata.full_name,
            request.name,
            None if alternative is None else alternative.name,
        )
        if spec is None:
            raise _request_fault(
                "class-unnamed", ref, "missing device class name (unsupported request type?)"
            )
        if (
            spec.derived_attributes
            and self.features.has("derived-attributes")
            and not self._derives
        ):
            text = "cannot handle request with derived attributes, the feature is disabled"
            raise _request_fault("gate-off", ref, text, gate="DRADerivedAttributes")
        for position, selector in enumerate(spec.selectors):
            if selector.cel is None:
                text = (
                    f"{_place(ref)}, selector #{position}: CEL expression empty (unsupported"
                    " selector type?)"
                )
                raise AttemptFailed(Fault("selector-empty", text, ref.claim, ref))
        if getattr(spec, "admin_access", None) is not None and not self.features.enabled(
            "DRAAdminAccess"
        ):
            text = "admin access is requested, but the feature is disabled"
            raise _request_fault("gate-off", ref, text, gate="DRAAdminAccess")
        if not spec.device_class_name:
            raise _request_fault(
                "class-unnamed", ref, "missing device class name (unsupported request type?)"
            )
        device_class = self.classes.get(spec.device_class_name)
        if device_class is None:
            missing = spec.device_class_name
            text = (
                f"could not retrieve device class {missing}: deviceclass.resource.k8s.io"
                f' "{missing}" not found'
            )
            raise _request_fault("class-missing", ref, text, device_class=missing)
        return ResolvedRequest(claim, index, request, alternative, spec, device_class)

    @property
    def compares_lists(self) -> bool:
        """True if constraints compare lists as sets."""
        return (
            self.devices.experimental
            and self.features.has("list-attributes")
            and self.features.enabled("DRAListTypeAttributes")
        )

    @property
    def _derives(self) -> bool:
        return self.devices.experimental and self.features.enabled("DRADerivedAttributes")

    def _slot(
        self,
        index: int,
        claim: ResourceClaim,
        request: DeviceRequest,
        alternative: DeviceSubRequest | None,
        number: int,
        position: int | None,
    ) -> Slot:
        asked = self.ask(index, claim, request, alternative)
        self.asked.append(asked)
        slot_number = len(self.slots)
        every: tuple[int, ...] | None = None
        if asked.mode == "ExactCount":
            selectable, faults = self._selectable(slot_number, asked)
            wants = self._wants(slot_number, asked, selectable)
            need = asked.count
            for number_, device in self.obstacles:
                if number_ == slot_number:
                    faults |= 1 << device
        elif asked.mode == "All":
            devices = self._every(slot_number, asked, position)
            every, selectable = devices.every, devices.selectable
            wants = devices.wants
            faults = 0
            need = len(every)
        else:
            raise asked.fault("mode", f"unsupported count mode {asked.mode}")
        slot = Slot(
            claim=index,
            request=number,
            alternative=position,
            need=need,
            every=every,
            admin=asked.admin,
            selectable=selectable & ~faults,
            faults=faults,
            refused=self.devices.uncharged | self.devices.undeclared,
            tainted=self.devices.taint_exclusions(asked.tolerations),
            wants=wants,
        )
        self.slots.append(slot)
        return slot

    def _selectable(self, slot: int, asked: ResolvedRequest) -> tuple[int, int]:
        """Return the devices that the selectors accept, and the devices that end the search."""
        criteria = asked.criteria()
        selectable = faults = 0
        for position, pool in enumerate(self.devices.pools):
            first = self.devices.base.get(position)
            if first is None:
                continue
            for offset, answer in enumerate(self._answers(criteria, pool)):
                if answer is True:
                    selectable |= 1 << first + offset
                elif answer is not False:
                    faults |= 1 << first + offset
                    self.obstacles[slot, first + offset] = answer
        for number, offer in enumerate(self.devices.offers):
            if offer.candidate is None:
                faults |= 1 << number
                self.obstacles[slot, number] = None
        return selectable, faults

    def _answers(self, criteria: Criteria, pool: Pool) -> list[Answer | str]:
        """Return the answer for each device of a pool: from the selectors, the gates of binding
        conditions, and the device's own node selection.
        """
        answers: list[Answer | str] = list(self.matcher.ask_pool(criteria, pool))
        everywhere = not any(item.spec.per_device_node_selection for item in pool.slices)
        if everywhere and self.devices.binding:
            return answers
        reached = () if everywhere else node_selection(self.devices.node, pool)
        for offset, candidate in enumerate(pool.devices):
            if self.devices.gate_that_hides(candidate.device) is not None:
                answers[offset] = False
            elif answers[offset] is True and candidate.slice.spec.per_device_node_selection:
                answers[offset] = reached[offset]
        return answers

    def _every(self, slot: int, asked: ResolvedRequest, position: int | None) -> _AllDevices:
        """Return all devices that the selectors accept, of all pools, for mode All."""
        if "alternative-forgotten" in self.behaviour.bugs and position == 1:
            # Results of selectors are cached for the previous alternative, so this one reuses them.
            before = self.asked[slot - 1]
            asked = before if before.mode == "All" else asked
        criteria = asked.criteria()
        every: list[int] = []
        for index, pool in enumerate(self.devices.pools):
            if pool.incomplete:
                text = f"asks for all devices, but resource pool {pool} is currently being updated"
                raise self.asked[slot].fault("pool-incomplete", text, pool=pool.id)
            if pool.invalid is not None:
                text = f"asks for all devices, but resource pool {pool} is currently invalid"
                raise self.asked[slot].fault("pool-invalid", text, pool=pool.id)
            first = self.devices.base[index]
            for offset, answer in enumerate(self._answers(criteria, pool)):
                if answer is True:
                    if self._large_enough(self.asked[slot], first + offset):
                        every.append(first + offset)
                elif answer is not False:
                    raise AttemptFailed(
                        obstacle_fault(self.asked[slot], pool.devices[offset].id, answer)
                    )
        selectable = 0
        for device in every:
            selectable |= 1 << device
        wants = self._wants(slot, self.asked[slot], selectable)
        return _AllDevices(tuple(every), selectable, wants)

    def _large_enough(self, asked: ResolvedRequest, device: int) -> bool:
        """Return True if a device has the capacity for mode All. Up to 1.36 its remaining capacity
        is compared, from 1.37 on its total capacity.
        """
        if not self.devices.consumable:
            return True
        candidate = self.devices.candidate(device)
        if not self.devices.capacity_matters:
            return not asked.capacity
        vector = self._vector(asked, device)
        if isinstance(vector, CapacityFault):
            text = f"checking capacity for device {candidate.id.device}: {vector}"
            raise asked.fault("capacity", text, device=candidate.id)
        if isinstance(vector, Unfit):
            return False
        if self.features.has("strict-amounts"):
            room = [
                nano(candidate.device.capacity[name].value)
                for name in sorted(candidate.device.capacity)
            ]
        else:
            room = list(self.devices.free[device])
        return all(want <= left for want, left in zip(vector, room, strict=True))

    def _vector(self, asked: ResolvedRequest, device: int) -> Vector | Unfit | CapacityFault:
        """Return the consumption of each capacity by name, in billionths."""
        consumption = self.devices.share_consumption(asked.capacity, device, id(asked.spec))
        if isinstance(consumption, Unfit | CapacityFault):
            return consumption
        key = (id(asked.spec), id(consumption))
        vector = self._vectors.get(key)
        if vector is None:
            vector = self._vectors[key] = tuple([nano(q) for q in consumption.values()])
        return vector

    def _wants(
        self, slot: int, asked: ResolvedRequest, selectable: int
    ) -> tuple[Vector | None, ...] | None:
        """Return the consumption of a share of each device. Devices whose arithmetic fails become
        obstacles of the slot.
        """
        if not self.devices.consumable or not (self.devices.capacity_matters or asked.capacity):
            return None
        wants: list[Vector | None] = []
        for device, offer in enumerate(self.devices.offers):
            if offer.candidate is None:
                wants.append(None)
                continue
            vector = self._vector(asked, device)
            if isinstance(vector, CapacityFault):
                if selectable >> device & 1:
                    self.obstacles[slot, device] = vector
                wants.append(None)
            else:
                wants.append(None if isinstance(vector, Unfit) else vector)
        return tuple(wants)

    def _slices(self) -> tuple[tuple[int, int], ...]:
        """Return for each device the first device of its slice, and how many devices
        the slice has.
        """
        slices: list[tuple[int, int]] = []
        for number, offer in enumerate(self.devices.offers):
            candidate = offer.candidate
            if candidate is None:
                slices.append((number, 1))
                continue
            previous = self.devices.offers[number - 1].candidate if number else None
            start = (
                slices[-1][0]
                if previous is not None and previous.slice is candidate.slice
                else number
            )
            slices.append((start, len(candidate.slice.spec.devices)))
        return tuple(slices)

    # -- constraints -------------------------------------------------------------------------------

    def _constraints(
        self, claim: int, constraints: Sequence[DeviceConstraint]
    ) -> tuple[Constraint, ...]:
        return tuple(self._constraint(claim, constraint) for constraint in constraints)

    def _constraint(self, claim: int, constraint: DeviceConstraint) -> Constraint:
        bugs = self.behaviour.bugs
        kind: ConstraintKind
        lists = self.compares_lists
        if constraint.match_attribute is not None:
            attribute = constraint.match_attribute
            kind = "match-unrestored" if lists and "list-not-restored" in bugs else "match"
            identity = False
        else:
            assert constraint.distinct_attribute is not None
            attribute = constraint.distinct_attribute
            kind = (
                "distinct-last"
                if {"distinct-last-only", "distinct-identity"} & bugs
                else "distinct"
            )
            identity = "distinct-identity" in bugs
        plain: tuple[Value, ...] | None = None
        table: list[tuple[Value, ...] | None] = []
        for asked in self.asked:
            if asked.claim_index != claim or (
                constraint.requests and not asked.is_named_by(constraint.requests)
            ):
                table.append(None)
                continue
            expression = next(
                (d.expression for d in asked.spec.derived_attributes if d.name == attribute), None
            )
            if expression is not None and self._derives:
                table.append(
                    tuple(
                        [
                            self._derive(expression, offer, lists=lists)
                            for offer in self.devices.offers
                        ]
                    )
                )
                continue
            if plain is None:
                plain = tuple(
                    [
                        (
                            None
                            if offer.candidate is None
                            else self.attributes.value(
                                offer.candidate, attribute, lists=lists, identity=identity
                            )
                        )
                        for offer in self.devices.offers
                    ]
                )
            table.append(plain)
        return Constraint(kind, lists, tuple(table))

    def _derive(self, expression: str, offer: Offer, *, lists: bool) -> Value:
        assert offer.candidate is not None
        return self.attributes.derive(offer.candidate, expression, lists=lists)

    def _has_several_pools(self) -> bool:
        """Return True if the order of pools can matter. The order matters if some request may get
        devices of several pools, or if that is unknown.
        """
        if (
            any(pool.incomplete or pool.invalid is not None for pool in self.devices.pools)
            and len(self.devices.pools) > 1
        ):
            return True
        for slot in self.slots:
            reached = slot.selectable | slot.faults
            if (
                sum(
                    1
                    for first, last in self._ranges()
                    if reached >> first & ((1 << last - first) - 1)
                )
                > 1
            ):
                return True
        return False

    def _ranges(self) -> list[tuple[int, int]]:
        starts = sorted(self.devices.base.values())
        return list(pairwise([*starts, len(self.devices.offers)]))


def obstacle_fault(
    asked: ResolvedRequest, device: DeviceID, obstacle: Failure | str | CapacityFault
) -> Fault:
    """Return the obstacle at a device, in upstream's words."""
    ref = asked.ref
    if isinstance(obstacle, Failure):
        return Fault("selector", obstacle.message(ref.claim), ref.claim, ref, device)
    if isinstance(obstacle, CapacityFault):
        text = f"{asked.place}: checking capacity for device {device}: {obstacle}"
        return Fault("capacity", text, ref.claim, ref, device)
    return Fault("node-selector", obstacle, ref.claim, ref, device)


def _request_fault(kind: FaultKind, request: RequestRef, text: str, **about: Any) -> AttemptFailed:
    """Return the exception for a fault of a request; upstream's message begins with the request's
    place.
    """
    return AttemptFailed(Fault(kind, f"{_place(request)}: {text}", request.claim, request, **about))


def _place(request: RequestRef) -> str:
    return f"claim {request.claim}, request {request.alternative or request.name}"
