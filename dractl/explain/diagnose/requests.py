"""A request that has too few candidates by itself: the stages of its survey that are to blame."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from dractl.allocation import DeviceID, RequestSurvey, Stage, Survey, effective_taint_rules
from dractl.explain import selectors
from dractl.explain.case import Case
from dractl.explain.diagnose.faults import nodes_of, of_fault, unusable
from dractl.explain.reasons.amounts import AllNeedsFree, AllNeedsUntainted, NotEnough
from dractl.explain.reasons.base import Cause
from dractl.explain.reasons.binding import BindingConditionsOff
from dractl.explain.reasons.capacity import (
    CapacityMissing,
    CapacityPolicy,
    CapacityShort,
    CountersShort,
)
from dractl.explain.reasons.constraints import AttributeMissing
from dractl.explain.reasons.devices import DeviceInUse, DeviceInUseSamePod, Tainted
from dractl.explain.reasons.limits import GateOff
from dractl.explain.reasons.pools import NoSlicesForDriver, NoSlicesOnNode, SliceNodeMismatch
from dractl.explain.reasons.refusals import labels_wanted, taint_text, toleration_text
from dractl.explain.reasons.selectors import SelectorError, SelectorFalse
from dractl.model import CapacityRequestPolicy, Quantity
from dractl.model.nearest import nearest

_TAKEN = ("in-use", "counters", "taints", "capacity")


def alone(case: Case, survey: Survey, request: RequestSurvey) -> list[Cause]:
    """Why one request, or one alternative, has too few candidates; the stage that is to blame first."""
    if request.fault is not None:
        return [of_fault(case, request.fault, request)]
    need = max(request.wanted, 1)
    hidden = _hidden(case, survey, request, need)
    if hidden is not None:
        return [hidden]
    blamed = next((s for s in request.stages if len(s.kept) < need), None)
    if blamed is None:
        return [NotEnough(**_where(request), want=need, have=len(request.candidates))]
    further = [
        of_stage(case, request, stage, need)
        for stage in request.stages
        if stage is not blamed
        and stage.lost
        and stage.name in _TAKEN
        and len(stage.kept) < need <= len(stage.kept) + len(stage.lost)
    ]
    return [of_stage(case, request, blamed, need), *further[:2]]


def _hidden(case: Case, survey: Survey, request: RequestSurvey, need: int) -> Cause | None:
    """A pool of the request's driver that the scheduler does not use, where the visible devices are too few."""
    visible = next(
        (len(s.kept) for s in reversed(request.stages) if s.name == "class-selector"),
        len(request.offered),
    )
    if visible >= need:
        return None
    drivers = case.drivers_of(request.device_class)
    for pool in survey.pools:
        if pool.state != "usable" and (not drivers or pool.driver in drivers):
            return unusable(pool, request.ref, device_class=request.device_class or None)
    return None


def of_stage(case: Case, request: RequestSurvey, stage: Stage, need: int) -> Cause:
    match stage.name:
        case "class-selector":
            return _class(case, request, stage, need)
        case "request-selector":
            return _selector(case, request, stage, need)
        case "node":
            return SliceNodeMismatch(
                **_where(request), devices=_texts(loss.device for loss in stage.lost)
            )
        case "in-use":
            return _in_use(case, request, stage, need)
        case "counters":
            return _counters(case, request, stage)
        case "taints":
            return _tainted(case, request, stage, need)
        case "capacity":
            return _capacity(case, request, stage)
        case "constraint":
            return _attribute_missing(case, request, stage)
        case _:
            return _gate(request, stage)


def _where(request: RequestSurvey) -> dict[str, Any]:
    return {"request": request.ref, "device_class": request.device_class or None}


def _class(case: Case, request: RequestSurvey, stage: Stage, need: int) -> Cause:
    if stage.kept:
        return NotEnough(**_where(request), want=need, have=len(stage.kept))
    drivers = case.drivers_of(request.device_class)
    of_driver = [loss.device for loss in stage.lost if not drivers or loss.device.driver in drivers]
    if not of_driver:
        return _no_devices(case, request, drivers)
    expression = stage.expression or ""
    part = case.false_part(expression, of_driver)
    wrong = selectors.misfit(case.devices, part or expression, of_driver)
    return SelectorFalse(
        **_where(request),
        selector=expression,
        part=part,
        evaluated=case.evaluated(expression, of_driver),
        of_class=True,
        attribute=wrong.reference.full_name if wrong.reference else None,
        values=wrong.found,
        misfit=wrong,
        nearest=wrong.nearest,
        of=len(of_driver),
        devices=_texts(of_driver),
    )


