"""Requests that fit only on their own: constraints, and competition for the same devices."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from dractl.allocation import ConstraintSurvey, DeviceID, RequestSurvey, Survey
from dractl.cluster.devices import Devices
from dractl.explain import selectors
from dractl.explain.answer import Conflict, ConstraintGroup
from dractl.explain.context import Case
from dractl.explain.diagnosis.requests import cause_of_stage
from dractl.explain.reasons.amounts import ConstrainedSearch, NotEnoughTogether, SearchConflict
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.constraints import AttributeType, ConstraintConflict
from dractl.explain.reasons.devices import RivalRequests
from dractl.model import RequestRef
from dractl.scheduler.verdict import NodeVerdict


def diagnose_combination(case: Case, survey: Survey) -> list[Cause]:
    """Return why requests cannot be allocated together although each finds enough devices."""
    unsatisfiable = [c for c in survey.constraints if not c.satisfiable]
    if unsatisfiable:
        drained = [
            (r, s)
            for c in unsatisfiable
            for r in _requests_under(survey, c)
            for s in r.stages
            if s.name == "counters"
        ]
        blocked = [
            cause_of_stage(case, r, stage, max(r.wanted, 1)) for r, stage in drained if stage.lost
        ]
        return [*(_cause_of_constraint(case, survey, c) for c in unsatisfiable), *blocked]
    requests = [r for r in survey.requests if r.ref.alternative is None]
    refs = tuple(r.ref for r in requests)
    union = {device for r in requests for device in r.candidates}
    wanted = sum(r.wanted for r in requests)
    if len(requests) > 1 and len(union) < wanted and not survey.constraints:
        devices_in_use = [device for r in requests for device in _devices_in_use(r)]
        holders = case.devices.holders(dict.fromkeys(devices_in_use))
        return [NotEnoughTogether(requests=refs, want=wanted, have=len(union), holders=holders)]
    rivals = _cause_of_rivals(case, requests)
    if rivals is not None:
        return [rivals]
    groups = (
        [[device] for device in requests[0].candidates]
        if len(requests) == 1
        else [r.candidates for r in requests]
    )
    shared = _common_counter_sets(case, groups)
    sets = tuple(sorted({name for (_, _, name) in shared}))
    incompatible = bool(sets) and _has_incompatible_groups(case, union)
    holders = case.devices.holders(case.devices.counter_consumers(shared)) if shared else ()
    if not survey.constraints:
        return [
            SearchConflict(
                requests=refs,
                total=wanted,
                counter_sets=sets,
                incompatible=incompatible,
                holders=holders,
            )
        ]
    constraint = f"{survey.constraints[0].kind} {survey.constraints[0].attribute}"
    return [
        ConstrainedSearch(
            requests=refs,
            total=wanted,
            counter_sets=sets,
            incompatible=incompatible,
            holders=holders,
            constraint=constraint,
        )
    ]


def cause_of_excess(case: Case, survey: Survey) -> Cause | None:
    """Return the cause if the requests together want more devices than the node has, free or in
    use.
    """
    requests = [r for r in survey.requests if r.ref.alternative is None]
    matching = [devices_that_match(r) for r in requests]
    union = list(dict.fromkeys(device for devices in matching for device in devices))
    wanted = sum(r.wanted for r in requests)
    if len(requests) < 2 or len(union) >= wanted or any(r.mode == "All" for r in requests):
        return None
    if any(len(devices) < r.wanted for r, devices in zip(requests, matching, strict=True)):
        return None
    if case.devices.are_shared(union) or _has_admin_access(case, requests):
        return None
    return NotEnoughTogether(requests=tuple(r.ref for r in requests), want=wanted, have=len(union))


def _has_admin_access(case: Case, requests: Sequence[RequestSurvey]) -> bool:
    """Return True if a request has adminAccess, and so takes no device away from others."""
    claims = [case.claims.get(r.claim) for r in requests]
    specs = [c.claim.spec.devices for c in claims if c is not None and c.claim is not None]
    return any(
        r.exactly.admin_access for spec in specs for r in spec.requests if r.exactly is not None
    )


def _common_counter_sets(
    case: Case, groups: Sequence[Sequence[DeviceID]]
) -> set[tuple[str, str, str]]:
    """Return the counter sets that devices of two groups consume."""
    uses: Counter[tuple[str, str, str]] = Counter()
    for group in groups:
        devices = ((name, case.devices.get(name)) for name in group)
        uses.update(
            {
                (name.driver, name.pool, consumed.counter_set)
                for name, device in devices
                if device is not None
                for consumed in device.consumes_counters
            }
        )
    return {counters for counters, times in uses.items() if times > 1}


def _has_incompatible_groups(case: Case, devices: Iterable[DeviceID]) -> bool:
    """Return True if devices of one counter set share no compatibility group (counters.py of the
    allocator).
    """
    if "DRADeviceCompatibilityGroups" not in case.scheduler.features.on:
        return False
    groups: dict[tuple[str, str, str], set[frozenset[str]]] = {}
    for name in devices:
        device = case.devices.get(name)
        for c in device.consumes_counters if device is not None else ():
            groups.setdefault((name.driver, name.pool, c.counter_set), set()).add(
                frozenset(c.compatibility_groups)
            )
    return any(
        not first & second
        for compatible_groups in groups.values()
        for first, second in combinations(compatible_groups, 2)
    )


def _cause_of_rivals(case: Case, requests: Sequence[RequestSurvey]) -> Cause | None:
    """Return the cause for two requests that only the same devices satisfy."""
    for first, second in combinations(requests, 2):
        devices = list(dict.fromkeys((*first.candidates, *second.candidates)))
        wanted = first.wanted + second.wanted
        if len(devices) >= wanted or case.devices.are_shared(devices):
            continue
        return RivalRequests(
            requests=(first.ref, second.ref),
            device_class=second.device_class or None,
            devices=tuple(map(str, devices)),
            want=wanted,
            have=len(devices),
        )
    return None


def _cause_of_constraint(case: Case, survey: Survey, constraint: ConstraintSurvey) -> Cause:
    requests = _requests_under(survey, constraint)
    types = {
        r.request: tuple(sorted(_attribute_types(case, r, constraint.attribute))) for r in requests
    }
    kinds = {kind for kinds in types.values() for kind in kinds}
    if constraint.kind == "distinctAttribute":
        return _cause_of_few_values(constraint, requests)
    if len(kinds) > 1:
        return _cause_of_mixed_types(case, constraint, requests, types)
    return _cause_of_conflict(case, constraint, requests)


def _refs(constraint: ConstraintSurvey) -> tuple[RequestRef, ...]:
    return tuple(RequestRef.parse(constraint.claim, name) for name in constraint.requests)


def _text(constraint: ConstraintSurvey) -> str:
    return f"{constraint.kind} {constraint.attribute}"


def _cause_of_mixed_types(
    case: Case,
    constraint: ConstraintSurvey,
    requests: Sequence[RequestSurvey],
    types: Mapping[str, tuple[str, ...]],
) -> Cause:
    """Return the cause for an attribute that has different types on the devices of a constraint."""
    kinds = sorted({kind for kinds in types.values() for kind in kinds})
    lists = any(kind.endswith("s") for kind in kinds)
    gate_off = lists and "DRAListTypeAttributes" not in case.scheduler.features.on
    devices = (device for request in requests for device in request.candidates)
    with_list = (d for d in devices if _is_list(case.devices, d, constraint.attribute))
    first = next(with_list, None)
    return AttributeType(
        requests=_refs(constraint),
        constraint=_text(constraint),
        attribute=constraint.attribute,
        types=tuple(types.items()),
        kinds=tuple(kinds),
        gate="DRAListTypeAttributes" if gate_off else None,
        driver=first.driver if first is not None else None,
    )


def _cause_of_few_values(constraint: ConstraintSurvey, requests: Sequence[RequestSurvey]) -> Cause:
    """Return the cause for a distinctAttribute that has fewer values than the requests want
    devices.
    """
    return ConstraintConflict(
        requests=_refs(constraint),
        constraint=_text(constraint),
        attribute=constraint.attribute,
        want=sum(r.wanted for r in requests),
        have=len(constraint.groups),
        values=tuple(group.value for group in constraint.groups),
    )


def _cause_of_conflict(
    case: Case, constraint: ConstraintSurvey, requests: Sequence[RequestSurvey]
) -> Cause:
    """Return the cause for a matchAttribute if no value of the attribute has enough free
    devices."""
    stages = [stage for request in requests for stage in request.stages]
    in_use = [device for request in requests for device in _devices_in_use(request)]
    losses = [loss for stage in stages if stage.name == "counters" for loss in stage.lost]
    counter_sets = {
        (loss.device.driver, loss.device.pool, loss.counter_set)
        for loss in losses
        if loss.counter_set
    }
    occupied = dict.fromkeys((*in_use, *case.devices.counter_consumers(counter_sets)))
    return ConstraintConflict(
        requests=_refs(constraint),
        constraint=_text(constraint),
        attribute=constraint.attribute,
        counts=tuple((r.request, r.wanted) for r in requests),
        selectors=tuple(
            stage.expression
            for stage in stages
            if stage.name == "request-selector" and stage.expression
        ),
        holders=case.devices.holders(occupied),
        devices=tuple(map(str, (*in_use, *(loss.device for loss in losses)))),
        values=tuple(group.value for group in constraint.groups),
        exists=_could_be_met(case, requests, constraint.attribute),
    )


def _could_be_met(case: Case, covered: Sequence[RequestSurvey], attribute: str) -> bool:
    """Return True if one value of the attribute has enough devices for every request, counting
    devices in use.
    """
    counts = [_count_values(case, devices_that_match(request), attribute) for request in covered]
    values = {value for count in counts for value in count}
    return any(
        all(count[value] >= r.wanted for count, r in zip(counts, covered, strict=True))
        for value in values
    )


def _count_values(case: Case, devices: Iterable[DeviceID], attribute: str) -> Counter[str]:
    """Count the devices that have each value of an attribute; a list counts for each of its
    values.
    """
    counted: Counter[str] = Counter()
    for device in devices:
        attribute_value = case.devices.attribute(device, attribute)
        if attribute_value is not None:
            values = (
                attribute_value.value
                if isinstance(attribute_value.value, tuple)
                else (attribute_value.value,)
            )
            counted.update(map(selectors.text_of, values))
    return counted


def _devices_in_use(request: RequestSurvey) -> list[DeviceID]:
    return [
        loss.device for stage in request.stages if stage.name == "in-use" for loss in stage.lost
    ]


def _requests_under(survey: Survey, constraint: ConstraintSurvey) -> list[RequestSurvey]:
    return [
        r
        for r in survey.requests
        if r.claim_index == constraint.claim_index and r.request in constraint.requests
    ]


def _attribute_types(case: Case, request: RequestSurvey, attribute: str) -> set[str]:
    attributes = (case.devices.attribute(device, attribute) for device in request.candidates)
    return {str(a.type) for a in attributes if a is not None}


def conflict_on(case: Case, verdict: NodeVerdict, survey: Survey) -> Conflict | None:
    """Return the constraint that cannot hold on a node, with the devices of each value of its
    attribute.
    """
    for constraint in survey.constraints:
        if constraint.satisfiable:
            continue
        requests = _requests_under(survey, constraint)
        free = {
            g.value: {name: len(devices) for name, devices in g.candidates}
            for g in constraint.groups
        }
        held = {
            r.request: _count_values(case, _devices_in_use(r), constraint.attribute)
            for r in requests
        }
        values = sorted({*free, *(value for counted in held.values() for value in counted)})
        places = tuple(
            ConstraintGroup(
                constraint.attribute,
                value,
                tuple((r.request, free.get(value, {}).get(r.request, 0)) for r in requests),
                tuple(
                    (r.request, free.get(value, {}).get(r.request, 0) + held[r.request][value])
                    for r in requests
                ),
            )
            for value in values
        )
        return Conflict(
            verdict.name,
            constraint.requests,
            (f"{constraint.kind} {constraint.attribute}",),
            places,
        )
    return None


def devices_that_match(request: RequestSurvey) -> list[DeviceID]:
    """Return the devices that the selectors match, free or in use."""
    chosen = [s for s in request.stages if s.name in ("class-selector", "request-selector")]
    return list(chosen[-1].kept if chosen else request.offered)


def _is_list(devices: Devices, device: DeviceID, attribute: str) -> bool:
    value = devices.attribute(device, attribute)
    return value is not None and isinstance(value.value, tuple)
