"""Fixes in the claim's own requests: count, allocation mode, class, capacity."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from dractl.cluster.changes import Patch, pointer
from dractl.explain.diagnosis.combinations import devices_that_match
from dractl.explain.fixes.candidates import (
    Candidate,
    EditablePart,
    FixProblem,
    FixSlot,
    Topic,
    fix_for,
    fix_once_for,
)
from dractl.explain.fixes.edits import remove, replace
from dractl.explain.fixes.preference import Preference
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.capacity import CapacityMissing
from dractl.explain.reasons.limits import ClassMissing, GateOff
from dractl.explain.reasons.pools import NoSlicesForDriver
from dractl.explain.reasons.selectors import SelectorFalse
from dractl.explain.reasons.workloads import OwnReplicas
from dractl.model import CapacityRequestPolicy, Quantity
from dractl.model.names import RequestRef
from dractl.objects import Request

_MAX_AMOUNTS = 4  # of one capacity that are tried
_MAX_DEVICES_PER_CLAIM = 32  # devices of a claim (resource.k8s.io AllocationResultsMaxSize)


@fix_once_for(Cause)
def lower_counts(problem: FixProblem) -> Iterator[Candidate]:
    """Fewer devices: the largest number that fits."""
    seen: dict[RequestRef, tuple[int, int]] = {}
    for _, survey in problem.requests():
        wanted, best = seen.get(survey.ref, (survey.wanted, 0))
        seen[survey.ref] = (max(wanted, survey.wanted), max(best, len(survey.candidates)))
    # Of equal replicas none wants to be the one with less.
    alike = any(isinstance(cause, OwnReplicas) for cause in problem.causes)
    for ref, (wanted, best) in seen.items():
        written = problem.editable_request(ref)
        if written is None:
            continue
        if written.part.takes_all:
            yield from _replace_all_mode(
                problem, written, ref, min(best or wanted, _MAX_DEVICES_PER_CLAIM)
            )
            continue
        top = min(wanted - 1, _MAX_DEVICES_PER_CLAIM)
        tried = [best] if 0 < best < wanted else []
        for count in dict.fromkeys([*tried, *range(top, max(top - 8, 0), -1), 1]):
            if 0 < count < wanted:
                yield Candidate(
                    f"lower count of {problem.request_name(ref)} from {wanted} to {count}",
                    (written.put("count", value=count),),
                    FixSlot(Topic.COUNT, repr(ref)),
                    Preference.ADAPT if alike else Preference.LESS,
                    degree=wanted - count,
                    superseded_by=(shared_count_slot(ref),) if alike else (),
                )


def shared_count_slot(ref: RequestRef) -> FixSlot:
    """The slot of fixes that lower a count in all replicas of a workload."""
    return FixSlot(Topic.COUNT, f"{ref!r} all")


def _replace_all_mode(
    problem: FixProblem, written: EditablePart[Request], ref: RequestRef, most: int
) -> Iterator[Candidate]:
    for count in dict.fromkeys((*range(most, max(most - 8, 0), -1), 1)) if most else ():
        operations: list[Mapping[str, Any]] = [
            replace((*written.part.path, "allocationMode"), "ExactCount"),
            {"op": "add", "path": pointer(*written.part.path, "count"), "value": count},
        ]
        yield Candidate(
            f"ask for {count} device{'s' if count > 1 else ''} instead of All in {problem.request_name(ref)}",
            (Patch(written.target, tuple(operations)),),
            FixSlot(Topic.ALL_MODE, repr(ref)),
            Preference.LESS,
            degree=most - count,
        )


@fix_once_for(Cause)
def narrow_all_mode(problem: FixProblem) -> Iterator[Candidate]:
    """All devices of one NUMA node, or one PCIe root, instead of all of the node."""
    for _, survey in problem.requests():
        written = problem.editable_request(survey.ref)
        if written is None or survey.mode != "All":
            continue
        for attribute in ("resource.kubernetes.io/numaNode", "resource.kubernetes.io/pcieRoot"):
            domain, _, name = attribute.partition("/")
            values = [
                problem.case.devices.attribute(device, attribute)
                for device in devices_that_match(survey)
            ]
            if not values or any(v is None or v.type not in ("int", "string") for v in values):
                continue
            there = Counter(v.value for v in values if v is not None)
            for value in sorted((value for value in there if there[value] > 1), key=str)[:4]:
                literal = str(value) if isinstance(value, int) else f"'{value}'"
                selector = {
                    "cel": {"expression": f"device.attributes['{domain}'].{name} == {literal}"}
                }
                patch = (
                    written.add("selectors", "-", value=selector)
                    if written.part.selectors
                    else written.add("selectors", value=[selector])
                )
                yield Candidate(
                    f"limit {problem.request_name(survey.ref)} to {name} {value}",
                    (patch,),
                    FixSlot(Topic.ALL_MODE, f"{survey.ref!r} {name}"),
                    Preference.RELAX,
                )


@fix_for(ClassMissing, SelectorFalse, NoSlicesForDriver)
def change_class(
    problem: FixProblem, cause: ClassMissing | SelectorFalse | NoSlicesForDriver
) -> Iterator[Candidate]:
    """Another class: the one that was probably meant, or one of which there are devices."""
    written = problem.editable_request(cause.request)
    if written is None or cause.device_class is None or cause.request is None:
        return
    classes, drivers = problem.case.classes, problem.case.drivers_of
    meant = None
    if isinstance(cause, ClassMissing):
        meant = cause.nearest
        names = (
            [meant] if meant else [n for n in cause.known if _is_plausible_class(problem, cause, n)]
        )
    elif cause is not problem.headline_cause:
        return
    elif isinstance(cause, SelectorFalse):
        same = drivers(cause.device_class)
        wanted = _class_is_empty(problem, cause)
        names = (
            [n for n in classes if n != cause.device_class and drivers(n) & same] if wanted else []
        )
    else:
        names = [n for n in classes if drivers(n) & problem.case.drivers]
    slot = FixSlot(Topic.CLASS, repr(cause.request))
    missing = isinstance(cause, ClassMissing)
    for position, name in enumerate(names[:4]):
        title = f"change the class of {problem.request_name(cause.request)} from {cause.device_class} to {name}"
        patch = written.put("deviceClassName", value=name)
        preference = Preference.CORRECT if name == meant else Preference.ADAPT
        yield Candidate(title, (patch,), slot, preference, degree=position, corrects=name == meant)
        if written.part.selectors and not missing:
            removed = remove(*written.part.path, "selectors")
            both = Patch(patch.target, (*patch.operations, removed))
            yield Candidate(f"{title}, and remove its selectors", (both,), slot, Preference.DROP)


_COMMON_WORDS = {"com", "org", "io", "net", "ai", "dev", "example", "k8s", "class"}


def _is_plausible_class(problem: FixProblem, cause: ClassMissing, name: str) -> bool:
    """True if a class may be meant by a missing one: it is of the driver that installs that, or both names share a word
    that says what they are of (``gpu.amd.com`` and ``gpu.nvidia.com``)."""
    if cause.driver or len(cause.known) == 1:
        return not cause.driver or cause.driver in problem.case.drivers_of(name)
    first, second = (
        set(re.findall(r"[a-z0-9]+", text.lower())) - _COMMON_WORDS
        for text in (cause.device_class or "", name)
    )
    return bool(first & second)


def _class_is_empty(problem: FixProblem, cause: SelectorFalse) -> bool:
    """True if no device of the cluster is of the request's class: only then may another class, which is another kind of
    device, be what was meant."""
    stages = (s for _, r in problem.requests() if r.ref == cause.request for s in r.stages)
    return not any(stage.kept for stage in stages if stage.name == "class-selector")


@fix_once_for(Cause)
def lower_capacities(problem: FixProblem) -> Iterator[Candidate]:
    """The amount that is free, or that the devices' policy allows."""
    found: dict[tuple[RequestRef, str], dict[str, Quantity]] = {}
    for _, survey in problem.requests():
        for loss in (loss for stage in survey.stages for loss in stage.lost):
            if loss.capacity is None or loss.code == "capacity-missing":
                continue
            policy = problem.case.policy(loss.device, loss.capacity)
            limits = [None if loss.free is None else Quantity.parse(loss.free)]
            limits += [None] if loss.code == "capacity-policy" else []
            for most in (_largest_allowed(policy, limit) for limit in dict.fromkeys(limits)):
                if most is not None and most.sign() > 0:
                    found.setdefault((survey.ref, loss.capacity), {})[str(most)] = most
    for (ref, capacity), amounts in found.items():
        written = problem.editable_request(ref)
        if written is None:
            continue
        asked = written.part.capacity
        for degree, amount in enumerate(
            sorted(amounts, key=lambda text: amounts[text], reverse=True)[:_MAX_AMOUNTS]
        ):
            title = f"ask for {amount} of {capacity} instead of the whole device in {problem.request_name(ref)}"
            if capacity in asked:
                title = f"lower {capacity} of {problem.request_name(ref)} from {asked[capacity]} to {amount}"
            yield Candidate(
                title,
                (written.put("capacity", "requests", capacity, value=amount),),
                FixSlot(Topic.CAPACITY, f"{ref!r} {capacity}"),
                Preference.LESS,
                degree=degree,
            )