def _no_devices(case: Case, request: RequestSurvey, drivers: frozenset[str]) -> Cause:
    driver = min(drivers, default=None)
    if not case.scheduler.slices:
        listed = case.state.listed("ResourceSlice")
        return NoSlicesForDriver(**_where(request), driver=driver, none_known=True, listed=listed)
    if driver and not drivers & case.drivers:
        known = tuple(sorted(case.drivers))
        return NoSlicesForDriver(
            **_where(request), driver=driver, known=known, nearest=_near_driver(driver, known)
        )
    for item in case.scheduler.slices:
        if (
            driver in (None, item.spec.driver)
            and item.spec.node_selector is not None
            and item.spec.devices
        ):
            return SliceNodeMismatch(
                **_where(request),
                driver=item.spec.driver,
                slice=item.metadata.name,
                selectors=(labels_wanted(item.spec.node_selector),),
                keys=tuple(
                    e.key
                    for term in item.spec.node_selector.node_selector_terms
                    for e in term.match_expressions
                ),
            )
    return NoSlicesOnNode(**_where(request), driver=driver)


def _near_driver(driver: str, known: Sequence[str]) -> str | None:
    """The driver that was probably meant: one that looks alike, or of the same vendor (``nvidia.com/gpu``)."""
    return nearest(driver, known) or next(iter(of_vendor(driver, known)), None)


def of_vendor(name: str, drivers: Iterable[str]) -> list[str]:
    """The drivers of the vendor that a resource or a class is named after: nvidia.com/gpu, gpu.nvidia.com."""
    domain = name.partition("/")[0]
    return [d for d in drivers if f".{d}".endswith(f".{domain}") or f".{domain}".endswith(f".{d}")]


def _selector(case: Case, request: RequestSurvey, stage: Stage, need: int) -> Cause:
    expression = stage.expression or ""
    errors = [loss for loss in stage.lost if loss.code == "selector-error"]
    if errors:
        return SelectorError(
            **_where(request),
            selector=expression,
            error=errors[0].error or errors[0].message,
            on=nodes_of(case, [loss.device for loss in errors]),
            devices=_texts(loss.device for loss in errors),
            evaluated=case.evaluated(expression, [loss.device for loss in errors]),
        )
    lost = [loss.device for loss in stage.lost]
    part = case.false_part(expression, lost)
    wrong = selectors.misfit(case.devices, part or expression, lost)
    kind = wrong.reference.kind if wrong.reference else None
    return SelectorFalse(
        **_where(request),
        selector=expression,
        part=part,
        evaluated=case.evaluated(expression, lost),
        attribute=wrong.reference.full_name if wrong.reference and kind == "attributes" else None,
        capacity=wrong.reference.full_name if wrong.reference and kind == "capacity" else None,
        values=wrong.found,
        misfit=wrong,
        nearest=wrong.nearest,
        want=need if stage.kept else None,
        have=len(stage.kept),
        of=len(stage.kept) + len(lost),
    )


def _in_use(case: Case, request: RequestSurvey, stage: Stage, need: int) -> Cause:
    lost = [loss.device for loss in stage.lost]
    free = len(stage.kept)
    held: dict[str, Any] = {
        **_where(request),
        "devices": _texts(lost),
        "holders": case.devices.holders(lost),
        "want": need,
        "have": free,
        "free": free,
    }
    if request.mode == "All":
        return AllNeedsFree(**held, taken=len(lost))
    own = {claim.key for claim in case.claims.values()}
    if all(own.issuperset(case.devices.claims_of(device)) for device in lost):
        return DeviceInUseSamePod(**held, of=free + len(lost))
    return DeviceInUse(**held, of=free + len(lost))


def _counters(case: Case, request: RequestSurvey, stage: Stage) -> Cause:
    losses = [loss for loss in stage.lost if loss.counter_set]
    first = losses[0] if losses else stage.lost[0]
    drained = {
        (loss.device.driver, loss.device.pool, loss.counter_set)
        for loss in losses
        if loss.counter_set
    }
    return CountersShort(
        **_where(request),
        driver=first.device.driver,
        pool=f"{first.device.driver}/{first.device.pool}",
        counter_set=first.counter_set,
        counters=tuple(dict.fromkeys(loss.counter for loss in losses if loss.counter)),
        want=first.want,
        free=first.free,
        holders=case.devices.holders(case.devices.drawing_on(drained)),
        devices=_texts(loss.device for loss in stage.lost),
    )


def _tainted(case: Case, request: RequestSurvey, stage: Stage, need: int) -> Cause:
    taints = Counter(loss.taint for loss in stage.lost if loss.taint)
    taint = taints.most_common(1)[0][0] if taints else None
    lost = [loss.device for loss in stage.lost]
    rules = _rules(case, taint or "", lost)
    kind = AllNeedsUntainted if request.mode == "All" else Tainted
    return kind(
        **_where(request),
        taint=taint,
        taints=tuple(taints.most_common()),
        rules=rules,
        sweeping=_sweeping(case, rules),
        tolerates=_near_tolerations(case, request, taint or ""),
        devices=_texts(lost),
        want=need,
        have=len(stage.kept),
    )


def _near_tolerations(case: Case, request: RequestSurvey, taint: str) -> tuple[str, ...]:
    """Tolerations of the request for the same key, in whatever case, that do not tolerate the taint."""
    option = case.option(request.ref)
    key = taint.partition(":")[0].partition("=")[0].lower()
    near = (
        [t for t in option.tolerations if (t.key or "").lower() == key]
        if option is not None
        else []
    )
    return tuple(map(toleration_text, near))


