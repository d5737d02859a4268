"""Causes for a request that has too few candidates by itself: the stages of its survey that exclude
devices.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from dractl.allocation import DeviceID, RequestSurvey, Stage, Survey, effective_taint_rules
from dractl.explain import selectors
from dractl.explain.context import Case
from dractl.explain.diagnosis.faults import cause_of_fault, cause_of_unused_pool, nodes_of
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
from dractl.explain.reasons.refusals import label_selector_text, toleration_text
from dractl.explain.reasons.selectors import SelectorError, SelectorFalse
from dractl.model import CapacityRequestPolicy, Quantity
from dractl.model.nearest import nearest
from dractl.model.taints import format_taint

_OCCUPANCY_STAGES = ("in-use", "counters", "taints", "capacity")


def diagnose_request(case: Case, survey: Survey, request: RequestSurvey) -> list[Cause]:
    """Return why one request or alternative has too few candidates; the decisive stage comes
    first.
    """
    if request.fault is not None:
        return [cause_of_fault(case, request.fault, request)]
    need = max(request.wanted, 1)
    unused_pool = _cause_of_hidden_devices(case, survey, request, need)
    if unused_pool is not None:
        return [unused_pool]
    decisive = next((s for s in request.stages if len(s.kept) < need), None)
    if decisive is None:
        return [NotEnough(**_request_fields(request), want=need, have=len(request.candidates))]
    further = [
        cause_of_stage(case, request, stage, need)
        for stage in request.stages
        if stage is not decisive
        and stage.lost
        and stage.name in _OCCUPANCY_STAGES
        and len(stage.kept) < need <= len(stage.kept) + len(stage.lost)
    ]
    return [cause_of_stage(case, request, decisive, need), *further[:2]]


def _cause_of_hidden_devices(
    case: Case, survey: Survey, request: RequestSurvey, need: int
) -> Cause | None:
    """Return the cause for an unused pool of the request's driver, if the pools in use have too few
    devices.
    """
    visible = next(
        (len(s.kept) for s in reversed(request.stages) if s.name == "class-selector"),
        len(request.offered),
    )
    if visible >= need:
        return None
    drivers = case.drivers_of(request.device_class)
    for pool in survey.pools:
        if pool.state != "usable" and (not drivers or pool.driver in drivers):
            return cause_of_unused_pool(
                pool, request.ref, device_class=request.device_class or None
            )
    return None


def cause_of_stage(case: Case, request: RequestSurvey, stage: Stage, need: int) -> Cause:
    """Return the cause for a stage of the survey that leaves too few devices."""
    match stage.name:
        case "class-selector":
            return _cause_of_class_selector(case, request, stage, need)
        case "request-selector":
            return _cause_of_request_selector(case, request, stage, need)
        case "node":
            return SliceNodeMismatch(
                **_request_fields(request),
                devices=_device_names(loss.device for loss in stage.lost),
            )
        case "in-use":
            return _cause_of_devices_in_use(case, request, stage, need)
        case "counters":
            return _cause_of_counters(case, request, stage)
        case "taints":
            return _cause_of_taints(case, request, stage, need)
        case "capacity":
            return _cause_of_capacity(case, request, stage)
        case "constraint":
            return _cause_of_missing_attribute(case, request, stage)
        case _:
            return _cause_of_gate(request, stage)


def _request_fields(request: RequestSurvey) -> dict[str, Any]:
    """Return the fields that every cause of a request has."""
    return {"request": request.ref, "device_class": request.device_class or None}


def _cause_of_class_selector(case: Case, request: RequestSurvey, stage: Stage, need: int) -> Cause:
    if stage.kept:
        return NotEnough(**_request_fields(request), want=need, have=len(stage.kept))
    drivers = case.drivers_of(request.device_class)
    devices = [loss.device for loss in stage.lost if not drivers or loss.device.driver in drivers]
    if not devices:
        return _cause_of_no_devices(case, request, drivers)
    expression = stage.expression or ""
    part = case.false_part(expression, devices)
    misfit = selectors.misfit(case.devices, part or expression, devices)
    return SelectorFalse(
        **_request_fields(request),
        selector=expression,
        part=part,
        evaluated=case.evaluations(expression, devices),
        of_class=True,
        attribute=misfit.reference.full_name if misfit.reference else None,
        values=misfit.frequent_values,
        misfit=misfit,
        nearest=misfit.nearest,
        of=len(devices),
        devices=_device_names(devices),
    )


def _cause_of_no_devices(case: Case, request: RequestSurvey, drivers: frozenset[str]) -> Cause:
    driver = min(drivers, default=None)
    if not case.scheduler.slices:
        listed = case.state.covers("ResourceSlice")
        return NoSlicesForDriver(
            **_request_fields(request), driver=driver, none_known=True, listed=listed
        )
    if driver and not drivers & case.drivers:
        publishing = tuple(sorted(case.drivers))
        return NoSlicesForDriver(
            **_request_fields(request),
            driver=driver,
            drivers=publishing,
            nearest=_similar_driver(driver, publishing),
        )
    for item in case.scheduler.slices:
        if (
            driver in (None, item.spec.driver)
            and item.spec.node_selector is not None
            and item.spec.devices
        ):
            return SliceNodeMismatch(
                **_request_fields(request),
                driver=item.spec.driver,
                slice=item.metadata.name,
                selectors=(label_selector_text(item.spec.node_selector),),
                keys=tuple(
                    e.key
                    for term in item.spec.node_selector.node_selector_terms
                    for e in term.match_expressions
                ),
            )
    return NoSlicesOnNode(**_request_fields(request), driver=driver)


def _similar_driver(driver: str, drivers: Sequence[str]) -> str | None:
    """Return the driver that was probably meant: a similar name, or the same vendor
    (``nvidia.com/gpu``).
    """
    return nearest(driver, drivers) or next(iter(drivers_of_vendor(driver, drivers)), None)


def drivers_of_vendor(name: str, drivers: Iterable[str]) -> list[str]:
    """Return the drivers of the vendor that a resource or class is named after (nvidia.com/gpu,
    gpu.nvidia.com).
    """
    domain = name.partition("/")[0]
    return [d for d in drivers if f".{d}".endswith(f".{domain}") or f".{domain}".endswith(f".{d}")]


def _cause_of_request_selector(
    case: Case, request: RequestSurvey, stage: Stage, need: int
) -> Cause:
    expression = stage.expression or ""
    errors = [loss for loss in stage.lost if loss.code == "selector-error"]
    if errors:
        return SelectorError(
            **_request_fields(request),
            selector=expression,
            error=errors[0].error or errors[0].message,
            on=nodes_of(case, [loss.device for loss in errors]),
            devices=_device_names(loss.device for loss in errors),
            evaluated=case.evaluations(expression, [loss.device for loss in errors]),
        )
    devices = [loss.device for loss in stage.lost]
    part = case.false_part(expression, devices)
    misfit = selectors.misfit(case.devices, part or expression, devices)
    kind = misfit.reference.kind if misfit.reference else None
    return SelectorFalse(
        **_request_fields(request),
        selector=expression,
        part=part,
        evaluated=case.evaluations(expression, devices),
        attribute=misfit.reference.full_name if misfit.reference and kind == "attributes" else None,
        capacity=misfit.reference.full_name if misfit.reference and kind == "capacity" else None,
        values=misfit.frequent_values,
        misfit=misfit,
        nearest=misfit.nearest,
        want=need if stage.kept else None,
        have=len(stage.kept),
        of=len(stage.kept) + len(devices),
    )


def _cause_of_devices_in_use(case: Case, request: RequestSurvey, stage: Stage, need: int) -> Cause:
    devices = [loss.device for loss in stage.lost]
    free = len(stage.kept)
    fields: dict[str, Any] = {
        **_request_fields(request),
        "devices": _device_names(devices),
        "holders": case.devices.holders(devices),
        "want": need,
        "have": free,
        "free": free,
    }
    if request.mode == "All":
        return AllNeedsFree(**fields, taken=len(devices))
    claim_keys = {claim.key for claim in case.claims.values()}
    if all(claim_keys.issuperset(case.devices.claims_of(device)) for device in devices):
        return DeviceInUseSamePod(**fields, of=free + len(devices))
    return DeviceInUse(**fields, of=free + len(devices))


def _cause_of_counters(case: Case, request: RequestSurvey, stage: Stage) -> Cause:
    losses = [loss for loss in stage.lost if loss.counter_set]
    first = losses[0] if losses else stage.lost[0]
    drained = {
        (loss.device.driver, loss.device.pool, loss.counter_set)
        for loss in losses
        if loss.counter_set
    }
    return CountersShort(
        **_request_fields(request),
        driver=first.device.driver,
        pool=f"{first.device.driver}/{first.device.pool}",
        counter_set=first.counter_set,
        counters=tuple(dict.fromkeys(loss.counter for loss in losses if loss.counter)),
        want=first.want,
        free=first.free,
        holders=case.devices.holders(case.devices.counter_consumers(drained)),
        devices=_device_names(loss.device for loss in stage.lost),
    )


def _cause_of_taints(case: Case, request: RequestSurvey, stage: Stage, need: int) -> Cause:
    taints = Counter(loss.taint for loss in stage.lost if loss.taint)
    taint = taints.most_common(1)[0][0] if taints else None
    devices = [loss.device for loss in stage.lost]
    rules = _rules_with_taint(case, taint or "", devices)
    kind = AllNeedsUntainted if request.mode == "All" else Tainted
    return kind(
        **_request_fields(request),
        taint=taint,
        taints=tuple(taints.most_common()),
        rules=rules,
        sweeping=_rules_for_all_devices(case, rules),
        tolerates=_similar_tolerations(case, request, taint or ""),
        devices=_device_names(devices),
        want=need,
        have=len(stage.kept),
    )


def _similar_tolerations(case: Case, request: RequestSurvey, taint: str) -> tuple[str, ...]:
    """Return tolerations of the request that have the taint's key, in any letter case, but do not
    tolerate the taint.
    """
    option = case.option(request.ref)
    key = taint.partition(":")[0].partition("=")[0].lower()
    similar = (
        [t for t in option.tolerations if (t.key or "").lower() == key]
        if option is not None
        else []
    )
    return tuple(map(toleration_text, similar))


def _rules_for_all_devices(case: Case, rules: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the ``rules`` that select every device of a driver."""
    return tuple(
        rule.metadata.name or ""
        for rule in case.scheduler.state.taint_rules
        if rule.metadata.name in rules
        and (selector := rule.spec.device_selector) is not None
        and not (
            selector.pool or selector.device or selector.device_class_name or selector.selectors
        )
    )


