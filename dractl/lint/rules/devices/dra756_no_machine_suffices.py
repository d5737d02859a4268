"""No machine has the devices that a claim asks for.

## What it does

Allocates the claim on each node, as kube-scheduler does, with all devices free. Reports a claim if
no node can satisfy its counts, constraints and capacities together. Needs `--devices` or
`--hardware`. Requests without any matching device are reported by other rules, and so are
attributes that the devices lack.

## Why is this bad

If these are all machines of the cluster, the claim is never allocated.

## Source

k8s.io/dynamic-resource-allocation/structured
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from dractl.lint.funnels import candidates
from dractl.lint.inventory import SliceDevice
from dractl.lint.model import Advice, Claim, Found, Run
from dractl.lint.standard import STANDARD_DOMAIN
from dractl.objects import Constraint, Request, mapping, quantity, text
from dractl.program import program_name

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
_WIDER = f"{STANDARD_DOMAIN}/numaNode"


def check(run: Run) -> Found:
    inventory = run.devices
    if inventory is None or inventory.refuses is None:
        return
    classes = {subject.name: subject.value for subject in run.of("DeviceClass")}
    homes = inventory.homes
    for claim in run.claims:
        matches = [(request, candidates(run, claim, request)) for request in claim.alternatives]
        constraints = [item for item in claim.constraints if inventory.knows(_attribute(item))]
        if (
            not matches
            or not all(devices for _, devices in matches)
            or not _are_comparable(constraints, matches)
        ):
            continue
        programs = [run.program(item) for request, _ in matches for item in request.selectors]
        if any(
            inventory.is_undecided(program, device.driver)
            for program in programs
            for device in matches[0][1][:1]
        ):
            continue
        if any(map(_is_too_small, matches)):
            continue  # DRA754 reports requests for more capacity than any device has
        fields = [constraint.fields for constraint in constraints]
        if inventory.refuses(_claim(claim, fields), classes):
            fails_anyway = inventory.refuses(_claim(claim, None), classes)
            advice = _advice(claim, matches, homes, fails_anyway)
            wider = None if fails_anyway else _wider(claim)
            fits = wider is not None and not inventory.refuses(_claim(claim, [wider]), classes)
            yield (
                replace(advice, help=f"{_WIDER} has {_count_equal(matches, homes, _WIDER)}")
                if fits
                else advice
            )


def _is_too_small(match_: tuple[Request, list[SliceDevice]]) -> bool:
    """Return True if no device has as much of a capacity as a request wants."""
    request, devices = match_
    wanted = request.capacity
    return any(
        all(
            value is None or value < least
            for value in (device.capacity(name) for device in devices)
        )
        for name, amount in wanted.items()
        if (least := quantity(amount)) is not None
    )


def _wider(claim: Claim) -> Mapping[str, Any] | None:
    """Return a claim's only constraint with numaNode in place of pcieRoot; None if the claim has
    several constraints, or none on pcieRoot.
    """
    constraint = claim.constraints[0].fields if len(claim.constraints) == 1 else {}
    root = constraint.get("matchAttribute") == f"{STANDARD_DOMAIN}/pcieRoot"
    return {**constraint, "matchAttribute": _WIDER} if root else None


def _count_equal(
    matches: list[tuple[Request, list[SliceDevice]]],
    homes: Mapping[tuple[str, str], str],
    attribute: str,
) -> int:
    """Return the largest number of devices on one machine that have the same value of an
    attribute.
    """
    values = Counter(
        (homes[device.driver, device.pool], str(value and value.value))
        for _, devices in matches
        for device in devices
        for value in [device.attribute(attribute)]
    )
    return max(values.values())


def _claim(claim: Claim, constraints: Any) -> dict[str, Any]:
    spec = claim.subject.spec
    spec = mapping(spec.get("spec")) if claim.subject.kind == "ResourceClaimTemplate" else spec
    devices = {**mapping(spec.get("devices")), "constraints": constraints or []}
    return {
        "apiVersion": claim.subject.document.api_version,
        "kind": "ResourceClaim",
        "metadata": {"name": claim.subject.name or "claim", "namespace": "default"},
        "spec": {"devices": devices},
    }


def _attribute(constraint: Constraint) -> str:
    """Return the attribute of a constraint; "" if it has none."""
    fields = constraint.fields
    return text(fields.get("matchAttribute") or fields.get("distinctAttribute"))


def _are_comparable(
    constraints: list[Constraint], matches: list[tuple[Request, list[SliceDevice]]]
) -> bool:
    """Return False if a constraint is on an attribute that devices lack, or publish with several
    types (DRA753).
    """
    for constraint in constraints:
        name = _attribute(constraint)
        values = (
            [device.attribute(name) for _, devices in matches for device in devices] if name else []
        )
        if None in values or len({value.type for value in values if value is not None}) > 1:
            return False
    return True


def _advice(
    claim: Claim,
    matches: list[tuple[Request, list[SliceDevice]]],
    homes: Mapping[tuple[str, str], str],
    fails_anyway: bool,
) -> Advice:
    """Return the advice. ``fails_anyway`` is True if the claim cannot be allocated even without its
    constraints.
    """
    for request, devices in matches:
        most = max(Counter(homes[device.driver, device.pool] for device in devices).values())
        if fails_anyway and len(matches) == 1 and request.amount > most:
            path = (*request.path, "count")
            message = (
                f"request {request.reference} wants {request.amount} devices; the largest "
                f"machine has {most}"
            )
            return Advice(claim.subject, path, f"{message} that match", confidence="likely")
    if not fails_anyway and len(claim.constraints) == 1:
        (constraint,) = claim.constraints
        field = "matchAttribute" if "matchAttribute" in constraint.fields else "distinctAttribute"
        attribute = text(constraint.fields.get(field))
        most = _count_equal(matches, homes, attribute)
        noun = "matching device" if most == 1 else "matching devices"
        limit = (
            f"; a machine has at most {most} {noun} with the same value"
            if field == "matchAttribute"
            else ""
        )
        message = f"no machine satisfies the constraint on {attribute}{limit}"
        return Advice(claim.subject, (*constraint.path, field), message, confidence="likely")
    count = len(set(homes.values()))
    machines = "the machine" if count == 1 else f"any of the {count} machines"
    return Advice(
        claim.subject,
        (*matches[0][0].path,),
        f"the claim cannot be allocated on {machines}, even if all devices are free",
        help=f"{program_name()} explain FILE --hardware MACHINE shows the obstacles",
        confidence="likely",
    )
