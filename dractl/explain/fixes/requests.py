"""Fixes in the claim's own requests: count, allocation mode, toleration, class, capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.cluster.changes import Patch, pointer
from dractl.cluster.state import list_at, map_at
from dractl.explain.fixes.candidates import Candidate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dractl.explain.answer import Reason
    from dractl.explain.fixes.candidates import Case, Place
    from dractl.model import CapacityRequestPolicy, Quantity


def counts(case: Case) -> Iterator[Candidate]:
    """Fewer devices: the largest number that fits."""
    seen: dict[tuple[str, str], tuple[int, int]] = {}
    for _, survey in case.requests():
        key = (survey.claim, survey.request)
        wanted, best = seen.get(key, (survey.wanted, 0))
        seen[key] = (max(wanted, survey.wanted), max(best, len(survey.candidates)))
    for (claim, request), (wanted, best) in seen.items():
        place = case.place(claim, request)
        if place is None:
            continue
        if place.value.get("allocationMode") == "All":
            yield from _instead_of_all(place, claim, request, min(best or wanted, 32))
            continue
        top = min(wanted - 1, 32)
        tried = [best] if 0 < best < wanted else []
        for count in dict.fromkeys([*tried, *range(top, max(top - 8, 0), -1), 1]):
            if 0 < count < wanted:
                title = f"request {request}: count {wanted} → {count}"
                yield Candidate(
                    title, (place.replace("count", value=count),), f"count {claim} {request}", order=wanted - count
                )


def _instead_of_all(place: Place, claim: str, request: str, most: int) -> Iterator[Candidate]:
    for count in dict.fromkeys((most, 1)):
        operations: list[Mapping[str, Any]] = [
            {"op": "replace", "path": pointer(*place.path, "allocationMode"), "value": "ExactCount"},
            {"op": "add", "path": pointer(*place.path, "count"), "value": count},
        ]
        title = f"request {request}: {count} device{'s' if count > 1 else ''} instead of All"
        yield Candidate(title, (Patch(place.target, tuple(operations)),), f"all {claim} {request}")


def narrower_all(case: Case) -> Iterator[Candidate]:
    """All devices of one NUMA node, or one PCIe root, instead of all of the node."""
    for verdict, survey in case.requests():
        place = case.place(survey.claim, survey.request)
        if place is None or survey.mode != "All":
            continue
        chosen = [s for s in survey.stages if s.name in ("class-selector", "request-selector")]
        matching = chosen[-1].kept if chosen else survey.offered
        for attribute in ("resource.kubernetes.io/numaNode", "resource.kubernetes.io/pcieRoot"):
            domain, _, name = attribute.partition("/")
            values = [case.devices.attribute(device, attribute) for device in matching]
            if not values or any(v is None or v.type not in ("int", "string") for v in values):
                continue
            for value in sorted({v.value for v in values if v is not None}, key=str)[:4]:
                literal = str(value) if isinstance(value, int) else f"'{value}'"
                expression = f"device.attributes['{domain}'].{name} == {literal}"
                selector = {"cel": {"expression": expression}}
                patch = (
                    place.add("selectors", "-", value=selector)
                    if list_at(place.value, "selectors")
                    else place.add("selectors", value=[selector])
                )
                yield Candidate(
                    f"request {survey.request}: only {name} {value}",
                    (patch,),
                    f"narrow {survey.claim} {survey.request} {name}",
                    effect=f"on {verdict.name}",
                )


def classes(case: Case) -> Iterator[Candidate]:
    """Another class: the one that was probably meant, or another one of the same driver."""
    for reason in case.reasons:
        place = case.place(reason.claim, reason.request)
        if place is None or reason.device_class is None:
            continue
        if reason.code == "class-missing":
            names = [reason.nearest] if reason.nearest else list(reason.found)
        elif reason.code == "selector-false" and _class_takes_none(case, reason):
            drivers = case.about.drivers_of(reason.device_class)
            names = [n for n in case.about.classes if n != reason.device_class and case.about.drivers_of(n) & drivers]
        else:
            continue
        for position, name in enumerate(names[:4]):
            title = f"request {reason.request}: class {reason.device_class} → {name}"
            patch = place.replace("deviceClassName", value=name)
            yield Candidate(
                title,
                (patch,),
                f"class {reason.claim} {reason.request}",
                order=position + (reason.code != "class-missing") * 3,
                corrects=reason.nearest is not None and name == reason.nearest,
            )
            if list_at(place.value, "selectors") and reason.code != "class-missing":
                both = Patch(
                    patch.target, (*patch.operations, {"op": "remove", "path": pointer(*place.path, "selectors")})
                )
                yield Candidate(f"{title}, without its selectors", (both,), f"class {reason.claim} {reason.request}")


def _class_takes_none(case: Case, reason: Reason) -> bool:
    """Whether no device of the cluster is of the request's class: another class is another sort of device, and only
    then what somebody may have meant."""
    if case.first.request != reason.request or case.first.code != "selector-false":
        return False
    stages = (s for _, r in case.requests() if (r.claim, r.request) == (reason.claim, reason.request) for s in r.stages)
    return not any(stage.kept for stage in stages if stage.name == "class-selector")


def capacities(case: Case) -> Iterator[Candidate]:
    """The amount that is free, or the capacity's right name."""
    best: dict[tuple[str, str, str], tuple[int, str]] = {}
    missing: dict[tuple[str, str, str], str] = {}
    from dractl.model import Quantity

    for _, survey in case.requests():
        for stage in survey.stages:
            for loss in stage.lost:
                if loss.capacity is None:
                    continue
                key = (survey.claim, survey.request, loss.capacity)
                if loss.code == "capacity-policy":
                    most = _most_allowed(case.about.policy(loss.device, loss.capacity))
                    if most is not None:
                        best[key] = max(best.get(key, (0, "")), (most.milli_value(), str(most)))
                elif loss.code == "capacity-missing":
                    missing.setdefault(key, "")
                elif loss.free is not None:
                    free = Quantity.parse(loss.free)
                    if free.sign() > 0:
                        best[key] = max(best.get(key, (0, "")), (free.milli_value(), loss.free))
    for (claim, request, capacity), (_, amount) in best.items():
        place = case.place(claim, request)
        if place is None:
            continue
        asked = map_at(place.value, "capacity", "requests")
        if capacity in asked:
            title = f"request {request}: {capacity} {asked[capacity]} → {amount}"
            patch = place.replace("capacity", "requests", capacity, value=amount)
        else:
            title = f"request {request}: ask for {amount} of {capacity} instead of the whole"
            patch = place.add("capacity", value={"requests": {**asked, capacity: amount}})
        yield Candidate(title, (patch,), f"capacity {claim} {request} {capacity}")
    for claim, request, capacity in missing:
        yield from _other_capacity(case, claim, request, capacity)


