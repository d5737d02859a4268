"""From objects to a :class:`dractl.allocation.problem.Problem`: what each request may have of a node's devices.

Allocate and validateDeviceRequest in k8s.io/dynamic-resource-allocation/structured/internal/*/allocator_*.go: requests
are checked in order, and the first that cannot be handled ends the attempt.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from dractl.allocation.attributes import AttributeReader
from dractl.allocation.capacity import Arithmetic, CapacityFault, Unfit, consumption, nano
from dractl.allocation.counters import build_counters
from dractl.allocation.faults import AttemptFailed, Fault
from dractl.allocation.matching import Failure, Question
from dractl.allocation.nodes import SelectorFault, node_matches
from dractl.allocation.problem import Constraint, Problem, Rules, Slot, Vector
from dractl.allocation.taints import preventing
from dractl.model.names import RequestRef

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dractl.allocation.faults import FaultKind
    from dractl.allocation.features import Behaviour, Features
    from dractl.allocation.matching import Answer, Matcher
    from dractl.allocation.pools import Pool, PoolDevice
    from dractl.allocation.problem import ConstraintKind, Value
    from dractl.allocation.state import AllocatedState, DeviceID
    from dractl.model import (
        DeviceClass,
        DeviceConstraint,
        DeviceRequest,
        DeviceSubRequest,
        DeviceToleration,
        ExactDeviceRequest,
        Node,
        Quantity,
        ResourceClaim,
    )

RESULTS_MAX = 32
NODE_OPERATIONS = "DRAOptionalNodeOperations"


# What stops the search at a device: a selector, a node selector that cannot be parsed (upstream's text), a capacity, or
# None for a pool that contradicts itself.
Obstacle = Failure | str | CapacityFault | None


@dataclass(frozen=True, slots=True)
class Asked:
    """A request or an alternative, with its class. ``mode`` and ``count`` are defaulted as the API server does."""

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
        return self.request.name if self.alternative is None else f"{self.request.name}/{self.alternative.name}"

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
        """The beginning of upstream's messages; of an alternative they give its own name only."""
        return _place(self.ref)

    def failed(self, kind: FaultKind, text: str, **about: Any) -> AttemptFailed:
        """The exception for a fault of this request."""
        return _failed(kind, self.ref, text, **about)

    def named_by(self, requests: Sequence[str]) -> bool:
        """Whether a list of request names means this one; ``request`` means its alternatives too."""
        return self.request.name in requests or (self.alternative is not None and self.full_name in requests)

    def question(self) -> Question:
        """The selectors of class and request."""
        return Question(
            self.device_class.metadata.name,
            tuple([s.cel.expression if s.cel else "" for s in self.device_class.spec.selectors]),
            tuple([s.cel.expression if s.cel else "" for s in self.spec.selectors]),
        )


class Offer(NamedTuple):
    """A device in the order of the search, or a pool that ends the attempt when it is reached."""

    candidate: PoolDevice | None
    pool: Pool


@dataclass(slots=True)
class Built:
    """A problem, and what its numbers mean."""

    features: Features
    behaviour: Behaviour
    claims: Sequence[ResourceClaim]
    pools: tuple[Pool, ...]
    offers: list[Offer]
    asked: list[Asked]
    problem: Problem
    node_operations: bool
    arithmetic: Arithmetic
    obstacles: dict[tuple[int, int], Obstacle]  # (slot, device) -> what stops the search there
    attributes: AttributeReader
    unordered: bool = False
    _consumed: dict[tuple[int, int], dict[str, Quantity]] = field(default_factory=dict)

    def candidate(self, device: int) -> PoolDevice:
        """The device of a number."""
        candidate = self.offers[device].candidate
        assert candidate is not None
        return candidate

    def fault(self, slot: int, device: int) -> Fault:
        """What ends the search at a device that it tries for a slot."""
        asked, offer = self.asked[slot], self.offers[device]
        if offer.candidate is None:
            assert offer.pool.invalid is not None
            text = f"pool {offer.pool.name} is invalid: {offer.pool.invalid.text}"
            return Fault("pool-reached", text, asked.ref.claim, asked.ref, pool=offer.pool.id)
        obstacle = self.obstacles[slot, device]
        assert obstacle is not None
        return obstacle_fault(asked, offer.candidate.id, obstacle)

    def consumed(self, slot: int, device: int) -> dict[str, Quantity]:
        """What a share of a device consumes for a slot."""
        found = consumption(self.asked[slot].capacity, self.candidate(device).device.capacity, self.arithmetic)
        assert isinstance(found, dict)
        return found


