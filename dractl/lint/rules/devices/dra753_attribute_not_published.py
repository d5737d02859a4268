"""A constraint uses an attribute that no device has, or that has a different type for each request.

## What it does

Checks the devices that the requests of a constraint can get. Needs `--devices`.

## Why is this bad

A device without the attribute never satisfies a constraint, and values of different types are never equal: 0 is not
"0". The pod stays pending.

## Source

k8s.io/dynamic-resource-allocation/structured (constraints)
"""

from dractl.lint.funnels import candidates
from dractl.lint.inventory import nearest_attribute
from dractl.lint.model import Advice, Claim, Found, Run
from dractl.lint.published import drivers
from dractl.objects import Constraint, text

SEVERITY = "error"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
FIELDS = ("constraints",)


def check(run: Run) -> Found:
    for claim, constraint in run.constraints:
        field = "matchAttribute" if constraint.fields.get("matchAttribute") else "distinctAttribute"
        attribute = text(constraint.fields.get(field))
        known = "/" in attribute and (run.devices is None or run.devices.knows(attribute))
        found = _found(run, claim, constraint, attribute) if known else None
        if found:
            message, advice = found
            path = (*constraint.path, field)
            yield Advice(claim.subject, path, message, help=advice, confidence="likely")


def _found(
    run: Run, claim: Claim, constraint: Constraint, attribute: str
) -> tuple[str, str | None] | None:
    types: dict[str, set[str]] = {}
    for request in claim.targets(constraint.requests):
        tried = candidates(run, claim, request)
        values = [value for device in tried if (value := device.attribute(attribute)) is not None]
        if tried and not values:
            return (
                f"no device for request {request.reference} has {attribute} ({len(tried)} checked)",
                _rests(attribute, tried[0].driver, nearest_attribute(attribute, tried)),
            )
        # Where list attributes are on, a list and a single value can match.
        lists = run.target.enabled("DRAListTypeAttributes")
        names = (value.type or "" for value in values)
        kinds = {name.removesuffix("s") if lists else name for name in names}
        types.setdefault(request.whole, set()).update(kinds)
    known = [(name, kinds) for name, kinds in types.items() if kinds]
    for at, (name, kinds) in enumerate(known if constraint.fields.get("matchAttribute") else ()):
        other = next((item for item in known[:at] if item[1].isdisjoint(kinds)), None)
        if other:
            here, there = (" or ".join(sorted(names)) for names in (kinds, other[1]))
            return (
                f"{attribute} has type {there} for request {other[0]} and {here} for {name}: they never match",
                "both drivers have to publish it with the same type",
            )
    return None


def _rests(attribute: str, driver: str, help_: str) -> str:
    """Advice with what is known of a driver that lacks an attribute: described devices have what that says."""
    known = drivers().get(driver)
    meant = help_.startswith("did you mean")
    return (
        help_
        if known is None or meant or attribute in known.attributes
        else known.explain_absence(help_)
    )
