"""Requests that fit alone and not together: constraints, and competition for the same devices."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations

from dractl.allocation import ConstraintSurvey, DeviceID, RequestSurvey, Survey
from dractl.cluster.devices import Devices
from dractl.explain import selectors
from dractl.explain.answer import Conflict, ConstraintGroup
from dractl.explain.case import Case
from dractl.explain.diagnose.requests import of_stage
from dractl.explain.reasons.amounts import ConstrainedSearch, NotEnoughTogether, SearchConflict
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.constraints import AttributeType, ConstraintConflict
from dractl.explain.reasons.devices import Rivals
from dractl.model import RequestRef
from dractl.scheduler.verdict import NodeVerdict


def together(case: Case, survey: Survey) -> list[Cause]:
    """Why requests that each find enough devices cannot be allocated together."""
    unmet = [c for c in survey.constraints if not c.satisfiable]
    if unmet:
        drained = [
            (r, s)
            for c in unmet
            for r in _covered(survey, c)
            for s in r.stages
            if s.name == "counters"
        ]
        blocked = [of_stage(case, r, stage, max(r.wanted, 1)) for r, stage in drained if stage.lost]
        return [*(_constraint(case, survey, c) for c in unmet), *blocked]
    requests = [r for r in survey.requests if r.ref.alternative is None]
    refs = tuple(r.ref for r in requests)
    union = {device for r in requests for device in r.candidates}
    wanted = sum(r.wanted for r in requests)
    if len(requests) > 1 and len(union) < wanted and not survey.constraints:
        taken = [device for r in requests for device in _held(r)]
        holders = case.devices.holders(dict.fromkeys(taken))
        return [NotEnoughTogether(requests=refs, want=wanted, have=len(union), holders=holders)]
    rivals = _rivals(case, requests)
    if rivals is not None:
        return [rivals]
    groups = (
        [[device] for device in requests[0].candidates]
        if len(requests) == 1
        else [r.candidates for r in requests]
    )
    shared = _shared_counters(case, groups)
    sets = tuple(sorted({name for (_, _, name) in shared}))
    apart = bool(sets) and _incompatible(case, union)
    holders = case.devices.holders(case.devices.drawing_on(shared)) if shared else ()
    if not survey.constraints:
        return [
            SearchConflict(
                requests=refs, total=wanted, counter_sets=sets, incompatible=apart, holders=holders
            )
        ]
    constraint = f"{survey.constraints[0].kind} {survey.constraints[0].attribute}"
    return [
        ConstrainedSearch(
            requests=refs,
            total=wanted,
            counter_sets=sets,
            incompatible=apart,
            holders=holders,
            constraint=constraint,
        )
    ]


def too_many(case: Case, survey: Survey) -> Cause | None:
    """Requests that each find devices on the node, and together want more than it has, in use or not."""
    requests = [r for r in survey.requests if r.ref.alternative is None]
    matching = [matching_devices(r) for r in requests]
    union = list(dict.fromkeys(device for devices in matching for device in devices))
    wanted = sum(r.wanted for r in requests)
    if len(requests) < 2 or len(union) >= wanted or any(r.mode == "All" for r in requests):
        return None
    if any(len(devices) < r.wanted for r, devices in zip(requests, matching, strict=True)):
        return None
    if any(d.allow_multiple_allocations for d in map(case.devices.get, union) if d) or _for_admins(
        case, requests
    ):
        return None
    return NotEnoughTogether(requests=tuple(r.ref for r in requests), want=wanted, have=len(union))


def _for_admins(case: Case, requests: Sequence[RequestSurvey]) -> bool:
    """True if a request does not take its devices away from others."""
    claims = [case.claims.get(r.claim) for r in requests]
    specs = [c.claim.spec.devices for c in claims if c is not None and c.claim is not None]
    return any(
        r.exactly.admin_access for spec in specs for r in spec.requests if r.exactly is not None
    )


def _shared_counters(case: Case, groups: Sequence[Sequence[DeviceID]]) -> set[tuple[str, str, str]]:
    """The counter sets that devices of two groups consume."""
    drawn: Counter[tuple[str, str, str]] = Counter()
    for group in groups:
        devices = ((where, case.devices.get(where)) for where in group)
        drawn.update(
            {
                (where.driver, where.pool, consumed.counter_set)
                for where, device in devices
                if device is not None
                for consumed in device.consumes_counters
            }
        )
    return {counters for counters, times in drawn.items() if times > 1}


def _incompatible(case: Case, devices: Iterable[DeviceID]) -> bool:
    """True if devices may not be allocated together from a counter set: their compatibility groups have none in common
    (counters.py of the allocator)."""
    if "DRADeviceCompatibilityGroups" not in case.scheduler.features.on:
        return False
    groups: dict[tuple[str, str, str], set[frozenset[str]]] = {}
    for where in devices:
        device = case.devices.get(where)
        for c in device.consumes_counters if device is not None else ():
            groups.setdefault((where.driver, where.pool, c.counter_set), set()).add(
                frozenset(c.compatibility_groups)
            )
    return any(
        not one & other for found in groups.values() for one, other in combinations(found, 2)
    )


def _rivals(case: Case, requests: Sequence[RequestSurvey]) -> Cause | None:
    """Two requests that only the same devices would do for."""
    for one, other in combinations(requests, 2):
        devices = list(dict.fromkeys((*one.candidates, *other.candidates)))
        wanted = one.wanted + other.wanted
        if len(devices) >= wanted or any(
            d.allow_multiple_allocations for d in map(case.devices.get, devices) if d
        ):
            continue
        return Rivals(
            requests=(one.ref, other.ref),
            device_class=other.device_class or None,
            devices=tuple(map(str, devices)),
            want=wanted,
            have=len(devices),
        )
    return None


def _constraint(case: Case, survey: Survey, constraint: ConstraintSurvey) -> Cause:
    covered = _covered(survey, constraint)
    text = f"{constraint.kind} {constraint.attribute}"
    refs = tuple(RequestRef.parse(constraint.claim, name) for name in constraint.requests)
    types = {r.request: tuple(sorted(_types(case, r, constraint.attribute))) for r in covered}
    kinds = {kind for kinds in types.values() for kind in kinds}
    if len(kinds) > 1 and constraint.kind == "matchAttribute":
        lists = any(kind.endswith("s") for kind in kinds)
        off = lists and "DRAListTypeAttributes" not in case.scheduler.features.on
        with_list = (
            d
            for r in covered
            for d in r.candidates
            if _is_list(case.devices, d, constraint.attribute)
        )
        first = next(with_list, None)
        return AttributeType(
            requests=refs,
            constraint=text,
            attribute=constraint.attribute,
            types=tuple(types.items()),
            kinds=tuple(sorted(kinds)),
            gate="DRAListTypeAttributes" if off else None,
            driver=first.driver if first is not None else None,
        )
    values = tuple(group.value for group in constraint.groups)
    if constraint.kind == "distinctAttribute":
        return ConstraintConflict(
            requests=refs,
            constraint=text,
            attribute=constraint.attribute,
            want=sum(r.wanted for r in covered),
            have=len(constraint.groups),
            values=values,
        )
    held = [device for r in covered for device in _held(r)]
    blocked = [
        loss
        for r in covered
        for stage in r.stages
        if stage.name == "counters"
        for loss in stage.lost
    ]
    drained = {
        (loss.device.driver, loss.device.pool, loss.counter_set)
        for loss in blocked
        if loss.counter_set
    }
    return ConstraintConflict(
        requests=refs,
        constraint=text,
        attribute=constraint.attribute,
        counts=tuple((r.request, r.wanted) for r in covered),
        chosen=tuple(
            s.expression
            for r in covered
            for s in r.stages
            if s.name == "request-selector" and s.expression
        ),
        holders=case.devices.holders(dict.fromkeys((*held, *case.devices.drawing_on(drained)))),
        devices=tuple(map(str, (*held, *(loss.device for loss in blocked)))),
        values=values,
        exists=_exists(case, covered, constraint.attribute),
    )


def _exists(case: Case, covered: Sequence[RequestSurvey], attribute: str) -> bool:
    """True if a value of the attribute has as many devices as every request wants, in use or not."""
    there = [_values(case, matching_devices(request), attribute) for request in covered]
    values = {value for counted in there for value in counted}
    return any(
        all(counted[value] >= r.wanted for counted, r in zip(there, covered, strict=True))
        for value in values
    )


def _values(case: Case, devices: Iterable[DeviceID], attribute: str) -> Counter[str]:
    """The values of an attribute and how many devices have each; a list counts for each of its values."""
    counted: Counter[str] = Counter()
    for device in devices:
        found = case.devices.attribute(device, attribute)
        if found is not None:
            values = found.value if isinstance(found.value, tuple) else (found.value,)
            counted.update(map(selectors.text_of, values))
    return counted


def _held(request: RequestSurvey) -> list[DeviceID]:
    return [
        loss.device for stage in request.stages if stage.name == "in-use" for loss in stage.lost
    ]


def _covered(survey: Survey, constraint: ConstraintSurvey) -> list[RequestSurvey]:
    return [
        r
        for r in survey.requests
        if r.claim_index == constraint.claim_index and r.request in constraint.requests
    ]


def _types(case: Case, request: RequestSurvey, attribute: str) -> set[str]:
    found = (case.devices.attribute(device, attribute) for device in request.candidates)
    return {str(a.type) for a in found if a is not None}


def conflict_on(case: Case, verdict: NodeVerdict, survey: Survey) -> Conflict | None:
    """The constraint that cannot hold on a node, and what each value of its attribute has."""
    for constraint in survey.constraints:
        if constraint.satisfiable:
            continue
        covered = _covered(survey, constraint)
        free = {
            g.value: {name: len(found) for name, found in g.candidates} for g in constraint.groups
        }
        held = {r.request: _values(case, _held(r), constraint.attribute) for r in covered}
        values = sorted({*free, *(value for counted in held.values() for value in counted)})
        places = tuple(
            ConstraintGroup(
                constraint.attribute,
                value,
                tuple((r.request, free.get(value, {}).get(r.request, 0)) for r in covered),
                tuple(
                    (r.request, free.get(value, {}).get(r.request, 0) + held[r.request][value])
                    for r in covered
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


def matching_devices(request: RequestSurvey) -> list[DeviceID]:
    """The devices that the selectors take, free or not."""
    chosen = [s for s in request.stages if s.name in ("class-selector", "request-selector")]
    return list(chosen[-1].kept if chosen else request.offered)


def _is_list(devices: Devices, device: DeviceID, attribute: str) -> bool:
    found = devices.attribute(device, attribute)
    return found is not None and isinstance(found.value, tuple)
