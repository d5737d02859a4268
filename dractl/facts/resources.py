"""Extended resources of device plugins, and words for hardware, with the drivers and classes that
correspond to them.
"""

from functools import cache

from msgspec import Struct

from dractl.facts import pack


class Resource(Struct, frozen=True, rename={"device_class": "class"}, forbid_unknown_fields=True):
    """A resource: a complete name, or a prefix that ends in ``/`` or ``-``."""

    name: str
    drivers: tuple[str, ...]
    """The drivers that publish the same hardware, the usual one first."""
    request: str = ""
    """A name for the request and the claim that replace the resource."""
    device_class: str = ""
    """The class that replaces the resource, if one unit of it is one device of the class."""
    source: str = ""
    read: str = ""


class Without(Struct, frozen=True, forbid_unknown_fields=True):
    """A resource that has no corresponding device, with the reason."""

    name: str
    why: str
    source: str = ""
    read: str = ""


class Companion(Struct, frozen=True, forbid_unknown_fields=True):
    """A resource that selects which part of another resource's device (``of``) a container gets."""

    name: str
    of: str
    source: str = ""
    read: str = ""


class Resources(Struct, frozen=True, forbid_unknown_fields=True):
    """The file ``resources.json``; if a resource has several rows, the first one counts."""

    source: str
    read: str
    hardware: dict[str, tuple[str, ...]]
    """The hardware words of ``fit``; any other word in a shape is the name of a DeviceClass."""
    resources: tuple[Resource, ...]
    without: tuple[Without, ...] = ()
    companions: tuple[Companion, ...] = ()


@cache
def resources() -> Resources:
    """Return the tables."""
    return pack.current().read("resources.json", Resources)


def hardware() -> dict[str, tuple[str, ...]]:
    """Return the drivers by words for hardware."""
    return resources().hardware


def word_of(driver: str) -> str | None:
    """Return the word for the hardware of a driver, such as gpu or nic; None if there is none."""
    return next((word for word, drivers in hardware().items() if driver in drivers), None)


@cache
def by_name() -> dict[str, Resource]:
    """Return the resources that have a corresponding class, by name."""
    return {row.name: row for row in resources().resources if row.device_class}


@cache
def with_plugin() -> frozenset[str]:
    """Return the drivers of hardware for which there is also a device plugin."""
    return frozenset(driver for row in resources().resources for driver in row.drivers)


def drivers_of(resource: str) -> tuple[str, ...]:
    """Return the DRA drivers for the hardware behind an extended resource; empty if none is
    known.
    """
    for row in resources().resources:
        name = row.name
        if (
            resource == name
            or (name[-1] in "/-" and resource.startswith(name))
            or resource.startswith(f"{name}-")
        ):
            return row.drivers
    return ()


for _known in (resources, by_name, with_plugin):
    pack.forget_with(_known.cache_clear)
