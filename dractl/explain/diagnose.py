"""From a node's survey to reasons: which stage loses what a request needs, or which requests cannot be had together."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from dractl.allocation import Fatal, NodeError
from dractl.explain import selectors
from dractl.explain.answer import Conflict, Place, Reason
from dractl.explain.reasons import REASONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dractl.allocation import DeviceID
    from dractl.allocation.survey import ConstraintSurvey, Loss, PoolSurvey, RequestSurvey, Stage, Survey
    from dractl.explain.answer import Holder
    from dractl.explain.devices import Devices
    from dractl.explain.judge import Judge, NodeVerdict
    from dractl.explain.pods import PodClaim
    from dractl.model import DeviceClass

_DRIVER = re.compile(
    r"""device\.driver\s*==\s*(['"])(?P<driver>[^'"]+)\1|(['"])(?P<other>[^'"]+)\3\s*==\s*device\.driver"""
)
_POOL_CODES = {"incomplete": "pool-incomplete", "invalid": "pool-invalid", "obsolete": "pool-obsolete"}


class Diagnosis:
    """Reasons of one subject in one cluster."""

    def __init__(self, judge: Judge, devices: Devices, claims: Iterable[PodClaim]) -> None:
        self.judge = judge
        self.devices = devices
        self.claims = {claim.full_name: claim for claim in claims}
        self.classes = {item.metadata.name: item for item in judge.state.classes}
        self.drivers = frozenset(item.spec.driver for item in judge.slices)

    def node(self, verdict: NodeVerdict, survey: Survey) -> tuple[Reason, ...]:
        """Why the claims cannot be allocated on a node, the reason that got furthest first."""
        if isinstance(verdict.outcome, Fatal):
            return (self.fatal(verdict, survey),)
        reasons: list[Reason] = []
        for group in _by_request(survey.requests):
            if any(r.enough for r in group):
                continue
            told = [reason for request in group for reason in self.short(survey, request)]
            reasons += sorted(told, key=lambda r: -REASONS[r.code].reach)
        reasons += self.invalid(verdict, survey)
        if not reasons:
            reasons += self.together(survey)
        return tuple(_named(r, verdict.name) for r in reasons)

    # -- a request that is short of devices by itself --

    def short(self, survey: Survey, request: RequestSurvey) -> list[Reason]:
        """Why one request, or one alternative, has too few candidates; the stage that is to blame first."""
        if request.error is not None:
            return [Reason(code_of(request.error), request.error, **self._where(request))]
        need = max(request.wanted, 1)
        hidden = self.hidden(survey, request, need)
        if hidden is not None:
            return [hidden]
        blamed = next((s for s in request.stages if len(s.kept) < need), None)
        if blamed is None:
            return [self._not_enough(request, need, len(request.candidates))]
        reason = self._stage(request, blamed, need)
        return [reason, *self._further(request, blamed, need)]

    def _further(self, request: RequestSurvey, blamed: Stage, need: int) -> list[Reason]:
        """Other stages whose losses alone would be enough."""
        return [
            self._stage(request, stage, need)
            for stage in request.stages
            if stage is not blamed
            and stage.lost
            and stage.name in ("in-use", "counters", "taints", "capacity")
            and len(stage.kept) < need <= len(stage.kept) + len(stage.lost)
        ][:2]

    def hidden(self, survey: Survey, request: RequestSurvey, need: int) -> Reason | None:
        """A pool of the request's driver that the scheduler does not use, where the visible devices are too few."""
        visible = next(
            (len(s.kept) for s in reversed(request.stages) if s.name == "class-selector"), len(request.offered)
        )
        if visible >= need:
            return None
        drivers = self.drivers_of(request.device_class)
        for pool in survey.pools:
            if pool.state != "usable" and (not drivers or pool.driver in drivers):
                return self.pool(pool, self._where(request))
        return None

    def pool(self, pool: PoolSurvey, where: dict[str, Any]) -> Reason:
        name = f"{pool.driver}/{pool.pool}"
        match pool.state:
            case "incomplete":
                there = f"{pool.slices} of {pool.expected} slices of generation {pool.generation} are there"
                why = f"pool {name} is incomplete: {there}"
            case "obsolete":
                why = f"pool {name} is dropped: here it is of generation {pool.generation}, elsewhere of a newer one"
            case _:
                why = f"pool {name} is invalid: {pool.reason}"
        return Reason(
            _POOL_CODES.get(pool.state, "pool-invalid"),
            why,
            driver=pool.driver,
            pool=name,
            have=pool.slices,
            want=pool.expected,
            **where,
        )

    def drivers_of(self, device_class: str) -> frozenset[str]:
        """The drivers that a class's selectors name literally; empty where they name none."""
        found = self.classes.get(device_class)
        return drivers_named(found) if found is not None else frozenset()

    def _where(self, request: RequestSurvey) -> dict[str, Any]:
        claim = self.claims.get(request.claim)
        return {
            "pod_claim": claim.name or None if claim is not None else None,
            "claim": request.claim,
            "request": request.request,
            "device_class": request.device_class or None,
        }

    def _stage(self, request: RequestSurvey, stage: Stage, need: int) -> Reason:
        """The reason that belongs to a stage of the funnel."""
        match stage.name:
            case "class-selector":
                return self._class(request, stage, need)
            case "request-selector":
                return self._selector(request, stage, need)
            case "node":
                return self._node_mismatch(request, stage)
            case "in-use":
                return self._in_use(request, stage, need)
            case "counters":
                return self._counters(request, stage)
            case "taints":
                return self._tainted(request, stage, need)
            case "capacity":
                return self._capacity(request, stage)
            case "constraint":
                return self._attribute_missing(request, stage)
            case _:
                return self._gate(request, stage)

    def _not_enough(self, request: RequestSurvey, need: int, have: int) -> Reason:
        why = f"request {request.request} wants {need} devices; the node has {have} of the class {request.device_class}"
        return Reason("not-enough", why, want=need, have=have, **self._where(request))

    def _class(self, request: RequestSurvey, stage: Stage, need: int) -> Reason:
        where = self._where(request)
        if stage.kept:
            return self._not_enough(request, need, len(stage.kept))
        drivers = self.drivers_of(request.device_class)
        of_driver = [loss.device for loss in stage.lost if not drivers or loss.device.driver in drivers]
        if of_driver:
            wrong = selectors.misfit(self.devices, stage.expression or "", of_driver)
            part = self._false_part(stage.expression or "", of_driver)
            if part is not None:
                wrong = selectors.misfit(self.devices, part, of_driver)
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
                devices=_texts(of_driver),
                **where,
            )
        return self._no_devices(request, drivers)

    def _no_devices(self, request: RequestSurvey, drivers: frozenset[str]) -> Reason:
        where = self._where(request)
        driver = min(drivers, default=None)
        if not self.judge.slices:
            why = f"request {request.request}: the source has no ResourceSlice at all"
            if driver:
                why += f"; driver {driver} publishes nothing"
            return Reason("no-slices-for-driver", why, driver=driver, **where)
        if driver and not drivers & self.drivers:
            why = f"request {request.request}: driver {driver} publishes no ResourceSlice in the whole cluster"
            return Reason(
                "no-slices-for-driver",
                why,
                driver=driver,
                found=tuple(sorted(self.drivers)),
                **where,
            )
        for item in self.judge.slices:
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

    def _false_part(self, expression: str, devices: Sequence[DeviceID]) -> str | None:
        """The first condition of an expression that no device meets by itself."""
        parts = selectors.conjuncts(expression)
        if len(parts) < 2:
            return expression
        for part in parts:
            if not any(self.holds(part.text, device) for device in devices):
                return part.text
        return None

    def holds(self, expression: str, device: DeviceID) -> bool:
        """Whether a condition is true on a device."""
        found = self.devices.get(device)
        if found is None:
            return False
        return self.judge.compile(expression).evaluate(device.driver, found) is True

    def _selector(self, request: RequestSurvey, stage: Stage, need: int) -> Reason:
        expression = stage.expression or ""
        lost = [loss.device for loss in stage.lost]
        where = self._where(request)
        errors = [loss for loss in stage.lost if loss.code == "selector-error"]
        if errors:
            return Reason(
                "selector-error",
                f"request {request.request}: {errors[0].message}",
                selector=expression,
                devices=_texts(loss.device for loss in errors),
                **where,
            )
        part = self._false_part(expression, lost)
        wrong = selectors.misfit(self.devices, part or expression, lost)
        of = len(stage.kept) + len(lost)
        why = (
            f"request {request.request}: {selectors.readable(expression)} is true on {len(stage.kept)} of {of} devices"
        )
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

    def _node_mismatch(self, request: RequestSurvey, stage: Stage) -> Reason:
        why = f"request {request.request}: {len(stage.lost)} devices of the slice are for other nodes"
        return Reason("slice-node-mismatch", why, devices=_texts(s.device for s in stage.lost), **self._where(request))

    def _in_use(self, request: RequestSurvey, stage: Stage, need: int) -> Reason:
        lost = [loss.device for loss in stage.lost]
        holders = self.devices.holders(lost)
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
            why = f"request {request.request}: {have}; held by {who(holders)}"
        return Reason(
            code,
            why,
            devices=_texts(lost),
            holders=holders,
            want=need,
            have=free,
            free=free,
            **self._where(request),
        )

    def _counters(self, request: RequestSurvey, stage: Stage) -> Reason:
        losses = [loss for loss in stage.lost if loss.counter_set]
        first = losses[0] if losses else stage.lost[0]
        counters = tuple(dict.fromkeys(loss.counter for loss in losses if loss.counter))
        sets = tuple(dict.fromkeys(loss.counter_set for loss in losses if loss.counter_set))
        holders = self.devices.holders(self._consumers(losses))
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
            devices=_texts(loss.device for loss in stage.lost),
            **self._where(request),
        )

    def _consumers(self, losses: Sequence[Loss]) -> list[DeviceID]:
        """The held devices that take from the counter sets which are short."""
        from dractl.allocation import DeviceID

        short = {(loss.device.driver, loss.device.pool, loss.counter_set) for loss in losses}
        found = []
        for driver, pool in dict.fromkeys((d, p) for d, p, _ in short):
            for item in self.devices.pool(driver, pool):
                for device in item.spec.devices:
                    identity = DeviceID(driver, pool, device.name)
                    takes = any((driver, pool, c.counter_set) in short for c in device.consumes_counters)
                    if takes and self.devices.claims_of(identity):
                        found.append(identity)
        return found

    def _tainted(self, request: RequestSurvey, stage: Stage, need: int) -> Reason:
        taints = Counter(loss.taint for loss in stage.lost if loss.taint)
        taint = taints.most_common(1)[0][0] if taints else ""
        lost = [loss.device for loss in stage.lost]
        rules = self._rules(taint, lost)
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
            devices=_texts(lost),
            want=need,
            have=len(stage.kept),
            **self._where(request),
        )

    def _rules(self, taint: str, devices: Sequence[DeviceID]) -> tuple[str, ...]:
        """The DeviceTaintRules that put a taint on any of the devices."""
        if "DRADeviceTaintRules" not in self.judge.features.on and "DRADeviceTaints" not in self.judge.features.on:
            return ()
        names = []
        for rule in self.judge.state.taint_rules:
            own = rule.spec.taint
            value = f"={own.value}" if own.value else ""
            selector = rule.spec.device_selector
            if f"{own.key}{value}:{own.effect}" != taint:
                continue
            if selector is None or any(
                selector.driver in (None, d.driver)
                and selector.pool in (None, d.pool)
                and selector.device in (None, d.device)
                for d in devices
            ):
                names.append(rule.metadata.name or "")
        return tuple(names)

    def _capacity(self, request: RequestSurvey, stage: Stage) -> Reason:
        codes = Counter(loss.code for loss in stage.lost)
        code = codes.most_common(1)[0][0]
        losses = [loss for loss in stage.lost if loss.code == code]
        name = losses[0].capacity or ""
        where = self._where(request)
        devices = [loss.device for loss in losses]
        if code == "capacity-missing":
            known = dict(Counter(n for d in devices for n in self._capacities(d)))
            nearest = selectors.nearest_name(
                selectors.Reference("capacity", name.rpartition("/")[0], name.rpartition("/")[2], 0, 0, 0, 0), known
            ) or next(iter(known), None)
            why = f"request {request.request}: capacity {name} exists on 0 of {len(devices)} devices"
            if known:
                why += f"; they publish {', '.join(sorted(known)[:5])}"
            return Reason(
                code,
                why,
                capacity=name,
                nearest=nearest and _unqualified(nearest),
                found=tuple(sorted(known)),
                devices=_texts(devices),
                **where,
            )
        best = max(losses, key=lambda loss: _amount(loss.free))
        holders = self.devices.holders(devices)
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
            why += f": {best.message}"
        return Reason(
            code,
            why,
            capacity=name,
            want=best.want,
            free=best.free,
            have=best.total,
            holders=holders,
            devices=_texts(devices),
            **where,
        )

    def _capacities(self, device: DeviceID) -> list[str]:
        found = self.devices.get(device)
        return [] if found is None else [n if "/" in n else f"{device.driver}/{n}" for n in found.capacity]

    def _attribute_missing(self, request: RequestSurvey, stage: Stage) -> Reason:
        name = stage.attribute or ""
        lost = [loss.device for loss in stage.lost]
        domain, _, short = name.partition("/")
        known = dict(Counter(n for d in lost for n in self._attributes(d)))
        nearest = selectors.nearest_name(selectors.Reference("attributes", domain, short, 0, 0, 0, 0), known)
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
            devices=_texts(lost),
            **self._where(request),
        )

    def _attributes(self, device: DeviceID) -> list[str]:
        found = self.devices.get(device)
        return [] if found is None else [n if "/" in n else f"{device.driver}/{n}" for n in found.attributes]

    def _gate(self, request: RequestSurvey, stage: Stage) -> Reason:
        loss = stage.lost[0]
        code = "binding-conditions-off" if loss.gate and "Binding" in loss.gate else "gate-off"
        return Reason(
            code,
            f"request {request.request}: {loss.message}",
            gate=loss.gate,
            devices=_texts(s.device for s in stage.lost),
            **self._where(request),
        )

    def invalid(self, verdict: NodeVerdict, survey: Survey) -> list[Reason]:
        """The scheduler's "invalid resource pools were encountered", with the pools and their faults."""
        if not isinstance(verdict.outcome, NodeError):
            return []
        return [self.pool(p, {}) for p in survey.pools if p.state == "invalid"]

    # -- requests that fit alone and not together --

    def together(self, survey: Survey) -> list[Reason]:
        """Why requests that each find enough devices cannot be had together."""
        reasons = [self._constraint(survey, c) for c in survey.constraints if not c.satisfiable]
        if reasons:
            return reasons
        requests = [r for r in survey.requests if "/" not in r.request]
        union = {device for r in requests for device in r.candidates}
        wanted = sum(r.wanted for r in requests)
        names = ", ".join(r.request if len({x.claim for x in requests}) == 1 else self._claim_name(r) for r in requests)
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
                    holders=self.devices.holders(dict.fromkeys(taken)),
                )
            ]
        why = f"each of the requests {names} alone would fit; together they do not"
        constraint = f"{survey.constraints[0].kind} {survey.constraints[0].attribute}" if survey.constraints else None
        code = "constraint-conflict" if constraint else "search-conflict"
        return [Reason(code, why, claim=survey.requests[0].claim, request=names, constraint=constraint)]

    def _claim_name(self, request: RequestSurvey) -> str:
        claim = self.claims.get(request.claim)
        return f"{claim.name or claim.key[1]}/{request.request}" if claim is not None else request.request

    def _constraint(self, survey: Survey, constraint: ConstraintSurvey) -> Reason:
        names = ", ".join(constraint.requests)
        text = f"{constraint.kind} {constraint.attribute}"
        covered = [
            r for r in survey.requests if r.claim_index == constraint.claim_index and r.request in constraint.requests
        ]
        claim = self.claims.get(constraint.claim)
        where: dict[str, Any] = {
            "pod_claim": claim.name or None if claim else None,
            "claim": constraint.claim,
            "request": names,
        }
        types = {r.request: self._types(r, constraint.attribute) for r in covered}
        kinds = {kind for kinds in types.values() for kind in kinds}
        short = constraint.attribute.rpartition("/")[2]
        if len(kinds) > 1 and constraint.kind == "matchAttribute":
            told = ", ".join(f"{request}: {'/'.join(sorted(kinds))}" for request, kinds in types.items())
            lists = sorted(k for k in kinds if k.endswith("s"))
            gate = "DRAListTypeAttributes" if lists and "DRAListTypeAttributes" not in self.judge.features.on else None
            why = f"{text} over {names}: the devices publish {short} with different types ({told})"
            if gate:
                why += f"; lists are matched only with the feature gate {gate}"
            driver = next(
                (d.driver for r in covered for d in r.candidates if _is_list(self.devices, d, constraint.attribute)),
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
        wants = " and ".join(f"{r.wanted} {r.request}" for r in covered if "/" not in r.request) or names
        why = f"no {short} has {wants} that are free" if held else f"no {short} has {wants}"
        holders = self.devices.holders(dict.fromkeys(held))
        if holders:
            why += f"; held by {who(holders)}"
        return Reason(
            "constraint-conflict",
            why,
            constraint=text,
            attribute=constraint.attribute,
            holders=holders,
            devices=_texts(held),
            found=tuple(g.value for g in constraint.groups),
            **where,
        )

    def _types(self, request: RequestSurvey, attribute: str) -> set[str]:
        found = (self.devices.attribute(device, attribute) for device in request.candidates)
        return {str(a.type) for a in found if a is not None}

    def conflict(self, verdict: NodeVerdict, survey: Survey) -> Conflict | None:
        """The constraint that cannot hold on a node, and what each value of its attribute has."""
        for constraint in survey.constraints:
            if constraint.satisfiable:
                continue
            covered = [
                r
                for r in survey.requests
                if r.claim_index == constraint.claim_index and r.request in constraint.requests
            ]
            everything = {r.request: self._would_do(r) for r in covered}
            values: dict[str, None] = dict.fromkeys(g.value for g in constraint.groups)
            total: dict[str, Counter[str]] = {}
            for request, devices in everything.items():
                for device in devices:
                    attribute = self.devices.attribute(device, constraint.attribute)
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

    def _would_do(self, request: RequestSurvey) -> list[DeviceID]:
        """The devices that the selectors take, free or not."""
        chosen = [s for s in request.stages if s.name in ("class-selector", "request-selector")]
        return list(chosen[-1].kept if chosen else request.offered)

    # -- errors --

    def fatal(self, verdict: NodeVerdict, survey: Survey) -> Reason:
        """A fatal error of the allocator as a reason."""
        text = verdict.outcome.message if isinstance(verdict.outcome, Fatal) else ""
        code = code_of(text)
        claim_name, request_name = _mentioned(text)
        claim = self.claims.get(claim_name or "") or next(iter(self.claims.values()), None)
        where: dict[str, Any] = {
            "pod_claim": claim.name or None if claim else None,
            "claim": claim.full_name if claim else None,
            "request": request_name,
            "nodes": (verdict.name,),
        }
        if code in ("pool-incomplete", "pool-invalid"):
            for pool in survey.pools:
                if f"{pool.driver}/{pool.pool}" in text:
                    reason = self.pool(pool, where)
                    return _with(reason, message=f"request {request_name} wants all devices, and {reason.message}")
        if code == "limit-32":
            mine = [r for r in survey.requests if claim and r.claim == claim.full_name]
            want = sum(r.wanted for r in mine if "/" not in r.request) or None
            names = ", ".join(r.request for r in mine) or request_name
            why = f"claim {claim_name or ''}: {names} want {want or 'too many'} devices, and a claim can have 32"
            return Reason(code, why, **{**where, "request": names}, want=want, have=32)
        if code == "selector-error":
            return self._selector_error(text, survey, where)
        if code == "constraint-conflict":
            device = re.search(r"cannot add device (\S+) because", text)
            unmet = next((c for c in survey.constraints if not c.satisfiable), None) or next(
                iter(survey.constraints), None
            )
            constraint = f"{unmet.kind} {unmet.attribute}" if unmet else None
            unheld = constraint or "a constraint"
            why = f"request {request_name} wants all devices, and {unheld} does not hold for all of them"
            return Reason(code, why, **where, constraint=constraint, devices=(device[1],) if device else ())
        return Reason(code, text, **where)

    def _selector_error(self, text: str, survey: Survey, where: dict[str, Any]) -> Reason:
        for request in survey.requests:
            for stage in request.stages:
                errors = [loss for loss in stage.lost if loss.code == "selector-error"]
                if not errors:
                    continue
                wrong = selectors.misfit(self.devices, stage.expression or "", [loss.device for loss in errors])
                said = (text.partition("CEL ")[2] or text).partition(". consider")[0]
                condition = selectors.readable(stage.expression or "")
                why = f"request {request.request}: {condition} fails on {_count(errors)}: {said}"
                if wrong.detail:
                    why += f" ({wrong.detail})"
                return Reason(
                    "selector-error",
                    why,
                    **{**where, **self._where(request)},
                    selector=stage.expression,
                    attribute=wrong.reference.full_name if wrong.reference else None,
                    nearest=wrong.nearest,
                    found=wrong.found,
                    devices=_texts(loss.device for loss in errors),
                )
        return Reason("selector-error", text, **where)


# -- small things --


def drivers_named(device_class: DeviceClass) -> frozenset[str]:
    """The drivers that the selectors of a class compare ``device.driver`` with."""
    found = set()
    for selector in device_class.spec.selectors:
        if selector.cel is not None:
            found |= {m["driver"] or m["other"] for m in _DRIVER.finditer(selector.cel.expression)}
    return frozenset(found)


def code_of(text: str) -> str:
    """The code of an error text of the allocator."""
    for mark, code in (
        ("currently being updated", "pool-incomplete"),
        ("currently invalid", "pool-invalid"),
        ("exceeds the claim limit", "limit-32"),
        ("number of requested devices", "limit-32"),
        ("claim constraint would not be satisfied", "constraint-conflict"),
        ("CEL", "selector-error"),
        ("device class", "class-missing"),
        ("feature is disabled", "gate-off"),
        ("timed out", "timeout-risk"),
        ("parse node selector", "upstream-bug"),
        ("pool", "pool-invalid"),
    ):
        if mark in text:
            return code
    return "gate-off"


def _mentioned(text: str) -> tuple[str | None, str | None]:
    claim = re.search(r"\bclaim ([^\s,:]+/[^\s,:]+)", text)
    request = re.search(r"\brequest ([^\s,:]+)", text)
    return claim[1] if claim else None, request[1] if request else None


def who(holders: Sequence[Holder], most: int = 3) -> str:
    """``claim ml/eval-0 ×8 (pod ml/eval-0), …``."""
    if not holders:
        return "claims that are not in the source"
    by_claim: dict[str, list[Holder]] = {}
    for holder in holders:
        by_claim.setdefault(holder.claim, []).append(holder)
    told = []
    for claim, those in list(by_claim.items())[:most]:
        count = f" ×{len(those[0].devices)}" if len(those[0].devices) > 1 else ""
        pods = [h.pod.rpartition("/")[2] + (", ended" if h.finished else "") for h in those if h.pod]
        told.append(f"claim {claim}{count} ({'pod ' + ', '.join(pods[:3]) if pods else 'reserved for nobody'})")
    more = len(by_claim) - most
    return ", ".join(told) + (f" and {more} more" if more > 0 else "")


def _by_request(requests: Iterable[RequestSurvey]) -> list[list[RequestSurvey]]:
    groups: dict[tuple[int, str], list[RequestSurvey]] = {}
    for request in requests:
        groups.setdefault((request.claim_index, request.request.partition("/")[0]), []).append(request)
    return list(groups.values())


def _texts(devices: Iterable[DeviceID]) -> tuple[str, ...]:
    return tuple(str(device) for device in devices)


def _named(reason: Reason, node: str) -> Reason:
    return _with(reason, nodes=(node,))


def _with(reason: Reason, **changes: Any) -> Reason:
    from dataclasses import replace

    return replace(reason, **changes)


def _unqualified(name: str) -> str:
    return name.rpartition("/")[2]


def _amount(text: str | None) -> float:
    from dractl.model import Quantity

    try:
        return float(Quantity.parse(text or "0").milli_value())
    except ValueError:
        return 0.0


def _is_list(devices: Devices, device: DeviceID, attribute: str) -> bool:
    found = devices.attribute(device, attribute)
    return found is not None and isinstance(found.value, tuple)


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


def _count(errors: Sequence[Loss]) -> str:
    return f"{len(errors)} devices" if len(errors) > 1 else f"device {errors[0].device}"
