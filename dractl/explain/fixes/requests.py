"""Change the requests of a claim: count, allocation mode, class, capacity."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dractl.allocation import RequestSurvey
from dractl.cluster.changes import Patch, pointer
from dractl.explain.diagnosis.combinations import devices_that_match
from dractl.explain.fixes.candidates import Candidate, FixSlot, Topic
from dractl.explain.fixes.edits import remove, replace
from dractl.explain.fixes.makers import fix_for, fix_once_for
from dractl.explain.fixes.preference import Preference
from dractl.explain.fixes.problem import EditablePart, FixProblem
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.capacity import CapacityMissing
from dractl.explain.reasons.limits import ClassMissing, GateOff
from dractl.explain.reasons.pools import NoSlicesForDriver
from dractl.explain.reasons.selectors import SelectorFalse
from dractl.explain.reasons.workloads import OwnReplicas
from dractl.model import CapacityRequestPolicy, Quantity
from dractl.model.names import RequestRef
from dractl.objects import Request

_MAX_AMOUNTS = 4  # maximum number of amounts that are tried for one capacity
_MAX_COUNTS = 8  # the number of consecutive counts that are tried
_MAX_VALUES = 4  # the maximum number of an attribute's values to which a request is limited
_MAX_CLASSES = 4  # the maximum number of classes that are tried in place of another one
_MAX_DEVICES_PER_CLAIM = 32  # resource.k8s.io AllocationResultsMaxSize


@fix_once_for(Cause)
def lower_counts(problem: FixProblem) -> Iterator[Candidate]:
    """Lower the number of devices: the largest that fits is tried first."""
    wanted: dict[RequestRef, int] = {}
    free: dict[RequestRef, int] = {}
    for survey in problem.case.refusing.values():
        for request in survey.requests:
            most = problem.case.count_devices(survey, request)
            wanted[request.ref] = max(wanted.get(request.ref, 0), request.wanted)
            free[request.ref] = max(free.get(request.ref, 0), most)
    for ref, count in wanted.items():
        editable = problem.editable_request(ref)
        if editable is not None and editable.part.takes_all:
            yield from _replace_all_mode(problem, editable, ref, free[ref] or count)
        elif editable is not None:
            yield from _lower_count(problem, editable, ref, count, min(free[ref], count - 1))


def _lower_count(
    problem: FixProblem, editable: EditablePart[Request], ref: RequestRef, wanted: int, largest: int
) -> Iterator[Candidate]:
    """Lower a count to the devices that a node may give, or to the next smaller numbers."""
    is_replica = any(isinstance(cause, OwnReplicas) for cause in problem.causes)
    for count in _counts_to_try(largest):
        yield Candidate(
            f"lower count of {problem.request_name(ref)} from {wanted} to {count}",
            (editable.put(("count",), count),),
            FixSlot(Topic.COUNT, repr(ref)),
            # Equal replicas should get the same, so lowering the count of all comes first.
            Preference.ADAPT if is_replica else Preference.LESS,
            degree=wanted - count,
            superseded_by=(replica_count_slot(ref),) if is_replica else (),
        )


def _counts_to_try(largest: int) -> list[int]:
    """Return the largest counts, and 1; none if not even one device is free."""
    largest = min(largest, _MAX_DEVICES_PER_CLAIM)
    return [n for n in range(largest, 0, -1) if n > largest - _MAX_COUNTS or n == 1]


def replica_count_slot(ref: RequestRef) -> FixSlot:
    """Return the slot of fixes that lower a count in all replicas of a workload."""
    return FixSlot(Topic.COUNT, f"{ref!r} all")


def _replace_all_mode(
    problem: FixProblem, editable: EditablePart[Request], ref: RequestRef, largest: int
) -> Iterator[Candidate]:
    """Ask for a number of devices instead of all."""
    path = editable.part.path
    for count in _counts_to_try(largest):
        mode = replace((*path, "allocationMode"), "ExactCount")
        addition = {"op": "add", "path": pointer(*path, "count"), "value": count}
        noun = "devices" if count > 1 else "device"
        yield Candidate(
            f"ask for {count} {noun} instead of All in {problem.request_name(ref)}",
            (Patch(editable.target, (mode, addition)),),
            FixSlot(Topic.ALL_MODE, repr(ref)),
            Preference.LESS,
            degree=largest - count,
        )


@fix_once_for(Cause)
def narrow_all_mode(problem: FixProblem) -> Iterator[Candidate]:
    """Ask for all devices of one NUMA node or PCIe root instead of all devices of the node."""
    for _, survey in problem.requests():
        editable = problem.editable_request(survey.ref) if survey.mode == "All" else None
        if editable is None:
            continue
        for attribute in ("resource.kubernetes.io/numaNode", "resource.kubernetes.io/pcieRoot"):
            domain, _, name = attribute.partition("/")
            for value in _list_shared_values(problem, survey, attribute)[:_MAX_VALUES]:
                literal = str(value) if isinstance(value, int) else f"'{value}'"
                expression = f"device.attributes['{domain}'].{name} == {literal}"
                yield Candidate(
                    f"limit {problem.request_name(survey.ref)} to {name} {value}",
                    (editable.append(("selectors",), {"cel": {"expression": expression}}),),
                    FixSlot(Topic.ALL_MODE, f"{survey.ref!r} {name}"),
                    Preference.RELAX,
                )


def _list_shared_values(
    problem: FixProblem, survey: RequestSurvey, attribute: str
) -> list[int | str]:
    """Return the values that several devices share; none unless every device has a value."""
    attributes = [
        problem.case.devices.attribute(device, attribute) for device in devices_that_match(survey)
    ]
    values: list[Any] = [
        attribute.value
        for attribute in attributes
        if attribute is not None and attribute.type in ("int", "string")
    ]
    if len(values) < len(attributes):
        return []
    return sorted((value for value, count in Counter(values).items() if count > 1), key=str)


@fix_for(ClassMissing, SelectorFalse, NoSlicesForDriver)
def change_class(
    problem: FixProblem, cause: ClassMissing | SelectorFalse | NoSlicesForDriver
) -> Iterator[Candidate]:
    """Change the class to the one that was probably meant, or to one that has devices."""
    editable = problem.editable_request(cause.request)
    if editable is None or cause.device_class is None or cause.request is None:
        return
    is_missing = isinstance(cause, ClassMissing)
    intended = cause.nearest if isinstance(cause, ClassMissing) else None
    names = [intended] if intended else _list_other_classes(problem, cause)
    request, slot = problem.request_name(cause.request), FixSlot(Topic.CLASS, repr(cause.request))
    for position, name in enumerate(names[:_MAX_CLASSES]):
        title = f"change the class of {request} from {cause.device_class} to {name}"
        patch = editable.put(("deviceClassName",), name)
        corrects = name == intended
        preference = Preference.CORRECT if corrects else Preference.ADAPT
        yield Candidate(title, (patch,), slot, preference, degree=position, corrects=corrects)
        if editable.part.selectors and not is_missing:
            removal = remove((*editable.part.path, "selectors"))
            both = Patch(patch.target, (*patch.operations, removal))
            yield Candidate(f"{title}, and remove its selectors", (both,), slot, Preference.DROP)


def _list_other_classes(
    problem: FixProblem, cause: ClassMissing | SelectorFalse | NoSlicesForDriver
) -> list[str]:
    """Return the classes that may take the place of the request's class."""
    if isinstance(cause, ClassMissing):
        return [name for name in cause.classes if _is_plausible_class(cause, name)]
    if cause is not problem.headline_cause:
        return []
    classes, drivers_of = problem.case.classes, problem.case.drivers_of
    if not isinstance(cause, SelectorFalse):
        return [name for name in classes if drivers_of(name) & problem.case.drivers]
    if not _class_is_empty(problem, cause):
        return []
    drivers = drivers_of(cause.device_class or "")
    return [name for name in classes if name != cause.device_class and drivers_of(name) & drivers]


