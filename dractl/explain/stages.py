"""A request that has too few candidates by itself: the stage of the funnel that is to blame, as a reason."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dractl.allocation import effective_taint_rules
from dractl.explain import selectors
from dractl.explain.about import texts, who
from dractl.explain.answer import Reason
from dractl.explain.errors import code_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dractl.allocation import DeviceID
    from dractl.allocation.survey import RequestSurvey, Stage, Survey
    from dractl.explain.about import About
    from dractl.model import CapacityRequestPolicy


def short(about: About, survey: Survey, request: RequestSurvey) -> list[Reason]:
    """Why one request, or one alternative, has too few candidates; the stage that is to blame first."""
    if request.fault is not None:
        fault = request.fault
        return [Reason(code_of(fault), fault.text, **about.where(request), gate=fault.gate)]
    need = max(request.wanted, 1)
    unseen = _hidden(about, survey, request, need)
    if unseen is not None:
        return [unseen]
    blamed = next((s for s in request.stages if len(s.kept) < need), None)
    if blamed is None:
        return [_not_enough(about, request, need, len(request.candidates))]
    reason = of_stage(about, request, blamed, need)
    return [reason, *_further(about, request, blamed, need)]


def _further(about: About, request: RequestSurvey, blamed: Stage, need: int) -> list[Reason]:
    """Other stages whose losses alone would be enough."""
    return [
        of_stage(about, request, stage, need)
        for stage in request.stages
        if stage is not blamed
        and stage.lost
        and stage.name in ("in-use", "counters", "taints", "capacity")
        and len(stage.kept) < need <= len(stage.kept) + len(stage.lost)
    ][:2]


def _hidden(about: About, survey: Survey, request: RequestSurvey, need: int) -> Reason | None:
    """A pool of the request's driver that the scheduler does not use, where the visible devices are too few."""
    visible = next((len(s.kept) for s in reversed(request.stages) if s.name == "class-selector"), len(request.offered))
    if visible >= need:
        return None
    drivers = about.drivers_of(request.device_class)
    for pool in survey.pools:
        if pool.state != "usable" and (not drivers or pool.driver in drivers):
            return about.pool(pool, about.where(request))
    return None


def of_stage(about: About, request: RequestSurvey, stage: Stage, need: int) -> Reason:
    """The reason that belongs to a stage of the funnel."""
    match stage.name:
        case "class-selector":
            return _class(about, request, stage, need)
        case "request-selector":
            return _selector(about, request, stage, need)
        case "node":
            return _node_mismatch(about, request, stage)
        case "in-use":
            return _in_use(about, request, stage, need)
        case "counters":
            return _counters(about, request, stage)
        case "taints":
            return _tainted(about, request, stage, need)
        case "capacity":
            return _capacity(about, request, stage)
        case "constraint":
            return _attribute_missing(about, request, stage)
        case _:
            return _gate(about, request, stage)


def _not_enough(about: About, request: RequestSurvey, need: int, have: int) -> Reason:
    why = f"request {request.request} wants {need} devices; the node has {have} of the class {request.device_class}"
    return Reason("not-enough", why, want=need, have=have, **about.where(request))


def _class(about: About, request: RequestSurvey, stage: Stage, need: int) -> Reason:
    where = about.where(request)
    if stage.kept:
        return _not_enough(about, request, need, len(stage.kept))
    drivers = about.drivers_of(request.device_class)
    of_driver = [loss.device for loss in stage.lost if not drivers or loss.device.driver in drivers]
    if of_driver:
        wrong = selectors.misfit(about.devices, stage.expression or "", of_driver)
        part = about.false_part(stage.expression or "", of_driver)
        if part is not None:
            wrong = selectors.misfit(about.devices, part, of_driver)
        why = f"request {request.request}: class {request.device_class} takes none of {len(of_driver)} devices"
        if wrong.detail:
            why += f" ({wrong.detail})"
        attribute = wrong.reference.full_name if wrong.reference else None
        return Reason(
            "selector-false",
            why,
            selector=stage.expression,
            attribute=attribute,
            found=wrong.found,
            nearest=wrong.nearest,
            devices=texts(of_driver),
            **where,
        )
    return _no_devices(about, request, drivers)


def _no_devices(about: About, request: RequestSurvey, drivers: frozenset[str]) -> Reason:
    where = about.where(request)
    driver = min(drivers, default=None)
    if not about.judge.slices:
        why = f"request {request.request}: the source has no ResourceSlice at all"
        if driver:
            why += f"; driver {driver} publishes nothing"
        return Reason("no-slices-for-driver", why, driver=driver, **where)
    if driver and not drivers & about.drivers:
        why = f"request {request.request}: driver {driver} publishes no ResourceSlice in the whole cluster"
        return Reason(
            "no-slices-for-driver",
            why,
            driver=driver,
            found=tuple(sorted(about.drivers)),
            **where,
        )
    for item in about.judge.slices:
        if driver in (None, item.spec.driver) and item.spec.node_selector is not None and item.spec.devices:
            selector = _selector_text(item.spec.node_selector)
            why = f"request {request.request}: slice {item.metadata.name} is for nodes with {selector} only"
            return Reason(
                "slice-node-mismatch",
                why,
                driver=item.spec.driver,
                slice=item.metadata.name,
                found=(selector,),
                **where,
            )
    name = driver or "any driver"
    why = f"request {request.request}: {name} publishes no device on this node"
    return Reason("no-slices-on-node", why, driver=driver, **where)


