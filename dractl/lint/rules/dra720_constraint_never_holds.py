"""A constraint compares an attribute that the devices of a request never have, or that is never
equal.

## What it does

Looks up the attribute of a constraint in the catalogues of the drivers of the requests' classes.
Reports attributes that a driver does not publish for these devices, names of capacities, attributes
with different types, attributes that identify a device (`uuid`, `pciBusID`) in a constraint over
several devices, and values that are known to differ or to be equal. A constraint that always holds
is an info.

## Why is this bad

A device without the attribute never satisfies a constraint, and no two devices have the same
identity: the claim is never allocated.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       exactly:
         deviceClassName: gpu.nvidia.com
     - name: nic
       exactly:
         deviceClassName: dranet
     constraints:
-    - matchAttribute: gpu.nvidia.com/parentUUID
+    - matchAttribute: resource.kubernetes.io/pcieRoot
```

## Source

The catalogues of dractl/drivers, each with its driver's source: `dractl rule DRIVER`;
dynamic-resource-allocation/structured lookupAttribute, matchAttributeConstraint
"""

from dractl.lint.model import Found, Replacement, Run
from dractl.lint.published import (
    ComparedDevices,
    RequestDevices,
    list_compared_devices,
    nearest_published,
)
from dractl.lint.standard import STANDARD_DOMAIN, guess_standard

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate")
ALONE = True
FIELDS = ("constraints",)

_IDENTITY = ("gpu.nvidia.com/uuid", "dra.cpu/cpuID")
_ADDRESS = f"{STANDARD_DOMAIN}/pciBusID"
_WHOLE = (("gpu",), ("vfio",))  # MIG devices have the PCI address of their GPU


def check(run: Run) -> Found:
    for item in list_compared_devices(run):
        domain, _, name = item.attribute.partition("/")
        if guess_standard(domain, name):
            continue  # DRA701 reports misspelt standard attributes
        explanation = next(
            (
                explanation
                for side in item.sides.items()
                if (explanation := _explain_absence(item, *side))
            ),
            None,
        )
        explanation = (
            explanation or _explain_types(item) or _explain_identity(item) or _explain_values(item)
        )
        if explanation:
            meant = f"{STANDARD_DOMAIN}/{name}"
            has_standard = meant != item.attribute and _have_all(item, meant)
            fix = Replacement((*item.constraint.path, item.field), meant) if has_standard else None
            yield item.advice(*explanation, fix=fix)
        elif (value := _constant_value(item)) is not None:
            message = (
                f"every device for these requests has {item.attribute} {value}: the constraint "
                "always holds"
            )
            yield item.advice(message, "remove it", severity="info")


def _have_all(item: ComparedDevices, name: str) -> bool:
    return item.whole and all(name in side.driver.attributes for side in item.sides.values())


def _explain_absence(
    item: ComparedDevices, reference: str, side: RequestDevices
) -> tuple[str, str | None] | None:
    """Return why the devices of a request lack the attribute, with a hint; None if they may have
    it.
    """
    driver = side.driver
    row = side.row("attributes", item.attribute)
    domain, _, name = item.attribute.partition("/")
    hint = _alignment_hint(item)
    if row is not None:
        if side.lacks(row):
            kinds = (
                f"only devices of type {', '.join(row.devices)} have it, not those of type "
                f"{', '.join(side.types)}"
            )
            return (
                f"no device for request {reference} has {item.attribute}: {kinds}",
                driver.explain_absence(hint),
            )
        return None
    if item.attribute in driver.capacities:
        return (
            f"{item.attribute} is a capacity of {driver.name}: constraints compare attributes",
            hint,
        )
    if not driver.fact.complete or domain.endswith(f".{driver.name}"):
        return None
    if domain == driver.name and nearest_published("attributes", domain, name):
        return None  # DRA713 reports misspelt attributes
    unless = f", unless {driver.fact.extension} adds it" if driver.fact.extension else ""
    message = (
        f"no device for request {reference} has {item.attribute}: {driver.name} does not publish "
        f"it{unless}"
    )
    return message, driver.explain_absence(hint)


def _alignment_hint(item: ComparedDevices) -> str | None:
    """Return a hint that names the attributes of alignment which all of the drivers publish."""
    near = [f"{STANDARD_DOMAIN}/{name}" for name in ("pcieRoot", "numaNode")]
    names = [name for name in near if _have_all(item, name)]
    return f"all of these drivers publish {' and '.join(names)}" if names else None


def _explain_types(item: ComparedDevices) -> tuple[str, str | None] | None:
    """Return a message about types that never match.

    A list and a single value of the same type can match if list attributes are enabled.
    """
    first_requests: dict[str, str] = {}
    for reference, side in item.sides.items():
        row = side.row("attributes", item.attribute)
        if row is not None and item.field == "matchAttribute":
            kind = row.type.removesuffix("s") if row.type != "ints" else "int"
            other = next((earlier for earlier in first_requests if earlier != kind), None)
            if other:
                message = (
                    f"{item.attribute} has type {other} for request {first_requests[other]} and "
                    f"{kind} for {reference}"
                )
                return f"{message}: they never match", None
            first_requests.setdefault(kind, reference)
    return None


def _explain_identity(item: ComparedDevices) -> tuple[str, str | None] | None:
    """Return why no two devices match, since the attribute identifies each device."""
    if item.field != "matchAttribute" or not item.whole or item.claim.binds_one(item.constraint):
        return None
    drivers = {side.driver.name for side in item.sides.values()}
    is_unique = len(drivers) > 1 or (
        drivers == {"gpu.nvidia.com"} and all(s.types in _WHOLE for s in item.sides.values())
    )
    if item.attribute in _IDENTITY or (item.attribute == _ADDRESS and is_unique):
        help_ = "compare pcieRoot or numaNode, or remove the constraint"
        return f"no two devices have the same {item.attribute}", help_
    return None


def _value(item: ComparedDevices, side: RequestDevices) -> str | None:
    row = side.row("attributes", item.attribute)
    if row is None or row.when or side.lacks(row):
        return None
    if item.attribute == f"{side.driver.name}/type" and len(side.types) == 1:
        return side.types[0]
    return str(row.values[0]) if len(row.values) == 1 else None


def _constant_value(item: ComparedDevices) -> str | None:
    """Return the value that all devices of a matchAttribute have; None if they may differ."""
    values = {_value(item, side) for side in item.sides.values()}
    single = item.whole and len(values) == 1 and item.field == "matchAttribute"
    return values.pop() if single and not item.claim.binds_one(item.constraint) else None


def _explain_values(item: ComparedDevices) -> tuple[str, str | None] | None:
    """Return values that always differ although they have to match, or are always equal although
    they have to differ.
    """
    values = {reference: _value(item, side) for reference, side in item.sides.items()}
    distinct = {value for value in values.values() if value is not None}
    if item.field == "distinctAttribute":
        if (
            len(distinct) == 1
            and None not in values.values()
            and item.whole
            and not item.claim.binds_one(item.constraint)
        ):
            return (
                (
                    f"every device for these requests has {item.attribute} {distinct.pop()}: no "
                    "two differ"
                ),
                None,
            )
    # Only one of several alternatives is allocated, so their values need not be equal.
    elif len(distinct) > 1 and not any("/" in reference for reference in values):
        pairs = ", ".join(
            f"{value} for request {reference}" for reference, value in values.items() if value
        )
        return f"{item.attribute} is {pairs}: they never match", None
    return None