def _rules_with_taint(case: Case, taint: str, devices: Sequence[DeviceID]) -> tuple[str, ...]:
    """Return the DeviceTaintRules that put a taint on any of the devices."""
    scheduler = case.scheduler
    published = [(d, device) for d in devices if (device := case.devices.get(d)) is not None]
    names = []
    for rule, reach in effective_taint_rules(
        scheduler.state.taint_rules, scheduler.features, scheduler.state.classes
    ):
        if format_taint(rule.spec.taint) == taint and any(
            reach.covers(d.driver, d.pool, device) for d, device in published
        ):
            names.append(rule.metadata.name or "")
    return tuple(names)


def _cause_of_capacity(case: Case, request: RequestSurvey, stage: Stage) -> Cause:
    code = Counter(loss.code for loss in stage.lost).most_common(1)[0][0]
    losses = [loss for loss in stage.lost if loss.code == code]
    name = losses[0].capacity or ""
    devices = [loss.device for loss in losses]
    if code == "capacity-missing":
        # The scheduler finds a capacity by the exact name in the request, with or without the
        # driver's domain (consumable_capacity.go requestsContainNonExistCapacity).
        published = {
            n if "/" in n else f"{d.driver}/{n}": n
            for d in devices
            if (device := case.devices.get(d))
            for n in device.capacity
        }
        names = selectors.names(case.devices, devices, "capacity")
        domain, _, short = name.rpartition("/")
        similar = selectors.nearest_name(domain, short, names)
        return CapacityMissing(
            **_request_fields(request),
            capacity=name,
            nearest=published[similar] if similar is not None and similar in published else similar,
            capacities=tuple(sorted(published.values())),
            devices=_device_names(devices),
        )
    best = max(losses, key=lambda loss: _amount(loss.free))
    fields: dict[str, Any] = {
        **_request_fields(request),
        "capacity": name,
        "want": best.want,
        "free": best.free,
        "have": best.total,
        "holders": case.devices.holders(devices),
        "devices": _device_names(devices),
    }
    if code == "capacity-short":
        return CapacityShort(**fields, asked=_amount_in_claim(case, request, name, best.want))
    policy = case.policy(best.device, name)
    if policy is None:
        return CapacityPolicy(**fields, problem=best.message)
    return CapacityPolicy(**fields, allowed=_policy_text(policy))