def _sweeping(case: Case, rules: Sequence[str]) -> tuple[str, ...]:
    """The rules among ``rules`` that select every device of a driver."""
    return tuple(
        rule.metadata.name or ""
        for rule in case.scheduler.state.taint_rules
        if rule.metadata.name in rules
        and (selector := rule.spec.device_selector) is not None
        and not (
            selector.pool or selector.device or selector.device_class_name or selector.selectors
        )
    )


def _rules(case: Case, taint: str, devices: Sequence[DeviceID]) -> tuple[str, ...]:
    """The DeviceTaintRules that put a taint on any of the devices."""
    scheduler = case.scheduler
    found = [(d, device) for d in devices if (device := case.devices.get(d)) is not None]
    names = []
    for rule, reach in effective_taint_rules(
        scheduler.state.taint_rules, scheduler.features, scheduler.state.classes
    ):
        if taint_text(rule.spec.taint) == taint and any(
            reach.covers(d.driver, d.pool, at) for d, at in found
        ):
            names.append(rule.metadata.name or "")
    return tuple(names)


def _capacity(case: Case, request: RequestSurvey, stage: Stage) -> Cause:
    code = Counter(loss.code for loss in stage.lost).most_common(1)[0][0]
    losses = [loss for loss in stage.lost if loss.code == code]
    name = losses[0].capacity or ""
    devices = [loss.device for loss in losses]
    if code == "capacity-missing":
        # A request finds a capacity by the name as it is written, with or without the driver's domain
        # (consumable_capacity.go requestsContainNonExistCapacity).
        published = {
            n if "/" in n else f"{d.driver}/{n}": n
            for d in devices
            if (one := case.devices.get(d))
            for n in one.capacity
        }
        known = selectors.names(case.devices, devices, "capacity")
        domain, _, short = name.rpartition("/")
        near = selectors.nearest_name(domain, short, known)
        return CapacityMissing(
            **_where(request),
            capacity=name,
            nearest=published[near] if near is not None and near in published else near,
            known=tuple(sorted(published.values())),
            devices=_texts(devices),
        )
    best = max(losses, key=lambda loss: _amount(loss.free))
    found: dict[str, Any] = {
        **_where(request),
        "capacity": name,
        "want": best.want,
        "free": best.free,
        "have": best.total,
        "holders": case.devices.holders(devices),
        "devices": _texts(devices),
    }
    if code == "capacity-short":
        return CapacityShort(**found, asked=_rounded(case, request, name, best.want))
    policy = case.policy(best.device, name)
    if policy is None:
        return CapacityPolicy(**found, problem=best.message)
    return CapacityPolicy(**found, allowed=_allowed(policy))


def _rounded(case: Case, request: RequestSurvey, capacity: str, want: str | None) -> str | None:
    """The amount of a capacity in the claim, if it is another one than ``want``."""
    option = case.option(request.ref)
    written = option.capacity.requests if option is not None and option.capacity is not None else {}
    short = capacity.rpartition("/")[2]
    asked = next(
        (amount for name, amount in written.items() if name.rpartition("/")[2] == short), None
    )
    return str(asked) if asked is not None and _amount(str(asked)) != _amount(want) else None


def _allowed(policy: CapacityRequestPolicy) -> str:
    bounds = policy.valid_range
    if bounds is None:
        return ", ".join(map(str, policy.valid_values))
    span = (
        f"{bounds.min or 0} to {bounds.max}"
        if bounds.max is not None
        else f"{bounds.min or 0} and more"
    )
    return f"{span} in steps of {bounds.step}" if bounds.step is not None else span


def _attribute_missing(case: Case, request: RequestSurvey, stage: Stage) -> Cause:
    name = stage.attribute or ""
    lost = [loss.device for loss in stage.lost]
    domain, _, short = name.partition("/")
    known = selectors.names(case.devices, lost, "attributes")
    return AttributeMissing(
        **_where(request),
        constraint=f"matchAttribute {name}",
        attribute=name,
        driver=lost[0].driver if lost else None,
        nearest=selectors.nearest_name(domain, short, known),
        devices=_texts(lost),
        publish=len(stage.kept),
        of=len(stage.kept) + len(lost),
    )


def _gate(request: RequestSurvey, stage: Stage) -> Cause:
    loss = stage.lost[0]
    kind = BindingConditionsOff if loss.gate and "Binding" in loss.gate else GateOff
    return kind(
        **_where(request),
        gate=loss.gate,
        detail=loss.message,
        devices=_texts(loss.device for loss in stage.lost),
    )


def _texts(devices: Iterable[DeviceID]) -> tuple[str, ...]:
    return tuple(map(str, devices))


def _amount(text: str | None) -> float:
    try:
        return float(Quantity.parse(text or "0").milli_value())
    except ValueError:
        return 0.0