@fix_for(CapacityMissing)
def fix_capacity_name(problem: FixProblem, cause: CapacityMissing) -> Iterator[Candidate]:
    """The capacity's right name, or a request without it."""
    written = problem.editable_request(cause.request)
    if written is None or cause.request is None:
        return
    slot = FixSlot(Topic.CAPACITY, f"{cause.request!r} {cause.capacity}")
    called = problem.request_name(cause.request)
    asked = dict(written.part.capacity)
    if cause.nearest is not None:
        changed = {
            (cause.nearest if n == cause.capacity else n): amount for n, amount in asked.items()
        }
        yield Candidate(
            f"rename capacity {cause.capacity} of {called} to {cause.nearest}",
            (written.put("capacity", "requests", value=changed),),
            slot,
            Preference.CORRECT,
        )
    rest = {n: amount for n, amount in asked.items() if n != cause.capacity}
    patch = written.put("capacity", "requests", value=rest) if rest else written.remove("capacity")
    yield Candidate(
        f"remove capacity {cause.capacity} from {called}", (patch,), slot, Preference.DROP
    )


@fix_for(GateOff)
def remove_gated_capacity(problem: FixProblem, cause: GateOff) -> Iterator[Candidate]:
    """A request without the capacity that the scheduler does not understand: it takes a whole device then."""
    written = (
        problem.editable_request(cause.request) if cause.gate == "DRAConsumableCapacity" else None
    )
    if written is not None and cause.request is not None and "capacity" in written.part.fields:
        yield Candidate(
            f"remove the capacity from {problem.request_name(cause.request)}",
            (written.remove("capacity"),),
            FixSlot(Topic.CAPACITY, repr(cause.request)),
            Preference.ADAPT,
            effect="takes a whole device",
        )


def _largest_allowed(
    policy: CapacityRequestPolicy | None, most: Quantity | None
) -> Quantity | None:
    """The largest amount up to ``most`` that a request policy allows; None where it allows none, or names no bound."""
    if policy is None or (policy.valid_range is None and not policy.valid_values):
        return most
    bounds = policy.valid_range
    if bounds is None:
        return max(
            (value for value in policy.valid_values if most is None or value <= most), default=None
        )
    top = min((q for q in (bounds.max, most) if q is not None), default=None)
    if top is None or bounds.min is None or bounds.step is None:
        return top
    least, step = bounds.min.milli_value(), bounds.step.milli_value()
    beyond = (top.milli_value() - least) % step if step else 0
    found = top - Quantity(beyond, -3, top.format)
    return found if found >= bounds.min else None
