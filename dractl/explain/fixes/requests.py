"""Fixes in the claim's own requests: count, allocation mode, class, capacity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.cluster.changes import Patch, pointer
from dractl.cluster.state import list_at, map_at
from dractl.explain.fixes.candidates import Candidate, Preference, Slot, Topic

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dractl.explain.answer import Reason
    from dractl.explain.fixes.candidates import Case, Place
    from dractl.model import CapacityRequestPolicy, Quantity

_MOST = 32  # devices of a claim (resource.k8s.io AllocationResultsMaxSize)


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
            yield from _instead_of_all(case, place, claim, request, min(best or wanted, _MOST))
            continue
        top = min(wanted - 1, _MOST)
        tried = [best] if 0 < best < wanted else []
        for count in dict.fromkeys([*tried, *range(top, max(top - 8, 0), -1), 1]):
            if 0 < count < wanted:
                yield Candidate(
                    f"lower count of request {case.called(claim, request)} from {wanted} to {count}",
                    (place.put("count", value=count),),
                    Slot(Topic.COUNT, f"{claim} {request}"),
                    Preference.LESS,
                    degree=wanted - count,
                )


def _instead_of_all(case: Case, place: Place, claim: str, request: str, most: int) -> Iterator[Candidate]:
    for count in dict.fromkeys((most, 1)):
        operations: list[Mapping[str, Any]] = [
            {"op": "replace", "path": pointer(*place.path, "allocationMode"), "value": "ExactCount"},
            {"op": "add", "path": pointer(*place.path, "count"), "value": count},
        ]
        yield Candidate(
            f"ask for {count} device{'s' if count > 1 else ''} instead of All in request {case.called(claim, request)}",
            (Patch(place.target, tuple(operations)),),
            Slot(Topic.ALL_MODE, f"{claim} {request}"),
            Preference.LESS,
        )


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
                selector = {"cel": {"expression": f"device.attributes['{domain}'].{name} == {literal}"}}
                patch = (
                    place.add("selectors", "-", value=selector)
                    if list_at(place.value, "selectors")
                    else place.add("selectors", value=[selector])
                )
                yield Candidate(
                    f"limit request {case.called(survey.claim, survey.request)} to {name} {value}",
                    (patch,),
                    Slot(Topic.ALL_MODE, f"{survey.claim} {survey.request} {name}"),
                    Preference.ADAPT,
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
        elif reason.code == "no-slices-for-driver" and reason is case.first:
            names = [n for n in case.about.classes if case.about.drivers_of(n) & case.about.drivers]
        else:
            continue
        slot = Slot(Topic.CLASS, f"{reason.claim} {reason.request}")
        for position, name in enumerate(names[:4]):
            corrects = reason.nearest is not None and name == reason.nearest
            title = (
                f"change the class of request {case.called(reason.claim, reason.request)} from {reason.device_class} "
                f"to {name}"
            )
            patch = place.put("deviceClassName", value=name)
            preference = Preference.CORRECT if reason.code == "class-missing" else Preference.ADAPT
            yield Candidate(title, (patch,), slot, preference, degree=position, corrects=corrects)
            if list_at(place.value, "selectors") and reason.code != "class-missing":
                removed = {"op": "remove", "path": pointer(*place.path, "selectors")}
                both = Patch(patch.target, (*patch.operations, removed))
                yield Candidate(f"{title}, and remove its selectors", (both,), slot, Preference.DROP)


def _class_takes_none(case: Case, reason: Reason) -> bool:
    """True if no device of the cluster is of the request's class: another class is another kind of device, and what
    somebody may have meant only then."""
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
        name = case.called(claim, request)
        title = f"ask for {amount} of {capacity} instead of the whole device in request {name}"
        if capacity in asked:
            title = f"lower {capacity} of request {name} from {asked[capacity]} to {amount}"
        yield Candidate(
            title,
            (place.put("capacity", "requests", capacity, value=amount),),
            Slot(Topic.CAPACITY, f"{claim} {request} {capacity}"),
            Preference.LESS,
        )
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
            yield Candidate(
                f"remove the capacity from request {case.called(reason.claim, reason.request)}",
                (place.remove("capacity"),),
                Slot(Topic.CAPACITY, f"{reason.claim} {reason.request}"),
                Preference.ADAPT,
                effect="takes a whole device",
            )


def _other_capacity(case: Case, claim: str, request: str, capacity: str) -> Iterator[Candidate]:
    place = case.place(claim, request)
    reason = next((r for r in case.reasons if r.code == "capacity-missing" and r.capacity == capacity), None)
    if place is None:
        return
    slot = Slot(Topic.CAPACITY, f"{claim} {request} {capacity}")
    asked = dict(map_at(place.value, "capacity", "requests"))
    names = [reason.nearest] if reason and reason.nearest else []
    for name in [*names, *(n.rpartition("/")[2] for n in (reason.found if reason else ()))]:
        changed = {(name if n == capacity else n): amount for n, amount in asked.items()}
        yield Candidate(
            f"rename capacity {capacity} of request {case.called(claim, request)} to {name}",
            (place.put("capacity", "requests", value=changed),),
            slot,
            Preference.CORRECT,
        )
    rest = {n: amount for n, amount in asked.items() if n != capacity}
    patch = place.put("capacity", "requests", value=rest) if rest else place.remove("capacity")
    title = f"remove capacity {capacity} from request {case.called(claim, request)}"
    yield Candidate(title, (patch,), slot, Preference.DROP)
