"""A constraint is about an attribute that no device has.

## What it does

Looks at the devices that the requests of a constraint can get. Needs `--devices`.

## Why is this bad

A device without the attribute never satisfies a constraint, so the pod stays pending.

## Source

k8s.io/dynamic-resource-allocation/structured (constraints); api.md section 6, rows 20 and 22
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint.advice import Advice
from dractl.lint.run import text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dractl.lint.run import Run

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
DEVICES = True
FIELDS = ("constraints",)


def check(run: Run) -> Iterator[Advice]:
    inventory = run.devices
    if inventory is None:
        return
    for claim in run.claims:
        for constraint in claim.constraints:
            field = "matchAttribute" if constraint.fields.get("matchAttribute") else "distinctAttribute"
            attribute = text(constraint.fields.get(field))
            for request in claim.targets(constraint.requests) if "/" in attribute else ():
                candidates = inventory.candidates(run, claim, request)
                if candidates and not any(device.attribute(attribute) for device in candidates):
                    yield Advice(
                        claim.subject,
                        (*constraint.path, field),
                        f"none of the {len(candidates)} devices for request {request.reference} has {attribute}",
                        help=inventory.nearest_attribute(attribute, candidates),
                        confidence="likely",
                    )
                    break