_COMMON_WORDS = {"com", "org", "io", "net", "ai", "dev", "example", "k8s", "class"}


def _is_plausible_class(cause: ClassMissing, name: str) -> bool:
    """Return whether the user may have meant this class when naming a missing one.

    If a driver installs the missing class, only classes that others made for the driver are
    plausible: its own (``gpu.nvidia.com``, ``mig.nvidia.com``) are for different devices. Otherwise
    a class is plausible if it is the only one, or shares a distinctive word.
    """
    if cause.driver:
        return name in cause.substitutes
    return len(cause.classes) == 1 or bool(
        _distinctive_words(cause.device_class or "") & _distinctive_words(name)
    )


def _distinctive_words(name: str) -> set[str]:
    """Return the words of a class's name that distinguish it from the names of other classes."""
    return set(re.findall(r"[a-z0-9]+", name.lower())) - _COMMON_WORDS


def _class_is_empty(problem: FixProblem, cause: SelectorFalse) -> bool:
    """Return whether no device of the cluster belongs to the request's class.

    If some device does, the user hardly meant another class, which is for other devices.
    """
    return not any(
        stage.kept
        for _, survey in problem.requests()
        if survey.ref == cause.request
        for stage in survey.stages
        if stage.name == "class-selector"
    )


@fix_once_for(Cause)
def lower_capacities(problem: FixProblem) -> Iterator[Candidate]:
    """Lower an amount to the free capacity, or to an amount that the devices' policy allows."""
    for (ref, capacity), amounts in _list_amounts(problem).items():
        editable = problem.editable_request(ref)
        if editable is None:
            continue
        request, current = problem.request_name(ref), editable.part.capacity.get(capacity)
        largest_first = sorted(amounts, key=lambda text: amounts[text], reverse=True)
        for degree, amount in enumerate(largest_first[:_MAX_AMOUNTS]):
            title = f"ask for {amount} of {capacity} instead of the whole device in {request}"
            if capacity in editable.part.capacity:
                title = f"lower {capacity} of {request} from {current} to {amount}"
            yield Candidate(
                title,
                (editable.put(("capacity", "requests", capacity), amount),),
                FixSlot(Topic.CAPACITY, f"{ref!r} {capacity}"),
                Preference.LESS,
                degree=degree,
            )


