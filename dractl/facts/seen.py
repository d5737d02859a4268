"""Values of ResourceSlices that the pack lacks: values in the input take precedence, and are
reported.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from dractl.facts.drivers import Driver, driver, names
from dractl.program import program_name

_MAX_NAMED = 6  # names in a note
# Names that everybody uses, such as the names of the example driver
_EXAMPLE_DOMAIN = ".example.com"
_PLAIN = re.compile(r"[A-Za-z0-9._/-]{1,130}\Z")


def differences(objects: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return a sentence for each driver whose slices have attributes, capacities or values that the
    pack lacks.
    """
    return describe_unknown([unknown_values(objects)])


def describe_unknown(parts: Iterable[Mapping[str, Iterable[str]]]) -> tuple[str, ...]:
    """Return the sentences about unknown values in several parts of an input."""
    by_driver: dict[str, set[str]] = {}
    for part in parts:
        for name, unknown in part.items():
            by_driver.setdefault(name, set()).update(unknown)
    return tuple(
        _describe_driver(driver(name), sorted(unknown))
        for name, unknown in sorted(by_driver.items())
    )


def unknown_values(objects: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the values that slices have and the pack lacks, by driver."""
    by_driver: dict[str, set[str]] = {}
    for name, device in _devices(objects):
        unknown = (
            text for text in _unknown(driver(name), device) if all(map(_PLAIN.match, text.split()))
        )
        by_driver.setdefault(name, set()).update(unknown)
    return {name: sorted(unknown) for name, unknown in by_driver.items() if unknown}


def names_of_publishers(objects: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the names of the drivers whose slices are among the objects."""
    return frozenset(
        name
        for item in objects
        if item.get("kind") == "ResourceSlice"
        and isinstance(name := _map(item.get("spec")).get("driver"), str)
    )


class UnknownDriver(Struct, frozen=True):
    """A driver of slices about which the pack has no facts."""

    name: str
    devices: int
    """The number of devices in the newest generation of each pool."""
    attributes: int
    """The number of different attribute names on these devices."""


def unknown_drivers(objects: Iterable[Mapping[str, Any]]) -> tuple[UnknownDriver, ...]:
    """Return the drivers of slices that the pack lacks, by name."""
    pools: dict[str, dict[str, list[_Slice]]] = {}
    for item in objects:
        spec = _map(item.get("spec")) if item.get("kind") == "ResourceSlice" else {}
        name, pool = spec.get("driver"), _map(spec.get("pool"))
        if not isinstance(name, str) or not _PLAIN.match(name) or name in names():
            continue
        generation = pool.get("generation")
        published = _Slice(
            generation if isinstance(generation, int) else 0, tuple(_device_contents(spec))
        )
        pools.setdefault(name, {}).setdefault(str(pool.get("name")), []).append(published)
    return tuple(_count_devices(name, pools[name].values()) for name in sorted(pools))


class _Slice(Struct, frozen=True):
    generation: int
    devices: tuple[Mapping[str, Any], ...]


def _count_devices(name: str, pools: Iterable[list[_Slice]]) -> UnknownDriver:
    devices = [
        device
        for slices in pools
        for published in slices
        if published.generation == max(slice_.generation for slice_ in slices)
        for device in published.devices
    ]
    attributes = {key for device in devices for key in _map(device.get("attributes"))}
    return UnknownDriver(name, len(devices), len(attributes))


def _describe_driver(facts: Driver, unknown: list[str]) -> str:
    listed = ", ".join(unknown[:_MAX_NAMED]) + (
        f" and {len(unknown) - _MAX_NAMED} more" if len(unknown) > _MAX_NAMED else ""
    )
    return (
        f"slices of {facts.name} have {listed}, which the facts lack (known to {facts.newest}, read"
        f" on {facts.read}): names seen in slices count as known; `{program_name()} facts FILE`"
        " lists drivers that run in a newer version"
    )


def _devices(objects: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for item in objects:
        spec = item.get("spec") if item.get("kind") == "ResourceSlice" else None
        name = spec.get("driver") if isinstance(spec, dict) else None
        if not isinstance(spec, dict) or name not in names() or str(name).endswith(_EXAMPLE_DOMAIN):
            continue
        if not driver(str(name)).judges_slices:
            continue
        for content in _device_contents(spec):
            yield str(name), content


def _device_contents(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the contents of a slice's devices; in v1beta1 they are below ``basic``."""
    listed = spec.get("devices")
    for device in listed if isinstance(listed, list) else ():
        basic = device.get("basic") if isinstance(device, dict) else None
        content = basic if isinstance(basic, dict) else device
        if isinstance(content, dict):
            yield content


def _unknown(facts: Driver, device: Mapping[str, Any]) -> Iterator[str]:
    attributes = {facts.full(row.name): row for row in facts.attributes}
    domains = {name.partition("/")[0] for name in attributes}
    for key, value in _map(device.get("attributes")).items():
        if facts.full(str(key)).partition("/")[0] not in domains:
            continue  # an attribute in another domain, which another program adds
        row = attributes.get(facts.full(str(key)))
        held = next((text for text in _map(value).values() if isinstance(text, str)), None)
        if row is None:
            yield f"attribute {key}"
        elif row.values and held is not None and held not in row.values:
            yield f"{key} {held}"
    capacities = {facts.full(row.name) for row in facts.capacities}
    for key in _map(device.get("capacity")):
        if facts.full(str(key)) not in capacities:
            yield f"capacity {key}"


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