def _selector(about: About, request: RequestSurvey, stage: Stage, need: int) -> Reason:
    expression = stage.expression or ""
    lost = [loss.device for loss in stage.lost]
    where = about.where(request)
    errors = [loss for loss in stage.lost if loss.code == "selector-error"]
    if errors:
        return Reason(
            "selector-error",
            f"request {request.request}: {errors[0].message}",
            selector=expression,
            devices=texts(loss.device for loss in errors),
            **where,
        )
    part = about.false_part(expression, lost)
    wrong = selectors.misfit(about.devices, part or expression, lost)
    of = len(stage.kept) + len(lost)
    why = f"request {request.request}: {selectors.readable(expression)} is true on {len(stage.kept)} of {of} devices"
    if need > 1 and stage.kept:
        why += f", {need} wanted"
    if wrong.detail:
        why += f" ({wrong.detail})"
    return Reason(
        "selector-false",
        why,
        selector=expression,
        attribute=wrong.reference.full_name if wrong.reference and wrong.reference.kind == "attributes" else None,
        capacity=wrong.reference.full_name if wrong.reference and wrong.reference.kind == "capacity" else None,
        found=wrong.found,
        nearest=wrong.nearest,
        want=need if stage.kept else None,
        have=len(stage.kept),
        **where,
    )


def _node_mismatch(about: About, request: RequestSurvey, stage: Stage) -> Reason:
    why = f"request {request.request}: {len(stage.lost)} devices of the slice are for other nodes"
    return Reason("slice-node-mismatch", why, devices=texts(s.device for s in stage.lost), **about.where(request))


def _in_use(about: About, request: RequestSurvey, stage: Stage, need: int) -> Reason:
    lost = [loss.device for loss in stage.lost]
    holders = about.devices.holders(lost)
    free = len(stage.kept)
    if request.mode == "All":
        code = "all-needs-free"
        why = f"request {request.request} wants all {need} matching devices; {len(lost)} are held by {who(holders)}"
    else:
        code = "device-in-use"
        have = (
            f"{free} of {free + len(lost)} matching devices are free, {need} wanted"
            if free
            else (
                "the only matching device is in use"
                if len(lost) == 1
                else f"all {len(lost)} matching devices are in use"
            )
        )
        if all(set(about.devices.claims_of(device)) <= about.own for device in lost):
            code = "device-in-use-same-pod"
            have += " by the pod's own claims"
        why = f"request {request.request}: {have}; held by {who(holders)}"
    return Reason(
        code,
        why,
        devices=texts(lost),
        holders=holders,
        want=need,
        have=free,
        free=free,
        **about.where(request),
    )


def _counters(about: About, request: RequestSurvey, stage: Stage) -> Reason:
    losses = [loss for loss in stage.lost if loss.counter_set]
    first = losses[0] if losses else stage.lost[0]
    counters = tuple(dict.fromkeys(loss.counter for loss in losses if loss.counter))
    sets = tuple(dict.fromkeys(loss.counter_set for loss in losses if loss.counter_set))
    drained = {(loss.device.driver, loss.device.pool, loss.counter_set) for loss in losses if loss.counter_set}
    holders = about.devices.holders(about.devices.drawing_on(drained))
    names = ", ".join(counters[:4])
    why = f"request {request.request}: counter set {first.counter_set} has too little left of {names}"
    if first.want is not None:
        why += f" (wants {first.want}, free {first.free})"
    if holders:
        why += f"; held by {who(holders)}"
    return Reason(
        "counters-short",
        why,
        driver=first.device.driver,
        pool=f"{first.device.driver}/{first.device.pool}",
        counter_set=sets[0] if sets else None,
        counters=counters,
        want=first.want,
        free=first.free,
        holders=holders,
        devices=texts(loss.device for loss in stage.lost),
        **about.where(request),
    )


def _tainted(about: About, request: RequestSurvey, stage: Stage, need: int) -> Reason:
    taints = Counter(loss.taint for loss in stage.lost if loss.taint)
    taint = taints.most_common(1)[0][0] if taints else ""
    lost = [loss.device for loss in stage.lost]
    rules = _rules(about, taint, lost)
    by = f" (DeviceTaintRule {', '.join(rules)})" if rules else ""
    listed = ", ".join(f"{text}{f' ×{n}' if n > 1 else ''}" for text, n in taints.most_common(3))
    why = f"request {request.request}: {len(lost)} devices have a taint that is not tolerated: {listed}{by}"
    code = "tainted"
    if request.mode == "All":
        code = "all-needs-free"
        why = f"request {request.request} wants all {need} matching devices; {len(lost)} are tainted: {listed}{by}"
    return Reason(
        code,
        why,
        taint=taint or None,
        rules=rules,
        devices=texts(lost),
        want=need,
        have=len(stage.kept),
        **about.where(request),
    )


