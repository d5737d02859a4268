"""What ResourceSlices have and the pack says that it does not exist: what is seen wins, and is
told."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from dractl.facts.drivers import Driver, driver, names
from dractl.program import program_name

_MOST = 6  # names in a note
_ANYBODYS = ".example.com"  # names that everybody makes up, also those of the example driver
_PLAIN = re.compile(r"[A-Za-z0-9._/-]{1,130}\Z")


def differences(objects: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return a sentence for each driver whose slices have attributes, capacities or values that the
    pack lacks.
    """
    return told([unknown_in(objects)])


def told(parts: Iterable[Mapping[str, Iterable[str]]]) -> tuple[str, ...]:
    """Return the sentences about what was found in several parts of an input."""
    found: dict[str, set[str]] = {}
    for part in parts:
        for name, unknown in part.items():
            found.setdefault(name, set()).update(unknown)
    return tuple(_told(driver(name), sorted(unknown)) for name, unknown in sorted(found.items()))


def unknown_in(objects: Iterable[Mapping[str, Any]]) -> dict[str, list[str]]:
    """What slices have and the pack lacks, by driver."""
    found: dict[str, set[str]] = {}
    for name, device in _devices(objects):
        unknown = (
            text for text in _unknown(driver(name), device) if all(map(_PLAIN.match, text.split()))
        )
        found.setdefault(name, set()).update(unknown)
    return {name: sorted(unknown) for name, unknown in found.items() if unknown}


class UnknownDriver(Struct, frozen=True):
    """A driver of slices that the pack has no facts about."""

    name: str
    devices: int
    """In the newest generation of each pool."""
    attributes: int
    """Different names of attributes that they have."""


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
        if published.generation == max(one.generation for one in slices)
        for device in published.devices
    ]
    attributes = {key for device in devices for key in _map(device.get("attributes"))}
    return UnknownDriver(name, len(devices), len(attributes))


def _told(known: Driver, unknown: list[str]) -> str:
    listed = ", ".join(unknown[:_MOST]) + (
        f" and {len(unknown) - _MOST} more" if len(unknown) > _MOST else ""
    )
    return (
        f"slices of {known.name} have {listed}, which the facts lack (known to {known.newest}, read"
        f" on {known.read}): what is seen counts; `{program_name()} facts FILE` tells what runs and"
        " is newer"
    )


def _devices(objects: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for item in objects:
        spec = item.get("spec") if item.get("kind") == "ResourceSlice" else None
        name = spec.get("driver") if isinstance(spec, dict) else None
        if not isinstance(spec, dict) or name not in names() or str(name).endswith(_ANYBODYS):
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


def _unknown(known: Driver, device: Mapping[str, Any]) -> Iterator[str]:
    attributes = {known.full(row.name): row for row in known.attributes}
    domains = {name.partition("/")[0] for name in attributes}
    for key, value in _map(device.get("attributes")).items():
        if known.full(str(key)).partition("/")[0] not in domains:
            continue  # somebody else adds it
        row = attributes.get(known.full(str(key)))
        held = next((one for one in _map(value).values() if isinstance(one, str)), None)
        if row is None:
            yield f"attribute {key}"
        elif row.values and held is not None and held not in row.values:
            yield f"{key} {held}"
    capacities = {known.full(row.name) for row in known.capacities}
    for key in _map(device.get("capacity")):
        if known.full(str(key)) not in capacities:
            yield f"capacity {key}"


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
