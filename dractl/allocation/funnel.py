"""Makes the funnel of :mod:`dractl.allocation.survey`: every device of a node through every stage of every request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.allocation.attributes import lookup
from dractl.allocation.build import NODE_OPERATIONS, Builder
from dractl.allocation.capacity import CapacityFault, Unfit, consumption, nano
from dractl.allocation.counters import available_counters, is_allocated, shares_count
from dractl.allocation.faults import AttemptFailed, Fault
from dractl.allocation.matching import Failure
from dractl.allocation.nodes import SelectorFault, node_matches
from dractl.allocation.survey import (
    ConstraintSurvey,
    Loss,
    PoolSurvey,
    RequestSurvey,
    Stage,
    Survey,
    ValueGroup,
)
from dractl.allocation.taints import preventing
from dractl.model.names import RequestRef
from dractl.model.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dractl.allocation.allocator import Allocator
    from dractl.allocation.build import Asked
    from dractl.allocation.pools import Pool, PoolDevice
    from dractl.allocation.problem import Value
    from dractl.allocation.state import DeviceID
    from dractl.allocation.survey import StageName
    from dractl.model import Node, ResourceClaim

_Offer = tuple["PoolDevice", "Pool"]


def survey(allocator: Allocator, node: Node, claims: Sequence[ResourceClaim]) -> Survey:
    """See :meth:`dractl.allocation.Allocator.survey`."""
    name = node.metadata.name
    index, matcher, behaviour = allocator._index, allocator._matcher, allocator.behaviour
    if index is None or matcher is None or behaviour is None:
        return Survey(name, (), (), (), Fault("unsupported", allocator.features.unsupported_text))
    try:
        pools = index.gather(node)
        obsolete = index.obsolete(node)
    except AttemptFailed as failed:
        return Survey(name, (), (), (), failed.fault)
    builder = Builder(allocator.features, behaviour, matcher, allocator.classes, allocator.state, node, pools)
    funnel = _Funnel(builder)
    requests: list[RequestSurvey] = []
    constraints: list[ConstraintSurvey] = []
    for number, claim in enumerate(claims):
        own = funnel.requests(number, claim)
        requests += [found for _, found in own]
        constraints += funnel.constraints(number, claim, own)
    seen = [_pool(pool) for pool in pools]
    seen += [
        PoolSurvey(driver, pool, "obsolete", None, generation, 0, 0, devices)
        for (driver, pool), generation, devices in obsolete
    ]
    return Survey(name, tuple(seen), tuple(requests), tuple(constraints))


def _pool(pool: Pool) -> PoolSurvey:
    return PoolSurvey(
        driver=pool.driver,
        pool=pool.name,
        state=pool.state,
        fault=pool.invalid,
        generation=pool.generation,
        slices=pool.found,
        expected=pool.expected,
        devices=len(pool.devices),
    )


class _Funnel:
    """One node's devices."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.features = builder.features
        self.offers: list[_Offer] = [(o.candidate, o.pool) for o in builder.offers if o.candidate is not None]
        self._left: dict[tuple[str, str, str], dict[tuple[str, str], int]] = {}

    # -- requests -----------------------------------------------------------------------------------------------------

    def requests(self, number: int, claim: ResourceClaim) -> list[tuple[Asked | None, RequestSurvey]]:
        """The funnels of a claim's requests and alternatives."""
        found: list[tuple[Asked | None, RequestSurvey]] = []
        for request in claim.spec.devices.requests:
            alternatives = request.first_available or (None,)
            for alternative in alternatives:
                ref = RequestRef(
                    claim.metadata.full_name, request.name, None if alternative is None else alternative.name
                )
                spec = alternative if alternative is not None else request.exactly
                try:
                    asked = self.builder.ask(number, claim, request, alternative)
                except AttemptFailed as failed:
                    found.append(
                        (
                            None,
                            RequestSurvey(
                                ref=ref,
                                claim_index=number,
                                device_class=spec.device_class_name if spec is not None else "",
                                mode=(spec.allocation_mode if spec is not None else None) or "ExactCount",
                                wanted=(spec.count if spec is not None else None) or 1,
                                offered=(),
                                stages=(),
                                candidates=(),
                                fault=failed.fault,
                            ),
                        )
                    )
                    continue
                found.append((asked, self._request(asked)))
        return found

    def _request(self, asked: Asked) -> RequestSurvey:
        kept = self.offers
        stages: list[Stage] = []

        def stage(name: StageName, check: Callable[[_Offer], Loss | None], **about: object) -> None:
            nonlocal kept
            lost = []
            left = []
            for offer in kept:
                loss = check(offer)
                if loss is None:
                    left.append(offer)
                else:
                    lost.append(loss)
            if name not in _ONLY_WITH_LOSSES or lost:
                devices = tuple([candidate.id for candidate, _ in left])
                stages.append(Stage(name, devices, tuple(lost), **about))  # type: ignore[arg-type]
            kept = left

        stage("gate", self._gate)
        for scope, name, selectors in (
            (f"class {asked.device_class.metadata.name}", "class-selector", asked.device_class.spec.selectors),
            (None, "request-selector", asked.spec.selectors),
        ):
            for index, selector in enumerate(selectors):
                text = selector.cel.expression if selector.cel is not None else ""
                stage(
                    name,  # type: ignore[arg-type]
                    lambda offer, t=text, i=index, s=scope: self._selector(offer, t, i, s, asked),  # type: ignore[misc]
                    selector=index,
                    expression=text,
                )
        stage("node", self._node)
        matched = len(kept)
        stage("in-use", lambda offer: self._in_use(offer, asked))
        stage("node-operations", self._operations)
        stage("counters", self._counters)
        stage("taints", lambda offer: self._taints(offer, asked))
        stage("capacity", lambda offer: self._capacity(offer, asked))
        for index, constraint in enumerate(asked.claim.spec.devices.constraints):
            attribute = constraint.match_attribute or constraint.distinct_attribute
            if attribute is not None and (not constraint.requests or asked.named_by(constraint.requests)):
                stage(
                    "constraint",
                    lambda offer, a=attribute: self._has_attribute(offer, a, asked),  # type: ignore[misc]
                    constraint=index,
                    attribute=attribute,
                )
        return RequestSurvey(
            ref=asked.ref,
            claim_index=asked.claim_index,
            device_class=asked.spec.device_class_name,
            mode=asked.mode,
            wanted=matched if asked.mode == "All" else asked.count,
            offered=tuple([candidate.id for candidate, _ in self.offers]),
            stages=tuple(stages),
            candidates=tuple([candidate.id for candidate, _ in kept]),
        )

    def _gate(self, offer: _Offer) -> Loss | None:
        candidate, _ = offer
        if candidate.device.binding_conditions and not self.features.binding_conditions:
            gates = ("DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus")
            gate = next(g for g in gates if not self.features.enabled(g))
            return Loss(candidate.id, "gate-off", f"has binding conditions, but {gate} is off", gate=gate)
        if candidate.device.mapping.get("consumesCounters") and not self.builder.partitionable:
            gate = "DRAPartitionableDevices"
            return Loss(candidate.id, "gate-off", f"consumes counters, but {gate} is off", gate=gate)
        return None

    def _selector(self, offer: _Offer, text: str, index: int, scope: str | None, asked: Asked) -> Loss | None:
        candidate, _ = offer
        answer = self.builder.matcher.one(text, candidate, index, scope)
        if answer is True:
            return None
        if isinstance(answer, Failure):
            message = answer.message(asked.claim.metadata.full_name)
            return Loss(candidate.id, "selector-error", message, answer.error)
        return Loss(candidate.id, "selector-false", "the selector is false")

    def _node(self, offer: _Offer) -> Loss | None:
        candidate, _ = offer
        if not candidate.slice.spec.per_device_node_selection:
            return None
        device = candidate.device
        try:
            if node_matches(self.builder.node, device.node_name, device.all_nodes, device.node_selector):
                return None
        except SelectorFault as fault:
            return Loss(candidate.id, "selector-error", str(fault))
        return Loss(candidate.id, "node-mismatch", "the device is for another node")

    def _in_use(self, offer: _Offer, asked: Asked) -> Loss | None:
        candidate, _ = offer
        if asked.admin or candidate.id not in self.builder.state.devices:
            return None
        return Loss(candidate.id, "device-in-use", "held by another claim")

    def _operations(self, offer: _Offer) -> Loss | None:
        candidate, _ = offer
        operations = candidate.slice.spec.skip_node_operations
        if not operations or not self.builder.experimental or not self.features.at_least("1.37"):
            return None
        if not self.features.enabled(NODE_OPERATIONS):
            text = f"skips node operations, but {NODE_OPERATIONS} is off"
            return Loss(candidate.id, "gate-off", text, gate=NODE_OPERATIONS)
        if NODE_OPERATIONS in self.builder.node.status.declared_features:
            return None
        text = f"skips node operations, and the node does not declare {NODE_OPERATIONS}"
        return Loss(candidate.id, "node-operations", text, gate=NODE_OPERATIONS)

    def _counters(self, offer: _Offer) -> Loss | None:
        candidate, pool = offer
        if not self.builder.partitionable or not candidate.device.mapping.get("consumesCounters"):
            return None
        state, behaviour = self.builder.state, self.builder.behaviour
        shares = shares_count(behaviour, since_136=self.features.at_least("1.36"))
        if self._is_shared(candidate) and is_allocated(candidate.id, state, shares=True):
            return None  # charged with its first share
        in_slice = candidate.slice if behaviour.counters_in_slice else None
        key = (*pool.id, in_slice.metadata.name if in_slice is not None else "")
        left = self._left.get(key)
        if left is None:
            left = self._left[key] = available_counters(pool, in_slice, state, shares=shares)
        for consumption_ in candidate.device.consumes_counters:
            for counter, value in consumption_.counters.items():
                free = left.get((consumption_.counter_set, counter))
                if free is not None and nano(value) > free:
                    return _short(candidate.id, consumption_.counter_set, counter, value, free)
        for (counter_set, counter), free in left.items():
            if free < 0:  # upstream checks all counters of the pool whenever it checks one
                return _short(candidate.id, counter_set, counter, Quantity(), free)
        return None

    def _is_shared(self, candidate: PoolDevice) -> bool:
        return self.builder.consumable and bool(candidate.device.mapping.get("allowMultipleAllocations"))

    def _taints(self, offer: _Offer, asked: Asked) -> Loss | None:
        candidate, _ = offer
        if not self.features.enabled("DRADeviceTaints"):
            return None
        any_effect = self.builder.behaviour.counters_in_slice
        taint = preventing(candidate.device, asked.tolerations, any_effect=any_effect)
        if taint is None:
            return None
        text = f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
        return Loss(candidate.id, "tainted", f"taint {text} is not tolerated", taint=text)

    def _capacity(self, offer: _Offer, asked: Asked) -> Loss | None:
        candidate, _ = offer
        if not self.builder.consumable:
            return None
        capacity = candidate.device.capacity
        try:
            found = consumption(asked.capacity, capacity, self.builder.arithmetic)
        except CapacityFault as fault:
            return Loss(candidate.id, "capacity-policy", str(fault))
        if isinstance(found, Unfit):
            want = None if found.want is None else _as_written(found.want, asked, found.capacity)
            if found.code == "capacity-missing":
                text = f"has no capacity {found.capacity}"
            else:
                text = f"the request policy of capacity {found.capacity} does not allow {want}"
            return Loss(candidate.id, found.code, text, capacity=found.capacity, want=want)
        held = self.builder.state.capacity.get(candidate.id) or {}
        for name, amount in found.items():
            total = capacity[name].value
            free = total - held[name] if name in held else total
            if amount > free:
                want = _as_written(amount, asked, name)
                text = f"capacity {name}: wants {want}, {free} of {total} is free"
                return Loss(
                    candidate.id,
                    "capacity-short",
                    text,
                    capacity=name,
                    want=want,
                    free=str(free),
                    total=str(total),
                )
        return None

    def _has_attribute(self, offer: _Offer, attribute: str, asked: Asked) -> Loss | None:
        candidate, _ = offer
        if any(derived.name == attribute for derived in asked.spec.derived_attributes):
            return None
        if lookup(candidate, attribute) is not None:
            return None
        return Loss(candidate.id, "attr-missing", f"has no attribute {attribute}", attribute=attribute)

    # -- constraints --------------------------------------------------------------------------------------------------

    def constraints(
        self, number: int, claim: ResourceClaim, requests: Sequence[tuple[Asked | None, RequestSurvey]]
    ) -> list[ConstraintSurvey]:
        """What each value of a constrained attribute holds."""
        candidates = {candidate.id: candidate for candidate, _ in self.offers}
        found = []
        for index, constraint in enumerate(claim.spec.devices.constraints):
            attribute = constraint.match_attribute or constraint.distinct_attribute
            if attribute is None:
                continue
            covered = [
                (asked, request)
                for asked, request in requests
                if asked is not None and (not constraint.requests or asked.named_by(constraint.requests))
            ]
            by_value: dict[str, dict[str, list[DeviceID]]] = {}
            for asked, request in covered:
                for device in request.candidates:
                    for text in self._value_texts(candidates[device], attribute, asked):
                        by_value.setdefault(text, {}).setdefault(request.request, []).append(device)
            matching = constraint.match_attribute is not None
            found.append(
                ConstraintSurvey(
                    claim=claim.metadata.full_name,
                    claim_index=number,
                    constraint=index,
                    kind="matchAttribute" if matching else "distinctAttribute",
                    attribute=attribute,
                    requests=tuple([request.request for _, request in covered]),
                    groups=_groups(by_value, covered, matching=matching),
                )
            )
        return found

    def _value_texts(self, candidate: PoolDevice, attribute: str, asked: Asked) -> tuple[str, ...]:
        reader = self.builder.attributes
        lists = self.builder.compares_lists
        expression = next((d.expression for d in asked.spec.derived_attributes if d.name == attribute), None)
        value: Value
        if expression is not None:
            value = reader.derived(candidate, expression, lists=lists)
        else:
            value = reader.value(candidate, attribute, lists=lists, identity=False)
        if isinstance(value, frozenset):
            return tuple(sorted(_text(item) for _, item in value))
        if isinstance(value, tuple):
            return (_text(value[1]),)
        found = lookup(candidate, attribute)
        return (_text(found.value),) if found is not None else ()