def _rules(about: About, taint: str, devices: Sequence[DeviceID]) -> tuple[str, ...]:
    """The DeviceTaintRules that put a taint on any of the devices."""
    judge = about.judge
    found = [(d, device) for d in devices if (device := about.devices.get(d)) is not None]
    names = []
    for rule, reach in effective_taint_rules(judge.state.taint_rules, judge.features, judge.state.classes):
        own = rule.spec.taint
        value = f"={own.value}" if own.value else ""
        if f"{own.key}{value}:{own.effect}" == taint and any(reach.covers(d.driver, d.pool, at) for d, at in found):
            names.append(rule.metadata.name or "")
    return tuple(names)


def _capacity(about: About, request: RequestSurvey, stage: Stage) -> Reason:
    codes = Counter(loss.code for loss in stage.lost)
    code = codes.most_common(1)[0][0]
    losses = [loss for loss in stage.lost if loss.code == code]
    name = losses[0].capacity or ""
    where = about.where(request)
    devices = [loss.device for loss in losses]
    if code == "capacity-missing":
        known = dict(Counter(n for d in devices for n in about.capacities(d)))
        nearest = selectors.nearest_name(name.rpartition("/")[0], name.rpartition("/")[2], known) or next(
            iter(known), None
        )
        why = f"request {request.request}: capacity {name} exists on 0 of {len(devices)} devices"
        if known:
            why += f"; they publish {', '.join(sorted(known)[:5])}"
        return Reason(
            code,
            why,
            capacity=name,
            nearest=nearest and _unqualified(nearest),
            found=tuple(sorted(known)),
            devices=texts(devices),
            **where,
        )
    best = max(losses, key=lambda loss: _amount(loss.free))
    holders = about.devices.holders(devices)
    why = f"request {request.request}: capacity {name}: wants {best.want}"
    if code == "capacity-short":
        why += (
            f", at most {best.free} of {best.total} is free on one device"
            if best.free != best.total
            else f", the largest has {best.total}"
        )
        if holders:
            why += f"; held by {who(holders)}"
    else:
        policy = about.policy(best.device, name)
        why += f", and the request policy allows {_allowed(policy)}" if policy is not None else f": {best.message}"
    return Reason(
        code,
        why,
        capacity=name,
        want=best.want,
        free=best.free,
        have=best.total,
        holders=holders,
        devices=texts(devices),
        **where,
    )


def _allowed(policy: CapacityRequestPolicy) -> str:
    bounds = policy.valid_range
    if bounds is None:
        return ", ".join(map(str, policy.valid_values))
    told = f"{bounds.min or 0} to {bounds.max}" if bounds.max is not None else f"{bounds.min or 0} and more"
    return f"{told} in steps of {bounds.step}" if bounds.step is not None else told


def _attribute_missing(about: About, request: RequestSurvey, stage: Stage) -> Reason:
    name = stage.attribute or ""
    lost = [loss.device for loss in stage.lost]
    domain, _, short = name.partition("/")
    known = dict(Counter(n for d in lost for n in about.attributes(d)))
    nearest = selectors.nearest_name(domain, short, known)
    of = len(stage.kept) + len(lost)
    why = f"attribute {name} exists on {len(stage.kept)} of {of} devices of request {request.request}"
    if nearest:
        why += f"; there is {nearest}"
    return Reason(
        "attr-missing",
        why,
        constraint=f"matchAttribute {name}",
        attribute=name,
        driver=lost[0].driver if lost else None,
        nearest=nearest,
        devices=texts(lost),
        **about.where(request),
    )


def _gate(about: About, request: RequestSurvey, stage: Stage) -> Reason:
    loss = stage.lost[0]
    code = "binding-conditions-off" if loss.gate and "Binding" in loss.gate else "gate-off"
    return Reason(
        code,
        f"request {request.request}: {loss.message}",
        gate=loss.gate,
        devices=texts(s.device for s in stage.lost),
        **about.where(request),
    )


def _unqualified(name: str) -> str:
    return name.rpartition("/")[2]


def _amount(text: str | None) -> float:
    from dractl.model import Quantity

    try:
        return float(Quantity.parse(text or "0").milli_value())
    except ValueError:
        return 0.0


def _selector_text(selector: object) -> str:
    terms = []
    for term in getattr(selector, "node_selector_terms", ()):
        parts = []
        for e in (*term.match_expressions, *term.match_fields):
            if e.operator == "In" and len(e.values) == 1:
                parts.append(f"{e.key}={e.values[0]}")
            else:
                parts.append(f"{e.key} {e.operator} {','.join(e.values)}".rstrip())
        terms.append(" and ".join(parts))
    return " or ".join(terms)
