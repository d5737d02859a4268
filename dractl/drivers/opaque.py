"""Opaque configuration: the ``parameters`` that a driver accepts in claims and classes.

Schemas are files of the pack of facts, written from each driver's API types and validation. They
are JSON Schema. ``since`` is the version of the driver that introduced a field, and ``enumSince``
has the versions that introduced values. A driver checks its configuration only when a pod starts,
so no component reports an error earlier.
"""

import ipaddress
import json
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker, ValidationError, validators
from msgspec import Struct

from dractl import facts
from dractl.facts import pack
from dractl.manifests.documents import Path
from dractl.model import Quantity


class OpaqueFault(Struct, frozen=True):
    """A fault that a driver would report."""

    path: Path
    """The place of the fault in the parameters."""
    message: str
    """The reason."""
    key: bool = False
    """True if the key at ``path`` is at fault, and not its value."""
    nearest: str | None = None
    """The nearest right name; None if none is near."""
    unreleased: bool = False
    """True if only an unreleased version accepts the key or value."""


def drivers_with_schema() -> tuple[str, ...]:
    """Return the drivers whose configuration has a schema."""
    return pack.current().entries("configuration")


def check(
    driver: str, parameters: Mapping[str, Any], version: str | None = None
) -> tuple[OpaqueFault, ...]:
    """Return the faults that a version of ``driver`` (None: the newest release) would find in
    ``parameters``; none for a driver without a schema.
    """
    if driver not in drivers_with_schema():
        return ()
    driver_facts = facts.driver(driver)
    at = driver_facts.versions[driver_facts.index(version)]
    return find_faults(_validator(driver, at), parameters)


def find_faults(validator: Any, parameters: Mapping[str, Any]) -> tuple[OpaqueFault, ...]:
    """Return the faults that a validator of JSON Schema finds in ``parameters``."""
    faults = {fault for error in validator.iter_errors(parameters) for fault in _faults(error)}
    early = [fault.path for fault in faults if _CAME in fault.message]
    inside = {
        fault
        for fault in faults
        for path in early
        if fault.path != path and fault.path[: len(path)] == path
    }
    faults -= inside
    # A misspelt name is not reported as missing as well.
    faults -= {
        OpaqueFault(fault.path[:-1], f'"{fault.nearest}" is required')
        for fault in faults
        if fault.key
    }
    return tuple(sorted(faults, key=lambda fault: (tuple(map(str, fault.path)), fault.message)))


def find_faults_in_claim(
    configurations: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[int, str, OpaqueFault]]:
    """Yield the entries of a claim's ``devices.config`` that drivers would refuse: index of the
    entry, driver, fault.

    Parameters with another apiVersion are left out, since they may belong to another driver with
    the same name. Fields that a later version accepts are left out too, since that version may run.
    """
    for index, entry in enumerate(configurations):
        opaque = entry.get("opaque")
        driver, parameters = (
            (opaque.get("driver"), opaque.get("parameters"))
            if isinstance(opaque, dict)
            else (None, None)
        )
        faults = (
            check(driver, parameters)
            if isinstance(driver, str) and isinstance(parameters, dict)
            else ()
        )
        if not any(fault.path == ("apiVersion",) for fault in faults):
            yield from ((index, str(driver), fault) for fault in faults if not fault.unreleased)


_CAME, _UNRELEASED = "is a field of ", "and not released yet"


@cache
def _validator(driver: str, at: str) -> Any:
    schema = json.loads(pack.current().data(f"configuration/{driver}.json"))
    driver_facts = facts.driver(driver)

    def is_too_early(since: str) -> bool:
        return driver_facts.versions.index(since) > driver_facts.versions.index(at)

    def field(
        _validator: Any, since: str, _instance: Any, _schema: Any
    ) -> Iterator[ValidationError]:
        if is_too_early(since):
            yield ValidationError(_version_phrase(driver_facts, since))

    def values(
        _validator: Any, since: dict[str, str], instance: Any, _schema: Any
    ) -> Iterator[ValidationError]:
        came = since.get(instance) if isinstance(instance, str) else None
        if came is not None and is_too_early(came):
            yield ValidationError(_version_phrase(driver_facts, came))

    kind: Any = validators.extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {"since": field, "enumSince": values}
    )
    formats = FormatChecker(formats=())
    formats.checks("cidr", raises=ValueError)(_is_cidr)
    formats.checks("ip", raises=ValueError)(_is_ip)
    formats.checks("quantity", raises=ValueError)(_is_quantity)
    return kind(schema, format_checker=formats)


