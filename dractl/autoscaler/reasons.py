"""Reasons why an autoscaler would not launch a node of an instance type.

A reason names the first request, constraint or combination that cannot be served.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from dractl.autoscaler.plan import Alternative, ClaimPlan, Plan, TemplateDevice
from dractl.autoscaler.search import search
from dractl.cel import Environment, Program
from dractl.cel.decisions import Decision

MAX_QUOTED = 80
"""The maximum number of characters of a selector that a reason quotes."""


class Stage(IntEnum):
    """The stage that a claim reaches before it fails; a reason from a later stage is more
    informative.
    """

    REFUSED = 0
    SELECTORS = 1
    COUNT = 2
    CONSTRAINTS = 3
    TOGETHER = 4
    SERVED = 5


class Failure(Struct, frozen=True):
    """The reason why no node would be launched."""

    stage: Stage
    reason: str
    """A clause."""


def explain_failure(plan: Plan, instance_type: str, cel: Environment) -> Failure:
    """Return the reason: the request, constraint or combination that cannot be served."""
    for claim in plan.claims:
        for request in claim.requests:
            failures = [
                failure
                for part in request
                if (failure := _explain_alternative(part, plan, instance_type, cel)) is not None
            ]
            if len(failures) == len(request):
                text = "; ".join(dict.fromkeys(failure.reason for failure in failures))
                return Failure(max(failure.stage for failure in failures), text)
    for claim in plan.claims:
        if search(Plan(plan.devices, (claim,))).succeeds is False:
            return _explain_claim(claim, plan, instance_type)
    return Failure(
        Stage.TOGETHER,
        f"Karpenter knows of {len(plan.devices)} devices on {instance_type}, and they do not serve"
        " all claims of the pod together",
    )


def _explain_alternative(
    part: Alternative, plan: Plan, instance_type: str, cel: Environment
) -> Failure | None:
    """Return why one request alone cannot be served; None if its selectors leave enough devices."""
    count = len(part.matching)
    if not count:
        return Failure(Stage.SELECTORS, _explain_no_match(part, plan, instance_type, cel))
    if not part.takes_all and count < part.count:
        return Failure(
            Stage.COUNT,
            f"request {part.name} wants {part.count} devices, and Karpenter knows of {count} on"
            f" {instance_type} that match",
        )
    return None


def _explain_no_match(part: Alternative, plan: Plan, instance_type: str, cel: Environment) -> str:
    """Name the selector that excludes the last devices, and the values that it read of them."""
    candidates = list(plan.devices)
    for text in part.selectors:
        program = cel.compile(text)
        accepted = [d for d in candidates if program.evaluate(d.driver, d.device) is True]
        if accepted:
            candidates = accepted
            continue
        return f"request {part.name}: {_explain_exclusion(program, candidates, instance_type)}"
    return f"Karpenter knows of no device on {instance_type} for request {part.name}"


def _explain_exclusion(
    program: Program, candidates: Sequence[TemplateDevice], instance_type: str
) -> str:
    """Return the most common of the reasons why a selector rejects the candidates."""
    decisions = Counter(program.decision(d.driver, d.device) for d in candidates)
    decision = max(decisions, key=lambda item: (_attributes_of(item) != (), decisions[item]))
    if all(seen.name == "device.driver" for seen in decision.seen) and decision.seen:
        drivers = dict.fromkeys(d.driver for d in candidates)
        return f"Karpenter knows only of devices of {' and '.join(drivers)} on {instance_type}"
    absent = [seen.name for seen in decision.seen if seen.value is None]
    if absent:
        return (
            f"Karpenter does not know {', '.join(absent)} of the devices of {instance_type} before"
            " a node exists"
        )
    values = ", ".join(f"{seen.name} is {seen.value}" for seen in decision.seen)
    outcome = "is false" if decision.error is None else f"fails: {decision.error}"
    return f"`{_shorten(decision.text)}` {outcome} on {instance_type}" + (
        f", where {values}" if values else ""
    )


def _attributes_of(decision: Decision) -> tuple[str, ...]:
    return tuple(seen.name for seen in decision.seen if seen.name != "device.driver")


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= MAX_QUOTED else f"{text[: MAX_QUOTED - 1]}…"


def _explain_claim(claim: ClaimPlan, plan: Plan, instance_type: str) -> Failure:
    """Name the first constraint without which the claim could be satisfied."""
    for number, attribute in enumerate(claim.attributes):
        if search(Plan(plan.devices, (_drop_constraint(claim, number),))).succeeds is False:
            continue
        lacking = [device for device in _comparable_devices(claim, number, plan) if not device]
        if lacking:
            return Failure(
                Stage.CONSTRAINTS,
                f"matchAttribute {attribute} cannot hold: Karpenter does not know its value before"
                f" a node of {instance_type} exists",
            )
        return Failure(
            Stage.CONSTRAINTS,
            f"too few devices that Karpenter knows on {instance_type} agree in {attribute}",
        )
    return Failure(
        Stage.TOGETHER,
        f"Karpenter knows of {len(plan.devices)} devices on {instance_type}, and they do not serve"
        f" all requests of claim {claim.name} together",
    )


def _comparable_devices(claim: ClaimPlan, number: int, plan: Plan) -> Iterator[bool]:
    """Yield, for each device that the constraint's requests match, whether the constraint can
    compare it.
    """
    for request in claim.requests:
        for part in request:
            if number in part.constraints:
                for device in part.matching:
                    yield plan.devices[device].match_key(claim.attributes[number]) is not None


def _drop_constraint(claim: ClaimPlan, number: int) -> ClaimPlan:
    requests = tuple(
        tuple(
            replace(part, constraints=tuple(c for c in part.constraints if c != number))
            for part in request
        )
        for request in claim.requests
    )
    return replace(claim, requests=requests)