class Builder:
    """Makes the problem of one node and one pod's claims."""

    def __init__(
        self,
        features: Features,
        behaviour: Behaviour,
        matcher: Matcher,
        classes: Mapping[str, DeviceClass],
        state: AllocatedState,
        node: Node,
        pools: tuple[Pool, ...],
    ) -> None:
        self.features = features
        self.behaviour = behaviour
        self.matcher = matcher
        self.classes = classes
        self.state = state
        self.node = node
        self.pools = pools
        self.partitionable = features.enabled("DRAPartitionableDevices")
        self.consumable = behaviour.shares and features.enabled("DRAConsumableCapacity")
        self.experimental = behaviour.variant == "experimental"
        strict = features.at_least("1.37")
        self.arithmetic = Arithmetic(milli=strict and features.enabled("DRAFractionalCapacityRange"), strict=strict)
        self.offers: list[Offer] = []
        self.base: dict[int, int] = {}  # pool (by position) -> its first device
        for position, pool in enumerate(pools):
            if pool.invalid is not None:
                if behaviour.lenient_pools:
                    self.offers.append(Offer(None, pool))
                continue
            if pool.incomplete and not behaviour.lenient_pools:
                continue
            self.base[position] = len(self.offers)
            self.offers.extend([Offer(candidate, pool) for candidate in pool.devices])
        self.asked: list[Asked] = []
        self.slots: list[Slot] = []
        self.obstacles: dict[tuple[int, int], Obstacle] = {}
        self.attributes = AttributeReader(features, behaviour, matcher)
        devices = [(n, offer.candidate) for n, offer in enumerate(self.offers) if offer.candidate is not None]
        self.multi = 0
        self.held = 0
        self.has_capacity = False
        self.charging = 0
        self.reserved = 0
        self.operating = 0
        for number, candidate in devices:
            bit = 1 << number
            mapping = candidate.device.mapping
            if candidate.id in state.devices:
                self.held |= bit
            if self.consumable:
                if mapping.get("allowMultipleAllocations"):
                    self.multi |= bit
                if mapping.get("capacity"):
                    self.has_capacity = True
            if mapping.get("consumesCounters"):
                self.charging |= bit
            if candidate.slice.spec.skip_node_operations:
                self.operating |= bit
        self.capacity_matters = self.consumable and (self.has_capacity or bool(self.multi))
        self._vectors: dict[tuple[int, str], Vector | Unfit | CapacityFault] = {}
        self._free = self._free_capacity() if self.capacity_matters else None

    # -- all claims ---------------------------------------------------------------------------------------------------

    def build(self, claims: Sequence[ResourceClaim]) -> Built:
        """Raises AttemptFailed where the attempt ends before the search."""
        requests: list[tuple[int, ...]] = []
        choices: list[bool] = []
        constraints: list[tuple[DeviceConstraint, ...]] = []
        for index, claim in enumerate(claims):
            self._claim(index, claim, requests, choices)
            self._check_constraints(claim)
            constraints.append(claim.spec.devices.constraints)
        bugs = self.behaviour.bugs
        counters = build_counters(self)
        rules = Rules(
            combinations=self.behaviour.ordered,
            limit_unwinds=self.behaviour.limit_unwinds,
            charged_once="charged-again" not in bugs,
            leaks="rollback-leaks" in bugs,
            forgets_alternative="alternative-forgotten" in bugs,
            all_panics="all-with-counters" in bugs,
            recheck_by_position="recheck-by-position" in bugs,
        )
        sharing = 0
        for number, offer in enumerate(self.offers):
            if self.multi >> number & 1 and offer.candidate is not None:
                id_ = offer.candidate.id
                if id_ in self.state.capacity or (self.features.at_least("1.37") and id_ in self.state.shared):
                    sharing |= 1 << number
        problem = Problem(
            rules=rules,
            devices=len(self.offers),
            slots=tuple(self.slots),
            requests=tuple(requests),
            choices=tuple(choices),
            constraints=tuple(self._constraints(index, found) for index, found in enumerate(constraints)),
            held=self.held,
            multi=self.multi,
            sharing=sharing,
            free=self._free,
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
            self.pools,
            self.offers,
            self.asked,
            problem,
            self.experimental and self.features.at_least("1.37") and self.features.enabled(NODE_OPERATIONS),
            self.arithmetic,
            self.obstacles,
            self.attributes,
            unordered=not self.behaviour.ordered and self._several_pools(),
        )

    def _claim(self, index: int, claim: ResourceClaim, requests: list[tuple[int, ...]], choices: list[bool]) -> None:
        name = claim.metadata.full_name
        per_request = self.features.at_least("1.37")
        total = 0
        for request in claim.spec.devices.requests:
            number = len(requests)
            if request.first_available and not self.features.enabled("DRAPrioritizedList"):
                gate = "DRAPrioritizedList"
                text = f"has subrequests, but the {gate} feature is disabled"
                raise _failed("gate-off", RequestRef(name, request.name), text, gate=gate)
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
                text = f"adding {wanted} devices exceeds the claim limit of {RESULTS_MAX}, with {total} already"
                raise _failed("limit", RequestRef(name, request.name), f"{text} accounted for")
            total += wanted
        if total > RESULTS_MAX:
            text = f"claim {name}: number of requested devices {total} exceeds the claim limit of {RESULTS_MAX}"
            raise AttemptFailed(Fault("limit", text, name))

    def _check_capacity_gate(self, claim: str, request: DeviceRequest) -> None:
        if not self.behaviour.shares or self.consumable:
            return
        gate = "DRAConsumableCapacity"
        text = f"has capacity requests, but the {gate} feature is disabled"
        if request.exactly is not None and request.exactly.capacity is not None:
            raise _failed("gate-off", RequestRef(claim, request.name), text, gate=gate)
        for alternative in request.first_available:
            if alternative.capacity is not None:
                if self.features.release == "1.34":
                    raise _failed("gate-off", RequestRef(claim, request.name), text, gate=gate)
                ref = RequestRef(claim, request.name, alternative.name)
                text = f"claim {claim}, subrequest {alternative.name}: {text}"
                raise AttemptFailed(Fault("gate-off", text, claim, ref, gate=gate))

    def _check_constraints(self, claim: ResourceClaim) -> None:
        for index, constraint in enumerate(claim.spec.devices.constraints):
            if constraint.match_attribute is not None:
                continue
            if constraint.distinct_attribute is None or not self.behaviour.shares:
                name = claim.metadata.full_name
                text = f"claim {name}, constraint #{index}: empty constraint (unsupported constraint type?)"
                raise AttemptFailed(Fault("constraint-empty", text, name, constraint=index))

    # -- one request --------------------------------------------------------------------------------------------------

    def ask(
        self, index: int, claim: ResourceClaim, request: DeviceRequest, alternative: DeviceSubRequest | None
    ) -> Asked:
        """The request with its class. Raises RequestFault."""
        spec = alternative if alternative is not None else request.exactly
        ref = RequestRef(claim.metadata.full_name, request.name, None if alternative is None else alternative.name)
        if spec is None:
            raise _failed("class-unnamed", ref, "missing device class name (unsupported request type?)")
        if spec.derived_attributes and self.features.at_least("1.37") and not self._derives:
            text = "cannot handle request with derived attributes, the feature is disabled"
            raise _failed("gate-off", ref, text, gate="DRADerivedAttributes")
        for position, selector in enumerate(spec.selectors):
            if selector.cel is None:
                text = f"{_place(ref)}, selector #{position}: CEL expression empty (unsupported selector type?)"
                raise AttemptFailed(Fault("selector-empty", text, ref.claim, ref))
        if getattr(spec, "admin_access", None) is not None and not self.features.enabled("DRAAdminAccess"):
            text = "admin access is requested, but the feature is disabled"
            raise _failed("gate-off", ref, text, gate="DRAAdminAccess")
        if not spec.device_class_name:
            raise _failed("class-unnamed", ref, "missing device class name (unsupported request type?)")
        device_class = self.classes.get(spec.device_class_name)
        if device_class is None:
            missing = spec.device_class_name
            text = f'could not retrieve device class {missing}: deviceclass.resource.k8s.io "{missing}" not found'
            raise _failed("class-missing", ref, text, device_class=missing)
        return Asked(claim, index, request, alternative, spec, device_class)

    @property
    def compares_lists(self) -> bool:
        """Whether constraints compare lists as sets."""
        return self.experimental and self.features.at_least("1.36") and self.features.enabled("DRAListTypeAttributes")

    @property
    def _derives(self) -> bool:
        return self.experimental and self.features.enabled("DRADerivedAttributes")

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
            every, selectable, wants = self._every(slot_number, asked, position)
            faults = 0
            need = len(every)
        else:
            raise asked.failed("mode", f"unsupported count mode {asked.mode}")
        slot = Slot(
            claim=index,
            request=number,
            alternative=position,
            need=need,
            every=every,
            admin=asked.admin,
            selectable=selectable & ~faults,
            faults=faults,
            refused=self._refused(),
            tainted=self._tainted(asked),
            wants=wants,
        )
        self.slots.append(slot)
        return slot

    def _selectable(self, slot: int, asked: Asked) -> tuple[int, int]:
        """The devices that the selectors take, and those at which the search ends."""
        question = asked.question()
        selectable = faults = 0
        for position, pool in enumerate(self.pools):
            first = self.base.get(position)
            if first is None:
                continue
            for offset, answer in enumerate(self._answers(question, pool)):
                if answer is True:
                    selectable |= 1 << first + offset
                elif answer is not False:
                    faults |= 1 << first + offset
                    self.obstacles[slot, first + offset] = answer
        for number, offer in enumerate(self.offers):
            if offer.candidate is None:
                faults |= 1 << number
                self.obstacles[slot, number] = None
        return selectable, faults

    def _answers(self, question: Question, pool: Pool) -> list[Answer | str]:
        """What selectors, binding conditions and the devices' own node selection say of a pool's devices."""
        answers: list[Answer | str] = list(self.matcher.ask_pool(question, pool))
        binding = self.features.binding_conditions
        for offset, candidate in enumerate(pool.devices):
            if not binding and candidate.device.binding_conditions:
                answers[offset] = False
            elif answers[offset] is True and candidate.slice.spec.per_device_node_selection:
                device = candidate.device
                try:
                    answers[offset] = node_matches(self.node, device.node_name, device.all_nodes, device.node_selector)
                except SelectorFault as fault:
                    answers[offset] = str(fault)
        return answers

    def _every(
        self, slot: int, asked: Asked, position: int | None
    ) -> tuple[tuple[int, ...], int, tuple[Vector | None, ...] | None]:
        """Mode All: all devices that the selectors take, of all pools."""
        if "alternative-forgotten" in self.behaviour.bugs and position == 1:
            # The memory of selectors is kept under the alternative before, so this one sees the first one's answers.
            before = self.asked[slot - 1]
            asked = before if before.mode == "All" else asked
        question = asked.question()
        every: list[int] = []
        for index, pool in enumerate(self.pools):
            if pool.incomplete:
                text = f"asks for all devices, but resource pool {pool} is currently being updated"
                raise self.asked[slot].failed("pool-incomplete", text, pool=pool.id)
            if pool.invalid is not None:
                text = f"asks for all devices, but resource pool {pool} is currently invalid"
                raise self.asked[slot].failed("pool-invalid", text, pool=pool.id)
            first = self.base[index]
            for offset, answer in enumerate(self._answers(question, pool)):
                if answer is True:
                    if self._large_enough(self.asked[slot], first + offset):
                        every.append(first + offset)
                elif answer is not False:
                    raise AttemptFailed(obstacle_fault(self.asked[slot], pool.devices[offset].id, answer))
        selectable = 0
        for device in every:
            selectable |= 1 << device
        return tuple(every), selectable, self._wants(slot, self.asked[slot], selectable)

    def _large_enough(self, asked: Asked, device: int) -> bool:
        """Whether a device has the capacity for All: from 1.37 on all that it has counts, before what is left of it."""
        if not self.consumable:
            return True
        candidate = self.offers[device].candidate
        assert candidate is not None
        if not self.capacity_matters:
            return not asked.capacity
        found = self._vector(asked, device)
        if isinstance(found, CapacityFault):
            text = f"checking capacity for device {candidate.id.device}: {found}"
            raise asked.failed("capacity", text, device=candidate.id)
        if isinstance(found, Unfit):
            return False
        if self.features.at_least("1.37"):
            room = [nano(candidate.device.capacity[name].value) for name in sorted(candidate.device.capacity)]
        else:
            assert self._free is not None
            room = list(self._free[device])
        return all(want <= left for want, left in zip(found, room, strict=True))

    def _refused(self) -> int:
        refused = 0
        if not self.partitionable:
            refused |= self.charging
        if self.experimental and self.operating and self.features.at_least("1.37"):
            declared = NODE_OPERATIONS in self.node.status.declared_features
            if not (self.features.enabled(NODE_OPERATIONS) and declared):
                refused |= self.operating
        return refused

    def _tainted(self, asked: Asked) -> int:
        if not self.features.enabled("DRADeviceTaints"):
            return 0
        tainted = 0
        for number, offer in enumerate(self.offers):
            candidate = offer.candidate
            if candidate is not None and candidate.device.mapping.get("taints"):
                any_effect = self.behaviour.counters_in_slice
                if preventing(candidate.device, asked.tolerations, any_effect=any_effect) is not None:
                    tainted |= 1 << number
        return tainted

    # -- capacity -----------------------------------------------------------------------------------------------------

    def _free_capacity(self) -> tuple[Vector, ...]:
        free: list[Vector] = []
        for offer in self.offers:
            if offer.candidate is None or not offer.candidate.device.mapping.get("capacity"):
                free.append(())
                continue
            capacity = offer.candidate.device.capacity
            held = self.state.capacity.get(offer.candidate.id) or {}
            free.append(
                tuple([nano(capacity[n].value) - (nano(held[n]) if n in held else 0) for n in sorted(capacity)])
            )
        return tuple(free)

    def _vector(self, asked: Asked, device: int) -> Vector | Unfit | CapacityFault:
        candidate = self.offers[device].candidate
        assert candidate is not None
        key = (id(asked.spec), repr(candidate.device.mapping.get("capacity")))
        found = self._vectors.get(key)
        if found is None:
            try:
                consumed = consumption(asked.capacity, candidate.device.capacity, self.arithmetic)
                found = consumed if isinstance(consumed, Unfit) else tuple([nano(q) for q in consumed.values()])
            except CapacityFault as fault:
                found = fault
            self._vectors[key] = found
        return found

    def _wants(self, slot: int, asked: Asked, selectable: int) -> tuple[Vector | None, ...] | None:
        """What a share consumes; devices whose arithmetic fails become faults of the slot."""
        if not self.consumable or not (self.capacity_matters or asked.capacity):
            return None
        wants: list[Vector | None] = []
        for device, offer in enumerate(self.offers):
            if offer.candidate is None:
                wants.append(None)
                continue
            found = self._vector(asked, device)
            if isinstance(found, CapacityFault):
                if selectable >> device & 1:
                    self.obstacles[slot, device] = found
                wants.append(None)
            else:
                wants.append(None if isinstance(found, Unfit) else found)
        if self._free is None:
            self._free = self._free_capacity()
        return tuple(wants)

    def _slices(self) -> tuple[tuple[int, int], ...]:
        """By device the first device of its slice, and how many devices the slice has."""
        found: list[tuple[int, int]] = []
        for number, offer in enumerate(self.offers):
            candidate = offer.candidate
            if candidate is None:
                found.append((number, 1))
                continue
            previous = self.offers[number - 1].candidate if number else None
            start = found[-1][0] if previous is not None and previous.slice is candidate.slice else number
            found.append((start, len(candidate.slice.spec.devices)))
        return tuple(found)

    # -- constraints --------------------------------------------------------------------------------------------------

    def _constraints(self, claim: int, constraints: Sequence[DeviceConstraint]) -> tuple[Constraint, ...]:
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
            kind = "distinct-last" if {"distinct-last-only", "distinct-identity"} & bugs else "distinct"
            identity = "distinct-identity" in bugs
        plain: tuple[Value, ...] | None = None
        table: list[tuple[Value, ...] | None] = []
        for asked in self.asked:
            if asked.claim_index != claim or (constraint.requests and not asked.named_by(constraint.requests)):
                table.append(None)
                continue
            expression = next((d.expression for d in asked.spec.derived_attributes if d.name == attribute), None)
            if expression is not None and self._derives:
                table.append(tuple([self._derived(expression, offer, lists=lists) for offer in self.offers]))
                continue
            if plain is None:
                plain = tuple(
                    [
                        None
                        if offer.candidate is None
                        else self.attributes.value(offer.candidate, attribute, lists=lists, identity=identity)
                        for offer in self.offers
                    ]
                )
            table.append(plain)
        return Constraint(kind, lists, tuple(table))

    def _derived(self, expression: str, offer: Offer, *, lists: bool) -> Value:
        assert offer.candidate is not None
        return self.attributes.derived(offer.candidate, expression, lists=lists)

    def _several_pools(self) -> bool:
        """Whether the order of pools can matter: some request may have devices of several, or nobody can tell."""
        if any(pool.incomplete or pool.invalid is not None for pool in self.pools) and len(self.pools) > 1:
            return True
        for slot in self.slots:
            reached = slot.selectable | slot.faults
            if sum(1 for first, last in self._ranges() if reached >> first & ((1 << last - first) - 1)) > 1:
                return True
        return False

    def _ranges(self) -> list[tuple[int, int]]:
        starts = sorted(self.base.values())
        return list(pairwise([*starts, len(self.offers)]))


def obstacle_fault(asked: Asked, device: DeviceID, obstacle: Failure | str | CapacityFault) -> Fault:
    """What stops the search at a device, in upstream's words."""
    ref = asked.ref
    if isinstance(obstacle, Failure):
        return Fault("selector", obstacle.message(ref.claim), ref.claim, ref, device)
    if isinstance(obstacle, CapacityFault):
        text = f"{asked.place}: checking capacity for device {device}: {obstacle}"
        return Fault("capacity", text, ref.claim, ref, device)
    return Fault("node-selector", obstacle, ref.claim, ref, device)


def _failed(kind: FaultKind, request: RequestRef, text: str, **about: Any) -> AttemptFailed:
    """The exception for a fault of a request; upstream's message begins with the request's place."""
    return AttemptFailed(Fault(kind, f"{_place(request)}: {text}", request.claim, request, **about))


def _place(request: RequestRef) -> str:
    return f"claim {request.claim}, request {request.alternative or request.name}"
