"""A constraint uses an attribute that no device has, or that has a different type for each request.

## What it does

Checks the devices that the requests of a constraint can get. Needs `--devices`.

## Why is this bad

A device without the attribute never satisfies a constraint, and values of different types are never
equal: 0 is not "0". The pod stays pending.

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
        is_comparable = "/" in attribute and (run.devices is None or run.devices.knows(attribute))
        explanation = _explain_absence(run, claim, constraint, attribute) if is_comparable else None
        if explanation:
            message, help_ = explanation
            path = (*constraint.path, field)
            yield Advice(claim.subject, path, message, help=help_, confidence="likely")


def _explain_absence(
    run: Run, claim: Claim, constraint: Constraint, attribute: str
) -> tuple[str, str | None] | None:
    """Return why no devices satisfy the constraint, with a hint; None if some may."""
    types: dict[str, set[str]] = {}
    for request in claim.targets(constraint.requests):
        devices = candidates(run, claim, request)
        values = [value for device in devices if (value := device.attribute(attribute)) is not None]
        if devices and not values:
            return (
                (
                    f"no device for request {request.reference} has {attribute} ({len(devices)} "
                    "checked)"
                ),
                _explain_driver(
                    attribute, devices[0].driver, nearest_attribute(attribute, devices)
                ),
            )
        # Where list attributes are on, a list and a single value can match.
        lists = run.target.enabled("DRAListTypeAttributes")
        names = (value.type or "" for value in values)
        kinds = {name.removesuffix("s") if lists else name for name in names}
        types.setdefault(request.whole, set()).update(kinds)
    typed_requests = [(name, kinds) for name, kinds in types.items() if kinds]
    for at, (name, kinds) in enumerate(
        typed_requests if constraint.fields.get("matchAttribute") else ()
    ):
        other = next(
            (earlier for earlier in typed_requests[:at] if earlier[1].isdisjoint(kinds)), None
        )
        if other:
            type_names, other_type_names = (
                " or ".join(sorted(names)) for names in (kinds, other[1])
            )
            return (
                (
                    f"{attribute} has type {other_type_names} for request {other[0]} and "
                    f"{type_names} for {name}: they never match"
                ),
                "both drivers have to publish it with the same type",
            )
    return None


def _explain_driver(attribute: str, driver: str, help_: str) -> str:
    """Return the hint for a driver that lacks an attribute, with the date up to which the driver is
    known.

    The hint stays unchanged if it suggests a name, or if the driver publishes the attribute on
    other devices.
    """
    known_driver = drivers().get(driver)
    has_guess = help_.startswith("did you mean")
    return (
        help_
        if known_driver is None or has_guess or attribute in known_driver.attributes
        else known_driver.explain_absence(help_)
    )