def _amount_in_claim(
    case: Case, request: RequestSurvey, capacity: str, want: str | None
) -> str | None:
    """Return the amount of a capacity as the claim requests it, if the driver's policy rounds it to
    ``want``.
    """
    option = case.option(request.ref)
    amounts = option.capacity.requests if option is not None and option.capacity is not None else {}
    short = capacity.rpartition("/")[2]
    requested = next(
        (amount for name, amount in amounts.items() if name.rpartition("/")[2] == short), None
    )
    return (
        str(requested)
        if requested is not None and _amount(str(requested)) != _amount(want)
        else None
    )


def _policy_text(policy: CapacityRequestPolicy) -> str:
    """Describe the amounts that a policy allows."""
    bounds = policy.valid_range
    if bounds is None:
        return ", ".join(map(str, policy.valid_values))
    span = (
        f"{bounds.min or 0} to {bounds.max}"
        if bounds.max is not None
        else f"{bounds.min or 0} and more"
    )
    return f"{span} in steps of {bounds.step}" if bounds.step is not None else span


def _cause_of_missing_attribute(case: Case, request: RequestSurvey, stage: Stage) -> Cause:
    name = stage.attribute or ""
    devices = [loss.device for loss in stage.lost]
    domain, _, short = name.partition("/")
    names = selectors.names(case.devices, devices, "attributes")
    return AttributeMissing(
        **_request_fields(request),
        constraint=f"matchAttribute {name}",
        attribute=name,
        driver=devices[0].driver if devices else None,
        nearest=selectors.nearest_name(domain, short, names),
        devices=_device_names(devices),
        publish=len(stage.kept),
        of=len(stage.kept) + len(devices),
    )


def _cause_of_gate(request: RequestSurvey, stage: Stage) -> Cause:
    loss = stage.lost[0]
    kind = BindingConditionsOff if loss.gate and "Binding" in loss.gate else GateOff
    return kind(
        **_request_fields(request),
        gate=loss.gate,
        detail=loss.message,
        devices=_device_names(loss.device for loss in stage.lost),
    )


def _device_names(devices: Iterable[DeviceID]) -> tuple[str, ...]:
    return tuple(map(str, devices))


def _amount(text: str | None) -> float:
    try:
        return float(Quantity.parse(text or "0").milli_value())
    except ValueError:
        return 0.0
