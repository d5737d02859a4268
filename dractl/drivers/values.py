"""Attribute and capacity values in the form of a ResourceSlice. ``None`` yields no entry, so that
unknown values are absent.
"""

import re
from typing import Any

from dractl.model import Quantity

Values = dict[str, dict[str, Any]]


def attributes(**values: Any) -> Values:
    """Return the attributes by bare name; the type follows the Python value. Sequences become the
    list forms.
    """
    return to_attributes(values)


def to_attributes(found: dict[str, Any]) -> Values:
    """Return the attributes by name, each with the type of its Python value; None is left out."""
    return {name: value(item) for name, item in found.items() if item is not None}


def value(item: Any) -> dict[str, Any]:
    """Return one attribute's value."""
    if isinstance(item, dict):  # the value has the API's form already, such as a version
        return item
    if isinstance(item, bool):
        return {"bool": item}
    if isinstance(item, int):
        return {"int": item}
    if isinstance(item, str):
        return {"string": item}
    items = list(item)
    return {"ints": items} if isinstance(items[0], int) else {"strings": items}


_SEMVER = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?\Z")


def version(text: str | None) -> dict[str, Any] | None:
    """Return a version in the strict form that Masterminds/semver makes of it: ``580.65.06``
    becomes ``580.65.6``, ``9.0`` becomes ``9.0.0``.

    None for a text that this library refuses.
    """
    match = _SEMVER.match(text or "")
    if match is None:
        return None
    core = ".".join(str(int(part or 0)) for part in match.group(1, 2, 3))
    return {"version": core + (match[4] or "") + (match[5] or "")}


def binary_quantity(number: int) -> str:
    """Return ``resource.NewQuantity(number, BinarySI)`` as Go writes it: 85899345920
    is ``80Gi``.
    """
    return str(Quantity(number, 0, "BinarySI"))


def decimal_quantity(number: int) -> str:
    """Return ``resource.NewQuantity(number, DecimalSI)`` as Go writes it: 2000 is ``2k``."""
    return str(Quantity(number, 0, "DecimalSI"))
