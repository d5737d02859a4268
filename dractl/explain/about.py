"""What reasons are made from: one subject's claims, the cluster's classes and devices, and how to name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.cel import reading
from dractl.explain.answer import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dractl.allocation import DeviceID
    from dractl.allocation.survey import PoolSurvey, RequestSurvey
    from dractl.cluster.devices import Devices, Holder
    from dractl.model import CapacityRequestPolicy, DeviceClass
    from dractl.scheduler.attempt import Scheduler
    from dractl.scheduler.claims import PodClaim

_POOL_CODES = {"incomplete": "pool-incomplete", "invalid": "pool-invalid", "obsolete": "pool-obsolete"}


class About:
    """One subject in one cluster."""

    def __init__(self, judge: Scheduler, devices: Devices, claims: Iterable[PodClaim]) -> None:
        self.judge = judge
        self.devices = devices
        self.claims = {claim.full_name: claim for claim in claims}
        self.own = {claim.key for claim in self.claims.values()}
        self.classes = {item.metadata.name: item for item in judge.state.classes}
        self.drivers = frozenset(item.spec.driver for item in judge.slices)

    def pool(self, pool: PoolSurvey, where: dict[str, Any]) -> Reason:
        name = f"{pool.driver}/{pool.pool}"
        match pool.state:
            case "incomplete":
                there = f"{pool.slices} of {pool.expected} slices of generation {pool.generation} are there"
                why = f"pool {name} is incomplete: {there}"
            case "obsolete":
                why = f"pool {name} is dropped: here it is of generation {pool.generation}, elsewhere of a newer one"
            case _:
                why = f"pool {name} is invalid: {pool.fault.text if pool.fault is not None else pool.state}"
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

    def where(self, request: RequestSurvey) -> dict[str, Any]:
        claim = self.claims.get(request.claim)
        return {
            "pod_claim": claim.name or None if claim is not None else None,
            "claim": request.claim,
            "request": request.request,
            "device_class": request.device_class or None,
        }

    def false_part(self, expression: str, devices: Sequence[DeviceID]) -> str | None:
        """The part of an expression that no device meets: what decided the evaluation on each of them where that is the
        same, else the first condition that none meets by itself."""
        program = self.judge.compile(expression)
        there = [(device, found) for device in devices if (found := self.devices.get(device)) is not None]
        if not program.ok:
            return expression
        decided = {
            (d.start, d.end): d.text for device, found in there for d in [program.decision(device.driver, found)]
        }
        if len(decided) == 1:
            return next(iter(decided.values()))
        parts = {**decided, **{(part.start, part.end): part.text for part in program.conjuncts}}
        for _, part in sorted(parts.items()):
            if not any(self.holds(part, device) for device in devices):
                return part
        return None

    def holds(self, expression: str, device: DeviceID) -> bool:
        """Whether a condition is true on a device."""
        found = self.devices.get(device)
        program = self.judge.compile(expression)
        return found is not None and program.ok and program.evaluate(device.driver, found) is True

    def capacities(self, device: DeviceID) -> list[str]:
        found = self.devices.get(device)
        return [] if found is None else [n if "/" in n else f"{device.driver}/{n}" for n in found.capacity]

    def policy(self, device: DeviceID, capacity: str) -> CapacityRequestPolicy | None:
        """What a device's capacity says of requests for it."""
        found = self.devices.get(device)
        capacities = {} if found is None else found.capacity
        named = capacities.get(capacity) or capacities.get(capacity.removeprefix(f"{device.driver}/"))
        return named.request_policy if named is not None else None

    def attributes(self, device: DeviceID) -> list[str]:
        found = self.devices.get(device)
        return [] if found is None else [n if "/" in n else f"{device.driver}/{n}" for n in found.attributes]


def drivers_named(device_class: DeviceClass) -> frozenset[str]:
    """The drivers that the selectors of a class compare ``device.driver`` with."""
    expressions = (selector.cel.expression for selector in device_class.spec.selectors if selector.cel is not None)
    return frozenset().union(*(reading(expression).drivers for expression in expressions))


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


def texts(devices: Iterable[DeviceID]) -> tuple[str, ...]:
    return tuple(str(device) for device in devices)
