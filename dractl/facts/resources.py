"""Extended resources of device plugins and words for hardware, and the drivers and classes that
stand for them.
"""

from functools import cache

from msgspec import Struct

from dractl.facts import pack


class Resource(Struct, frozen=True, rename={"device_class": "class"}, forbid_unknown_fields=True):
    """A resource: a whole name, or a prefix that ends in ``/`` or ``-``."""

    name: str
    drivers: tuple[str, ...]
    """The drivers that publish the hardware behind it, the usual one first."""
    request: str = ""
    """A name for its request and claim."""
    device_class: str = ""
    """The class that stands for it, if one of the resource is one device of the class."""
    source: str = ""
    read: str = ""


class Without(Struct, frozen=True, forbid_unknown_fields=True):
    """A resource that no device stands for, and why."""

    name: str
    why: str
    source: str = ""
    read: str = ""


class Companion(Struct, frozen=True, forbid_unknown_fields=True):
    """A resource that chooses the part of the device of another resource, ``of``, that a container
    gets.
    """

    name: str
    of: str
    source: str = ""
    read: str = ""


class Resources(Struct, frozen=True, forbid_unknown_fields=True):
    """The file ``resources.json``; of several rows for a resource the first counts."""

    source: str
    read: str
    hardware: dict[str, tuple[str, ...]]
    """The words of ``fit``: any other word in a shape is the name of a DeviceClass."""
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
    """Return the word for the hardware of a driver: gpu, nic."""
    return next((word for word, drivers in hardware().items() if driver in drivers), None)


@cache
def by_name() -> dict[str, Resource]:
    """Return the resources that a class stands for, by name."""
    return {row.name: row for row in resources().resources if row.device_class}


@cache
def with_plugin() -> frozenset[str]:
    """Return the drivers of hardware that a device plugin exists for, too."""
    return frozenset(driver for row in resources().resources for driver in row.drivers)


def drivers_of(resource: str) -> tuple[str, ...]:
    """Return the DRA drivers that publish the hardware behind an extended resource; empty if none
    is known.
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
