"""Requests that fit alone and not together: constraints, and competition for the same devices."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Any

from dractl.explain import selectors
from dractl.explain.about import texts, who
from dractl.explain.answer import Conflict, Place, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.allocation import DeviceID
    from dractl.allocation.survey import ConstraintSurvey, RequestSurvey, Survey
    from dractl.cluster.devices import Devices
    from dractl.explain.about import About
    from dractl.scheduler.verdict import NodeVerdict


def together(about: About, survey: Survey) -> list[Reason]:
    """Why requests that each find enough devices cannot be had together."""
    reasons = [_constraint(about, survey, c) for c in survey.constraints if not c.satisfiable]
    if reasons:
        return reasons
    requests = [r for r in survey.requests if "/" not in r.request]
    union = {device for r in requests for device in r.candidates}
    wanted = sum(r.wanted for r in requests)
    names = ", ".join(r.request if len({x.claim for x in requests}) == 1 else _claim_name(about, r) for r in requests)
    if len(requests) > 1 and len(union) < wanted and not survey.constraints:
        why = f"requests {names} want {wanted} devices together; the node has {len(union)} that would do"
        taken = [loss.device for r in requests for s in r.stages if s.name == "in-use" for loss in s.lost]
        return [
            Reason(
                "not-enough",
                why,
                want=wanted,
                have=len(union),
                claim=requests[0].claim,
                request=names,
                holders=about.devices.holders(dict.fromkeys(taken)),
            )
        ]
    rivals = _rivals(about, requests)
    if rivals is not None:
        return [rivals]
    if len(requests) == 1:
        why = f"request {names}: one device would fit; {wanted} together do not"
        sets = _shared_counters(about, [[device] for device in requests[0].candidates])
    else:
        why = f"each of the requests {names} alone would fit; together they do not"
        sets = _shared_counters(about, [request.candidates for request in requests])
    if sets:
        told = ", ".join(sets[:3]) + (" …" if len(sets) > 3 else "")
        why += f": their devices draw on the same counters, of {told}"
    constraint = f"{survey.constraints[0].kind} {survey.constraints[0].attribute}" if survey.constraints else None
    code = "constraint-conflict" if constraint else "search-conflict"
    return [Reason(code, why, claim=survey.requests[0].claim, request=names, constraint=constraint)]


def too_many(about: About, survey: Survey) -> Reason | None:
    """Requests that each find devices on the node, and together want more than it has, in use or not."""
    requests = [r for r in survey.requests if "/" not in r.request]
    would_do = [_would_do(r) for r in requests]
    union = list(dict.fromkeys(device for devices in would_do for device in devices))
    wanted = sum(r.wanted for r in requests)
    if len(requests) < 2 or len(union) >= wanted or any(r.mode == "All" for r in requests):
        return None
    if any(len(devices) < r.wanted for r, devices in zip(requests, would_do, strict=True)):
        return None
    if any(d.allow_multiple_allocations for d in map(about.devices.get, union) if d) or _for_admins(about, requests):
        return None
    names = ", ".join(r.request if len({x.claim for x in requests}) == 1 else _claim_name(about, r) for r in requests)
    why = f"requests {names} want {wanted} devices together; the node has {len(union)} that would do"
    return Reason("not-enough", why, want=wanted, have=len(union), claim=requests[0].claim, request=names)


def _for_admins(about: About, requests: Sequence[RequestSurvey]) -> bool:
    """Whether a request does not take its devices away from others."""
    claims = [about.claims.get(r.claim) for r in requests]
    specs = [c.claim.spec.devices for c in claims if c is not None and c.claim is not None]
    return any(r.exactly.admin_access for spec in specs for r in spec.requests if r.exactly is not None)


def _shared_counters(about: About, groups: Sequence[Sequence[DeviceID]]) -> list[str]:
    """The counter sets that devices of two groups consume."""
    drawn: Counter[tuple[str, str, str]] = Counter()
    for group in groups:
        devices = ((where, about.devices.get(where)) for where in group)
        drawn.update(
            {
                (where.driver, where.pool, consumed.counter_set)
                for where, device in devices
                if device is not None
                for consumed in device.consumes_counters
            }
        )
    return sorted({name for (_, _, name), times in drawn.items() if times > 1})


def _rivals(about: About, requests: Sequence[RequestSurvey]) -> Reason | None:
    """Two requests that only the same devices would do for."""
    for one, other in combinations(requests, 2):
        devices = list(dict.fromkeys((*one.candidates, *other.candidates)))
        wanted = one.wanted + other.wanted
        if len(devices) >= wanted or any(d.allow_multiple_allocations for d in map(about.devices.get, devices) if d):
            continue
        names = " and ".join(r.request if one.claim == other.claim else _claim_name(about, r) for r in (one, other))
        told = ", ".join(texts(devices[:3])) + (" …" if len(devices) > 3 else "")
        why = f"requests {names} want {wanted} devices, and would both have to take them from {told}"
        where = about.where(other)
        return Reason(
            "device-in-use-same-pod",
            why,
            devices=texts(devices),
            want=wanted,
            have=len(devices),
            **{**where, "request": names},
        )
    return None


def _claim_name(about: About, request: RequestSurvey) -> str:
    claim = about.claims.get(request.claim)
    return f"{claim.name or claim.key[1]}/{request.request}" if claim is not None else request.request


def _constraint(about: About, survey: Survey, constraint: ConstraintSurvey) -> Reason:
    names = ", ".join(constraint.requests)
    text = f"{constraint.kind} {constraint.attribute}"
    covered = [
        r for r in survey.requests if r.claim_index == constraint.claim_index and r.request in constraint.requests
    ]
    claim = about.claims.get(constraint.claim)
    where: dict[str, Any] = {
        "pod_claim": claim.name or None if claim else None,
        "claim": constraint.claim,
        "request": names,
    }
    types = {r.request: _types(about, r, constraint.attribute) for r in covered}
    kinds = {kind for kinds in types.values() for kind in kinds}
    short = constraint.attribute.rpartition("/")[2]
    if len(kinds) > 1 and constraint.kind == "matchAttribute":
        told = ", ".join(f"{request}: {'/'.join(sorted(kinds))}" for request, kinds in types.items())
        lists = sorted(k for k in kinds if k.endswith("s"))
        gate = "DRAListTypeAttributes" if lists and "DRAListTypeAttributes" not in about.judge.features.on else None
        why = f"{text} over {names}: the devices publish {short} with different types ({told})"
        if gate:
            why += f"; lists are matched only with the feature gate {gate}"
        driver = next(
            (d.driver for r in covered for d in r.candidates if _is_list(about.devices, d, constraint.attribute)),
            None,
        )
        return Reason(
            "attr-type",
            why,
            constraint=text,
            attribute=constraint.attribute,
            gate=gate,
            driver=driver,
            found=tuple(sorted(kinds)),
            **where,
        )
    if constraint.kind == "distinctAttribute":
        wanted = sum(r.wanted for r in covered)
        why = f"{text} over {names}: {wanted} different values wanted, there are {len(constraint.groups)}"
        return Reason(
            "constraint-conflict",
            why,
            constraint=text,
            attribute=constraint.attribute,
            want=wanted,
            have=len(constraint.groups),
            found=tuple(g.value for g in constraint.groups),
            **where,
        )
    held = [loss.device for r in covered for s in r.stages if s.name == "in-use" for loss in s.lost]
    wants = " and ".join(f"{r.wanted} {r.request}" for r in covered) or names
    why = f"no {short} has {wants} that are free" if held else f"no {short} has {wants}"
    holders = about.devices.holders(dict.fromkeys(held))
    if holders:
        why += f"; held by {who(holders)}"
    return Reason(
        "constraint-conflict",
        why,
        constraint=text,
        attribute=constraint.attribute,
        holders=holders,
        devices=texts(held),
        found=tuple(g.value for g in constraint.groups),
        **where,
    )


def _types(about: About, request: RequestSurvey, attribute: str) -> set[str]:
    found = (about.devices.attribute(device, attribute) for device in request.candidates)
    return {str(a.type) for a in found if a is not None}


def conflict_on(about: About, verdict: NodeVerdict, survey: Survey) -> Conflict | None:
    """The constraint that cannot hold on a node, and what each value of its attribute has."""
    for constraint in survey.constraints:
        if constraint.satisfiable:
            continue
        covered = [
            r for r in survey.requests if r.claim_index == constraint.claim_index and r.request in constraint.requests
        ]
        everything = {r.request: _would_do(r) for r in covered}
        values: dict[str, None] = dict.fromkeys(g.value for g in constraint.groups)
        total: dict[str, Counter[str]] = {}
        for request, devices in everything.items():
            for device in devices:
                attribute = about.devices.attribute(device, constraint.attribute)
                if attribute is not None:
                    value = selectors.text_of(attribute.value)
                    values[value] = None
                    total.setdefault(value, Counter())[request] += 1
        free = {g.value: {name: len(found) for name, found in g.candidates} for g in constraint.groups}
        places = tuple(
            Place(
                constraint.attribute,
                value,
                tuple((r.request, free.get(value, {}).get(r.request, 0)) for r in covered),
                tuple((r.request, total.get(value, Counter())[r.request]) for r in covered),
            )
            for value in sorted(values)
        )
        return Conflict(verdict.name, constraint.requests, (f"{constraint.kind} {constraint.attribute}",), places)
    return None


def _would_do(request: RequestSurvey) -> list[DeviceID]:
    """The devices that the selectors take, free or not."""
    chosen = [s for s in request.stages if s.name in ("class-selector", "request-selector")]
    return list(chosen[-1].kept if chosen else request.offered)


def _is_list(devices: Devices, device: DeviceID, attribute: str) -> bool:
    found = devices.attribute(device, attribute)
    return found is not None and isinstance(found.value, tuple)
