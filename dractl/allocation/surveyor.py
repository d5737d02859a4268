"""Surveys a node: every device goes through every stage of every request
(dractl.allocation.survey).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from dractl.allocation.attributes import lookup
from dractl.allocation.build import Builder, ResolvedRequest
from dractl.allocation.capacity import CapacityFault, Unfit, nano
from dractl.allocation.counters import Counters, build_counters
from dractl.allocation.devices import NODE_OPERATIONS, NodeDevices
from dractl.allocation.faults import AttemptFailed
from dractl.allocation.matching import Failure
from dractl.allocation.nodes import SelectorFault, node_matches
from dractl.allocation.pools import Pool, PoolDevice, PoolID
from dractl.allocation.problem import Charge, Value
from dractl.allocation.state import DeviceID
from dractl.allocation.survey import (
    ConstraintSurvey,
    Loss,
    LossCode,
    PoolSurvey,
    RequestSurvey,
    Stage,
    StageName,
    Survey,
    ValueGroup,
)
from dractl.model import ResourceClaim
from dractl.model.names import RequestRef
from dractl.model.quantity import Quantity
from dractl.model.taints import format_taint
from dractl.properties import cached_property


def survey(
    builder: Builder, obsolete: Sequence[tuple[PoolID, int, int]], claims: Sequence[ResourceClaim]
) -> Survey:
    """Survey the claims on a node (:meth:`dractl.allocation.Allocator.survey`).

    ``obsolete`` has the pools that :meth:`dractl.allocation.pools.SliceIndex.obsolete` returns.
    """
    surveyor = _Surveyor(builder)
    requests: list[RequestSurvey] = []
    constraints: list[ConstraintSurvey] = []
    for number, claim in enumerate(claims):
        claim_surveys = surveyor.requests(number, claim)
        requests += [request for _, request in claim_surveys]
        constraints += surveyor.constraints(number, claim, claim_surveys)
    seen = [_pool(pool) for pool in builder.devices.pools]
    seen += [
        PoolSurvey(driver, pool, "obsolete", None, generation, 0, 0, devices)
        for (driver, pool), generation, devices in obsolete
    ]
    return Survey(
        builder.devices.node.metadata.name, tuple(seen), tuple(requests), tuple(constraints)
    )


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
    """The stages of one request so far."""

    def __init__(self, devices: NodeDevices, offers: Sequence[int]) -> None:
        self.devices = devices
        self.kept = offers
        self.stages: list[Stage] = []

    def add(self, name: StageName, check: Callable[[int], Loss | None], **about: object) -> None:
        """Add a stage. ``check`` returns the loss of a device, or None if the stage keeps the
        device.
        """
        lost: list[Loss] = []
        kept: list[int] = []
        for number in self.kept:
            loss = check(number)
            if loss is None:
                kept.append(number)
            else:
                lost.append(loss)
        if name not in _ONLY_WITH_LOSSES or lost:
            devices = _ids(self.devices, kept)
            self.stages.append(Stage(name, devices, tuple(lost), **about))  # type: ignore[arg-type]
        self.kept = kept


def _ids(devices: NodeDevices, numbers: Sequence[int]) -> tuple[DeviceID, ...]:
    return tuple([devices.candidate(number).id for number in numbers])


class _Surveyor:
    """Puts one node's devices through the stages. NodeDevices decides each stage, as it does for
    the search.
    """

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.devices = builder.devices
        self.features = builder.features
        self.offers = [
            number
            for number, offer in enumerate(self.devices.offers)
            if offer.candidate is not None
        ]
        self._known: dict[tuple[int, int], dict[tuple[str, str], int | None]] = {}

    # -- requests ----------------------------------------------------------------------------------

    def requests(
        self, number: int, claim: ResourceClaim
    ) -> list[tuple[ResolvedRequest | None, RequestSurvey]]:
        """Return the surveys of a claim's requests and alternatives."""
        surveys: list[tuple[ResolvedRequest | None, RequestSurvey]] = []
        for request in claim.spec.devices.requests:
            alternatives = request.first_available or (None,)
            for alternative in alternatives:
                ref = RequestRef(
                    claim.metadata.full_name,
                    request.name,
                    None if alternative is None else alternative.name,
                )
                spec = alternative if alternative is not None else request.exactly
                try:
                    asked = self.builder.ask(number, claim, request, alternative)
                except AttemptFailed as failed:
                    surveys.append(
                        (
                            None,
                            RequestSurvey(
                                ref=ref,
                                claim_index=number,
                                device_class=spec.device_class_name if spec is not None else "",
                                mode=(spec.allocation_mode if spec is not None else None)
                                or "ExactCount",
                                wanted=(spec.count if spec is not None else None) or 1,
                                offered=(),
                                stages=(),
                                candidates=(),
                                fault=failed.fault,
                            ),
                        )
                    )
                    continue
                surveys.append((asked, self._request(asked)))
        return surveys

    def _request(self, asked: ResolvedRequest) -> RequestSurvey:
        funnel = _Funnel(self.devices, self.offers)
        funnel.add("gate", self._gate)
        self._add_selectors(funnel, asked)
        funnel.add("node", self._node)
        matched = len(funnel.kept)
        funnel.add(
            "in-use",
            lambda number: self._loss_if_servable(number, asked, self._in_use(number, asked)),
        )
        funnel.add("node-operations", self._operations)
        funnel.add(
            "counters",
            lambda number: self._loss_if_servable(number, asked, self._counter_loss(number)),
        )
        funnel.add("taints", lambda number: self._taints(number, asked))
        funnel.add("capacity", lambda number: self._capacity(number, asked))
        for index, constraint in enumerate(asked.claim.spec.devices.constraints):
            attribute = constraint.match_attribute or constraint.distinct_attribute
            if attribute is not None and (
                not constraint.requests or asked.is_named_by(constraint.requests)
            ):
                check = partial(self._has_attribute, attribute=attribute, asked=asked)
                funnel.add("constraint", check, constraint=index, attribute=attribute)
        return RequestSurvey(
            ref=asked.ref,
            claim_index=asked.claim_index,
            device_class=asked.spec.device_class_name,
            mode=asked.mode,
            wanted=matched if asked.mode == "All" else asked.count,
            offered=_ids(self.devices, self.offers),
            stages=tuple(funnel.stages),
            candidates=_ids(self.devices, funnel.kept),
        )

    def _add_selectors(self, funnel: _Funnel, asked: ResolvedRequest) -> None:
        """Add the stages of the selectors of the class, then the stages of the request's
        selectors.
        """
        scope = f"class {asked.device_class.metadata.name}"
        for index, selector in enumerate(asked.device_class.spec.selectors):
            text = selector.cel.expression if selector.cel is not None else ""
            check = partial(self._selector, text=text, index=index, scope=scope, asked=asked)
            funnel.add("class-selector", check, selector=index, expression=text)
        for index, selector in enumerate(asked.spec.selectors):
            text = selector.cel.expression if selector.cel is not None else ""
            check = partial(self._selector, text=text, index=index, scope=None, asked=asked)
            funnel.add("request-selector", check, selector=index, expression=text)

    def _gate(self, number: int) -> Loss | None:
        candidate = self.devices.candidate(number)
        gate = self.devices.gate_that_hides(candidate.device)
        if gate is not None:
            return Loss(
                candidate.id, "gate-off", f"has binding conditions, but {gate} is off", gate=gate
            )
        if self.devices.uncharged >> number & 1:
            gate = "DRAPartitionableDevices"
            return Loss(
                candidate.id, "gate-off", f"consumes counters, but {gate} is off", gate=gate
            )
        return None

    def _selector(
        self, number: int, text: str, index: int, scope: str | None, asked: ResolvedRequest
    ) -> Loss | None:
        candidate = self.devices.candidate(number)
        answer = self.builder.matcher.match(text, candidate, index, scope)
        if answer is True:
            return None
        if isinstance(answer, Failure):
            message = answer.message(asked.claim.metadata.full_name)
            return Loss(candidate.id, "selector-error", message, answer.error)
        return Loss(candidate.id, "selector-false", "the selector is false")

    def _node(self, number: int) -> Loss | None:
        candidate = self.devices.candidate(number)
        if not candidate.slice.spec.per_device_node_selection:
            return None
        device = candidate.device
        try:
            if node_matches(
                self.devices.node, device.node_name, device.all_nodes, device.node_selector
            ):
                return None
        except SelectorFault as fault:
            return Loss(candidate.id, "selector-error", str(fault))
        return Loss(candidate.id, "node-mismatch", "the device is for another node")

    def _in_use(self, number: int, asked: ResolvedRequest) -> Loss | None:
        if asked.admin or not self.devices.held >> number & 1:
            return None
        return Loss(self.devices.candidate(number).id, "device-in-use", "held by another claim")

    def _operations(self, number: int) -> Loss | None:
        if not self.devices.undeclared >> number & 1:
            return None
        device = self.devices.candidate(number).id
        if not self.features.enabled(NODE_OPERATIONS):
            text = f"skips node operations, but {NODE_OPERATIONS} is off"
            return Loss(device, "gate-off", text, gate=NODE_OPERATIONS)
        text = f"skips node operations, and the node does not declare {NODE_OPERATIONS}"
        return Loss(device, "node-operations", text, gate=NODE_OPERATIONS)

    @cached_property
    def counters(self) -> Counters:
        """Charges and ledgers, as the search gets them."""
        return build_counters(self.devices)

    def _counters_left(self, charge: Charge) -> dict[tuple[str, str], int | None]:
        """Return the remaining amount of each (set, counter) of a device's pool, in billionths;
        None for a counter that the pool does not have.
        """
        key = (charge.ledger, charge.pool)
        left = self._known.get(key)
        if left is None:
            available = self.counters.ledgers[charge.ledger].available[charge.pool]
            left = self._known[key] = dict(
                zip(self.counters.names[charge.ledger], available, strict=True)
            )
        return left

    def _counter_loss(self, number: int) -> Loss | None:
        charge = None if self.counters.charges is None else self.counters.charges[number]
        if charge is None:
            return None
        if (
            self.devices.sharing >> number & 1
            and "charged-again" not in self.devices.behaviour.bugs
        ):
            return None  # the counters were charged for the first share of the device
        candidate = self.devices.candidate(number)
        left = self._counters_left(charge)
        for use in candidate.device.consumes_counters:
            for counter, value in use.counters.items():
                free = left.get((use.counter_set, counter))
                if free is not None and nano(value) > free:
                    return _counter_shortage(candidate.id, use.counter_set, counter, value, free)
        for (counter_set, counter), free in left.items():
            # Upstream checks all counters of the pool whenever it checks one
            if free is not None and free < 0:
                return _counter_shortage(candidate.id, counter_set, counter, Quantity(), free)
        return None

    def _taints(self, number: int, asked: ResolvedRequest) -> Loss | None:
        taint = self.devices.taint(number, asked.tolerations)
        if taint is None:
            return None
        text = format_taint(taint)
        return Loss(
            self.devices.candidate(number).id,
            "tainted",
            f"taint {text} is not tolerated",
            taint=text,
        )

    def _capacity(self, number: int, asked: ResolvedRequest) -> Loss | None:
        if not self.devices.consumable:
            return None
        candidate = self.devices.candidate(number)
        consumption = self.devices.share_consumption(asked.capacity, number, id(asked.spec))
        if isinstance(consumption, CapacityFault):
            return Loss(candidate.id, "capacity-policy", str(consumption))
        if isinstance(consumption, Unfit):
            if consumption.code == "capacity-missing":
                return Loss(
                    candidate.id,
                    consumption.code,
                    f"has no capacity {consumption.capacity}",
                    capacity=consumption.capacity,
                )
            want = (
                None
                if consumption.want is None
                else _as_written(consumption.want, asked, consumption.capacity)
            )
            text = f"the request policy of capacity {consumption.capacity} does not allow {want}"
            return self._capacity_loss(
                candidate, consumption.code, consumption.capacity, want, text
            )
        for (name, amount), left in zip(
            consumption.items(), self.devices.free[number], strict=True
        ):
            if nano(amount) > left:
                return self._capacity_loss(
                    candidate, "capacity-short", name, _as_written(amount, asked, name)
                )
        return None

    def _capacity_loss(
        self,
        candidate: PoolDevice,
        code: LossCode,
        capacity: str,
        want: str | None,
        message: str | None = None,
    ) -> Loss:
        """Return the loss of a device because of a capacity, with the wanted, free and total
        amounts.
        """
        total = candidate.device.capacity[capacity].value
        held = self.devices.capacity_claimed(candidate)
        free = total - held[capacity] if capacity in held else total
        message = message or f"capacity {capacity}: wants {want}, {free} of {total} is free"
        of = {"capacity": capacity, "want": want, "free": str(free), "total": str(total)}
        return Loss(candidate.id, code, message, **of)

    def _loss_if_servable(
        self, number: int, asked: ResolvedRequest, loss: Loss | None
    ) -> Loss | None:
        """Return the loss of a device that others hold; None if the device could not serve the
        request anyway, so that its holder does not matter.
        """
        if loss is None or not (self.devices.consumable and asked.capacity):
            return loss
        return (
            None
            if isinstance(
                self.devices.share_consumption(asked.capacity, number, id(asked.spec)), Unfit
            )
            else loss
        )

    def _has_attribute(self, number: int, attribute: str, asked: ResolvedRequest) -> Loss | None:
        candidate = self.devices.candidate(number)
        if any(derived.name == attribute for derived in asked.spec.derived_attributes):
            return None
        if lookup(candidate, attribute) is not None:
            return None
        return Loss(
            candidate.id, "attr-missing", f"has no attribute {attribute}", attribute=attribute
        )

    # -- constraints -------------------------------------------------------------------------------

    def constraints(
        self,
        number: int,
        claim: ResourceClaim,
        requests: Sequence[tuple[ResolvedRequest | None, RequestSurvey]],
    ) -> list[ConstraintSurvey]:
        """Return the devices for each value of a constrained attribute."""
        candidates = {c.id: c for c in map(self.devices.candidate, self.offers)}
        surveys = []
        for index, constraint in enumerate(claim.spec.devices.constraints):
            attribute = constraint.match_attribute or constraint.distinct_attribute
            if attribute is None:
                continue
            covered = [
                (asked, request)
                for asked, request in requests
                if asked is not None
                and (not constraint.requests or asked.is_named_by(constraint.requests))
            ]
            by_value: dict[tuple[str, str], dict[str, list[DeviceID]]] = {}
            for asked, request in covered:
                for device in request.candidates:
                    for value in self._values_with_types(candidates[device], attribute, asked):
                        holding = by_value.setdefault(value, {})
                        holding.setdefault(request.request, []).append(device)
            matching = constraint.match_attribute is not None
            surveys.append(
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
        return surveys

    def _values_with_types(
        self, candidate: PoolDevice, attribute: str, asked: ResolvedRequest
    ) -> tuple[tuple[str, str], ...]:
        """Return the values of an attribute as text, each with its type: the string "1" is not the
        int 1.
        """
        reader = self.builder.attributes
        lists = self.builder.compares_lists
        expression = next(
            (d.expression for d in asked.spec.derived_attributes if d.name == attribute), None
        )
        value: Value
        if expression is not None:
            value = reader.derive(candidate, expression, lists=lists)
        else:
            value = reader.value(candidate, attribute, lists=lists, identity=False)
        if isinstance(value, frozenset):
            return tuple(sorted((_text(item), kind) for kind, item in value))
        if isinstance(value, tuple):
            return ((_text(value[1]), value[0]),)
        reported = lookup(candidate, attribute)
        return ((_text(reported.value), str(reported.type)),) if reported is not None else ()


_ONLY_WITH_LOSSES = frozenset({"gate", "node", "node-operations", "counters", "capacity"})
"""Stages that are left out if they lose nothing, since most clusters do not use them."""


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(_text(item) for item in value)
    return str(value)


def _groups(
    by_value: dict[tuple[str, str], dict[str, list[DeviceID]]],
    covered: Sequence[tuple[ResolvedRequest, RequestSurvey]],
    *,
    matching: bool,
) -> tuple[ValueGroup, ...]:
    certain = [request for asked, request in covered if asked.alternative is None]
    choices: dict[str, list[RequestSurvey]] = {}
    for asked, request in covered:
        if asked.alternative is not None:
            choices.setdefault(asked.request.name, []).append(request)
    enough_values = len(by_value) >= sum(request.wanted for request in certain)
    types = Counter(text for text, _ in by_value)
    groups = []
    for text, kind in sorted(by_value, key=lambda value: (_natural(value[0]), value[1])):
        holding = by_value[text, kind]

        def is_served(request: RequestSurvey, holding: dict[str, list[DeviceID]] = holding) -> bool:
            return len(holding.get(request.request, ())) >= request.wanted

        fits = enough_values
        if matching:
            fits = all(map(is_served, certain)) and all(
                any(map(is_served, options)) for options in choices.values()
            )
        groups.append(
            ValueGroup(
                text if types[text] == 1 else f"{text} ({kind})",
                tuple((r.request, tuple(holding.get(r.request, ()))) for _, r in covered),
                fits,
            )
        )
    return tuple(groups)


def _natural(text: str) -> tuple[bool, int | str]:
    """Return a sort key: numbers by value, before other texts."""
    is_number = text.isascii() and text.isdigit() and len(text) < 20
    return not is_number, int(text) if is_number else text


def _counter_shortage(
    device: DeviceID, counter_set: str, counter: str, want: Quantity, free: int
) -> Loss:
    left = Quantity(free, -9, want.format)
    text = f"counter {counter} of {counter_set}: wants {want}, {left} is free"
    return Loss(
        device,
        "counters-short",
        text,
        counter_set=counter_set,
        counter=counter,
        want=str(want),
        free=str(left),
    )


def _as_written(amount: Quantity, asked: ResolvedRequest, capacity: str) -> str:
    """Return an amount in the unit of the request, which the scheduler may have changed: 6G becomes
    5859375Ki.
    """
    written = (asked.capacity or {}).get(capacity)
    if written is None:
        return str(amount)
    return str(written if written == amount else Quantity(*amount.exact(), written.format))
