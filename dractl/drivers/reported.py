"""Devices known only to a vendor's agent: they are read from a machine file, checked against the
driver's catalogue, and rendered.

Some drivers ask a daemon, a library or a fabric manager for their devices, and /sys shows little or
nothing of these devices. A machine file (``dractl render --hardware FILE``) can list the agent's
reports, which are rendered without additions.
"""

import re
from typing import Any

from dractl.drivers.registry import find
from dractl.facts import Attribute, Driver
from dractl.model import Quantity
from dractl.model.nearest import nearest_names
from dractl.topology.machine import Fact, Machine, Reported

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")
_SEMVER = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)([-+][0-9A-Za-z.+-]+)?\Z")
_MAX_TEXT = 64  # resourceapi.DeviceAttributeMaxValueLength
_WANTED = {
    "int": "an integer",
    "bool": "true or false",
    "string": "a string",
    "version": "a version such as 1.2.3",
}


class Unpublishable(Exception):
    """A value that the driver cannot publish, with the value's ``path`` in the device."""

    def __init__(self, path: tuple[str, ...], message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.path, self.message, self.hint = path, message, hint


def device(driver: str, item: Any) -> Reported:
    """Return a device of a machine file: ``{name: rbln0, ATTRIBUTE: value, ..., capacity: {NAME:
    quantity}}``.

    Raises :class:`Unpublishable` for a value that the driver cannot publish, UsageError for an
    unknown driver.
    """
    catalogue = find(driver).catalogue
    if not isinstance(item, dict):
        raise Unpublishable(
            (), "a device must be a map of its name, its attributes and its capacity"
        )
    name = item.get("name")
    if not isinstance(name, str) or not _LABEL.match(name):
        raise Unpublishable(("name",), f"name must be a DNS label such as npu-0, not {name!r}")
    attributes = {row.name: row for row in catalogue.attributes}
    facts = []
    for key, value in item.items():
        if key in ("name", "capacity"):
            continue
        if key not in attributes:
            raise _unknown(driver, "attribute", key, (key,), tuple(attributes))
        facts.append(Fact(key, _text(key, attributes[key], value)))
    return Reported(
        driver, name, tuple(facts), _capacities(driver, catalogue, item.get("capacity", {}))
    )


def _capacities(driver: str, catalogue: Driver, value: Any) -> tuple[Fact, ...]:
    if not isinstance(value, dict):
        raise Unpublishable(("capacity",), "capacity must be a map from names to quantities")
    names = tuple(row.name for row in catalogue.capacities)
    capacities = []
    for key, amount in value.items():
        if key not in names:
            raise _unknown(driver, "capacity", key, ("capacity", key), names)
        try:
            Quantity.parse(str(amount))
        except ValueError:
            raise Unpublishable(
                ("capacity", key), f"{key} must be a quantity such as 32Gi, not {amount!r}"
            ) from None
        capacities.append(Fact(key, str(amount)))
    return tuple(capacities)


def _unknown(
    driver: str, what: str, key: str, path: tuple[str, ...], known: tuple[str, ...]
) -> Unpublishable:
    near = nearest_names(str(key), known, most=1)
    suggestion = f"; did you mean {near[0]}?" if near else ""
    hint = f"it publishes {', '.join(known)}" if known else f"it publishes no {what}"
    return Unpublishable(path, f"{driver} has no {what} {key!r}{suggestion}", hint)


def _text(key: str, row: Attribute, value: Any) -> str:
    """Return the value as a string, if it has the attribute's type."""
    fits = {
        "int": type(value) is int,
        "bool": isinstance(value, bool),
        "string": isinstance(value, str) and len(value.encode()) <= _MAX_TEXT,
        "version": isinstance(value, str) and _SEMVER.match(value) is not None,
    }.get(row.type, False)
    if not fits:
        wanted = _WANTED.get(row.type, row.type)
        if row.type == "string" and isinstance(value, str):
            wanted = f"at most {_MAX_TEXT} bytes"
        raise Unpublishable((key,), f"{key} must be {wanted}, not {value!r}")
    if row.values and value not in row.values:
        allowed = ", ".join(str(value_allowed) or "empty" for value_allowed in row.values)
        raise Unpublishable((key,), f"{key} must be one of {allowed}, not {value!r}")
    return str(value).lower() if isinstance(value, bool) else str(value)


def devices(machine: Machine, driver: str, catalogue: Driver) -> list[dict[str, Any]]:
    """Return the agent's reports as devices of a ResourceSlice, in the order of the file."""
    types = {row.name: row.type for row in catalogue.attributes}
    return [_device(item, types) for item in machine.reported if item.driver == driver]


def _device(item: Reported, types: dict[str, Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": item.name}
    if item.attributes:
        entry["attributes"] = {
            fact.name: _value(types.get(fact.name, "string"), fact.value)
            for fact in item.attributes
        }
    if item.capacities:
        entry["capacity"] = {fact.name: {"value": fact.value} for fact in item.capacities}
    return entry


def _value(kind: str, text: str) -> dict[str, Any]:
    if kind == "int":
        return {kind: int(text)}
    return {kind: text == "true" if kind == "bool" else text}