def _most_allowed(policy: CapacityRequestPolicy | None) -> Quantity | None:
    """The largest amount that a request policy allows; None where it names none."""
    if policy is None:
        return None
    from dractl.model import Quantity

    bounds = policy.valid_range
    if bounds is None or bounds.max is None:
        return max(policy.valid_values, default=None)
    if bounds.min is None or bounds.step is None:
        return bounds.max
    least, step = bounds.min.milli_value(), bounds.step.milli_value()
    beyond = (bounds.max.milli_value() - least) % step if step else 0
    return bounds.max - Quantity(beyond, -3, bounds.max.format)


def without_gate(case: Case) -> Iterator[Candidate]:
    """A request without the capacity that the scheduler does not understand: it takes a whole device then."""
    for reason in case.reasons:
        place = case.place(reason.claim, reason.request) if reason.gate == "DRAConsumableCapacity" else None
        if place is not None and "capacity" in place.value:
            title = f"request {reason.request}: a whole device, without capacity requests"
            yield Candidate(title, (place.remove("capacity"),), f"whole {reason.claim} {reason.request}")


def _other_capacity(case: Case, claim: str, request: str, capacity: str) -> Iterator[Candidate]:
    place = case.place(claim, request)
    reason = next((r for r in case.reasons if r.code == "capacity-missing" and r.capacity == capacity), None)
    if place is None:
        return
    asked = dict(map_at(place.value, "capacity", "requests"))
    names = [reason.nearest] if reason and reason.nearest else []
    for name in [*names, *(n.rpartition("/")[2] for n in (reason.found if reason else ()))]:
        changed = {(name if n == capacity else n): amount for n, amount in asked.items()}
        patch = place.replace("capacity", "requests", value=changed)
        yield Candidate(
            f"request {request}: capacity {capacity} → {name}",
            (patch,),
            f"capacity {claim} {request} {capacity}",
        )
    rest = {n: amount for n, amount in asked.items() if n != capacity}
    patch = place.replace("capacity", "requests", value=rest) if rest else place.remove("capacity")
    yield Candidate(
        f"request {request}: without capacity {capacity}", (patch,), f"capacity {claim} {request} {capacity}", order=5
    )