def _version_phrase(driver_facts: facts.Driver, since: str) -> str:
    """Return the words for the version that introduced something."""
    version = next(release for release in driver_facts.releases if release.name == since)
    return (
        f"{since}, seen on {version.seen} {_UNRELEASED}"
        if version.seen
        else f"{(*version.tags, since)[0]} on"
    )


def _is_cidr(value: object) -> bool:
    """Return True for an address of Go's netip.ParsePrefix: with a prefix length."""
    if isinstance(value, str):
        if not value.rpartition("/")[2].isdecimal() or "/" not in value:
            return False
        ipaddress.ip_interface(value)
    return True


def _is_ip(value: object) -> bool:
    if isinstance(value, str):
        ipaddress.ip_address(value)
    return True


def _is_quantity(value: object) -> bool:
    if isinstance(value, str):
        Quantity.parse(value)
    return True


_TYPES = {
    "object": "a map",
    "array": "a list",
    "string": "a string",
    "integer": "an integer",
    "boolean": "true or false",
}
_FORMATS = {
    "cidr": "an address with a prefix length, such as 10.0.0.1/24",
    "ip": "an IP address",
    "quantity": "a quantity such as 10Gi",
}


def _faults(error: Any) -> Iterator[OpaqueFault]:
    """Yield the faults for one error of jsonschema, in words."""
    path: Path = tuple(error.absolute_path)
    rule, allowed, value = error.validator, error.validator_value, error.instance
    # for anyOf and the like, the intended branch is the one that is not a constant
    if error.context:
        for inner in error.context:
            if inner.validator != "const":
                yield from _faults(inner)
        return
    if rule == "since":
        unreleased = error.message.endswith(_UNRELEASED)
        yield OpaqueFault(
            path, f'"{path[-1]}" {_CAME}{error.message}', key=True, unreleased=unreleased
        )
        return
    if rule == "enumSince":
        yield OpaqueFault(
            path,
            f"{_describe_value(value)} came with {error.message}",
            unreleased=error.message.endswith(_UNRELEASED),
        )
        return
    if rule == "additionalProperties":
        properties = error.schema.get("properties", {})
        for name in value:
            if name not in properties:
                yield OpaqueFault(
                    (*path, name),
                    f'unknown field "{name}"',
                    key=True,
                    nearest=_nearest(name, properties),
                )
        return
    if rule == "required":
        # One error for each unknown name; the message does not contain the name.
        yield from (
            OpaqueFault(path, f'"{name}" is required') for name in allowed if name not in value
        )
        return
    yield from _value_faults(error, path)


def _value_faults(error: Any, path: Path) -> Iterator[OpaqueFault]:
    """Yield the fault of a value that violates a rule of its schema."""
    rule, allowed, value = error.validator, error.validator_value, error.instance
    nearest = None
    if rule == "const":
        message = f"must be {_describe_value(allowed)}, not {_describe_value(value)}"
        nearest = allowed if isinstance(allowed, str) else None
    elif rule == "enum":
        choices = [choice for choice in allowed if choice != ""]
        message = f"must be one of {', '.join(map(str, choices))}, not {_describe_value(value)}"
        nearest = _nearest(value, [choice for choice in choices if isinstance(choice, str)])
    elif rule == "type":
        wanted = [allowed] if isinstance(allowed, str) else allowed
        message = (
            f"must be {' or '.join(_TYPES.get(kind, f'a {kind}') for kind in wanted)}, not"
            f" {_describe_value(value)}"
        )
    elif rule == "format":
        message = f"must be {_FORMATS[allowed]}, not {_describe_value(value)}"
    elif rule in ("minimum", "maximum"):
        message = (
            f"must be at {'least' if rule == 'minimum' else 'most'} {allowed}, not"
            f" {_describe_value(value)}"
        )
    elif rule == "not" and "description" in error.schema:
        yield OpaqueFault(path, f'"{path[-1]}" {error.schema["description"]}', key=True)
        return
    elif rule == "minLength":
        message = "must not be empty"
    elif rule == "maxLength":
        message = f"must not be longer than {allowed} characters"
    else:
        message = f"{_describe_value(value)} is not allowed here"
    yield OpaqueFault(path, message, nearest=nearest)


def _describe_value(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else "a list"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _nearest(name: object, known: Any) -> str | None:
    if not isinstance(name, str):
        return None
    by_lower = {candidate.lower(): candidate for candidate in known}
    matches = get_close_matches(name.lower(), by_lower, 1)
    return by_lower[matches[0]] if matches else None


pack.forget_with(_validator.cache_clear)