def _list_amounts(problem: FixProblem) -> dict[tuple[RequestRef, str], dict[str, Quantity]]:
    """Return the amounts that requests could ask for instead, by request and capacity."""
    amounts: dict[tuple[RequestRef, str], dict[str, Quantity]] = {}
    for _, survey in problem.requests():
        for loss in (loss for stage in survey.stages for loss in stage.lost):
            if loss.capacity is None or loss.code == "capacity-missing":
                continue
            policy = problem.case.policy(loss.device, loss.capacity)
            limits = [None if loss.free is None else Quantity.parse(loss.free)]
            limits += [None] if loss.code == "capacity-policy" else []
            for limit in dict.fromkeys(limits):
                amount = _largest_allowed(policy, limit)
                if amount is not None and amount.sign() > 0:
                    amounts.setdefault((survey.ref, loss.capacity), {})[str(amount)] = amount
    return amounts


@fix_for(CapacityMissing)
def fix_capacity_name(problem: FixProblem, cause: CapacityMissing) -> Iterator[Candidate]:
    """Correct the name of a capacity, or remove it from the request."""
    editable = problem.editable_request(cause.request)
    if editable is None or cause.request is None:
        return
    slot = FixSlot(Topic.CAPACITY, f"{cause.request!r} {cause.capacity}")
    request = problem.request_name(cause.request)
    amounts = dict(editable.part.capacity)
    if cause.nearest is not None:
        renamed = {
            (cause.nearest if name == cause.capacity else name): amount
            for name, amount in amounts.items()
        }
        yield Candidate(
            f"rename capacity {cause.capacity} of {request} to {cause.nearest}",
            (editable.put(("capacity", "requests"), renamed),),
            slot,
            Preference.CORRECT,
        )
    others = {name: amount for name, amount in amounts.items() if name != cause.capacity}
    if others:
        patch = editable.put(("capacity", "requests"), others)
    else:
        patch = editable.remove(("capacity",))
    title = f"remove capacity {cause.capacity} from {request}"
    yield Candidate(title, (patch,), slot, Preference.DROP)


@fix_for(GateOff)
def remove_gated_capacity(problem: FixProblem, cause: GateOff) -> Iterator[Candidate]:
    """Remove a capacity that the scheduler does not understand, so that it gives a whole device."""
    if cause.gate != "DRAConsumableCapacity" or cause.request is None:
        return
    editable = problem.editable_request(cause.request)
    if editable is not None and "capacity" in editable.part.fields:
        yield Candidate(
            f"remove the capacity from {problem.request_name(cause.request)}",
            (editable.remove(("capacity",)),),
            FixSlot(Topic.CAPACITY, repr(cause.request)),
            Preference.ADAPT,
            effect="takes a whole device",
        )


def _largest_allowed(
    policy: CapacityRequestPolicy | None, limit: Quantity | None
) -> Quantity | None:
    """Return the largest amount up to a limit that a request policy allows.

    Return None if it allows no such amount, or has no bound.
    """
    if policy is None or (policy.valid_range is None and not policy.valid_values):
        return limit
    bounds = policy.valid_range
    if bounds is None:
        values = (value for value in policy.valid_values if limit is None or value <= limit)
        return max(values, default=None)
    top = min((bound for bound in (bounds.max, limit) if bound is not None), default=None)
    if top is None or bounds.min is None or bounds.step is None:
        return top
    minimum, step = bounds.min.milli_value(), bounds.step.milli_value()
    excess = (top.milli_value() - minimum) % step if step else 0
    amount = top - Quantity(excess, -3, top.format)
    return amount if amount >= bounds.min else None