_ONLY_WITH_LOSSES = frozenset({"gate", "node", "node-operations", "counters", "capacity"})
"""Stages that most clusters have no use for are left out where they lose nothing."""


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(_text(item) for item in value)
    return str(value)


def _groups(
    by_value: dict[str, dict[str, list[DeviceID]]],
    covered: Sequence[tuple[Asked, RequestSurvey]],
    *,
    matching: bool,
) -> tuple[ValueGroup, ...]:
    certain = [request for asked, request in covered if asked.alternative is None]
    choices: dict[str, list[RequestSurvey]] = {}
    for asked, request in covered:
        if asked.alternative is not None:
            choices.setdefault(asked.request.name, []).append(request)
    enough_values = len(by_value) >= sum(request.wanted for request in certain)
    groups = []
    for value in sorted(by_value, key=_natural):
        holding = by_value[value]

        def served(request: RequestSurvey, holding: dict[str, list[DeviceID]] = holding) -> bool:
            return len(holding.get(request.request, ())) >= request.wanted

        fits = enough_values
        if matching:
            fits = all(map(served, certain)) and all(any(map(served, options)) for options in choices.values())
        groups.append(
            ValueGroup(value, tuple((r.request, tuple(holding.get(r.request, ()))) for _, r in covered), fits)
        )
    return tuple(groups)


def _natural(text: str) -> tuple[int, int, str]:
    return (0, int(text), "") if text.isascii() and text.isdigit() and len(text) < 20 else (1, 0, text)


def _short(device: DeviceID, counter_set: str, counter: str, want: Quantity, free: int) -> Loss:
    left = Quantity(free, -9, want.format)
    text = f"counter {counter} of {counter_set}: wants {want}, {left} is free"
    return Loss(
        device, "counters-short", text, counter_set=counter_set, counter=counter, want=str(want), free=str(left)
    )


def _as_written(amount: Quantity, asked: Asked, capacity: str) -> str:
    """An amount in the unit of the request, which the scheduler may change: 6G, which it makes 5859375Ki."""
    written = (asked.capacity or {}).get(capacity)
    if written is None:
        return str(amount)
    return str(written if written == amount else Quantity(*amount.exact(), written.format))
