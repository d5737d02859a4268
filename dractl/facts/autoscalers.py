"""Devices that an autoscaler's provider declares for instance types that have no node yet."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from msgspec import Struct

from dractl.errors import UsageError
from dractl.facts import pack
from dractl.facts.consumers import consumers, parse_consumers

_FOLDER = "autoscalers"


class DeviceGroup(Struct, frozen=True, forbid_unknown_fields=True):
    """Devices of one driver on an instance type."""

    driver: str
    names: tuple[str, ...]
    attributes: dict[str, dict[str, Any]]
    """Attributes with the same value on all of the devices, in the form of a ResourceSlice."""
    varying: dict[str, tuple[dict[str, Any] | None, ...]] = {}
    """Attributes with a value for each device; None for a device that lacks the attribute."""
    capacity: dict[str, dict[str, Any]] = {}

    def devices(self) -> Iterator[dict[str, Any]]:
        """Yield the devices in the form of a ResourceSlice."""
        for number, name in enumerate(self.names):
            varying = {
                key: values[number]
                for key, values in self.varying.items()
                if values[number] is not None
            }
            yield {
                "name": name,
                "attributes": {**self.attributes, **varying},
                "capacity": self.capacity,
            }


class InstanceType(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Devices that the provider declares for an instance type, in the order of its templates."""

    groups: tuple[DeviceGroup, ...]
    equal_on_node: tuple[str, ...] = ()
    """Attributes without a known value that are declared to be equal on all devices of their
    driver.
    """


class DeviceTables(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The tables of one provider."""

    autoscaler: str
    """The autoscaler's name in ``--for``."""
    title: str
    provider: str
    since: str
    """The first version of the autoscaler whose provider declares devices."""
    newest: str
    """The newest version that was read."""
    seconds: int
    """The time limit of one search over all instance types, in seconds."""
    release: str
    """The Kubernetes release of the library that compiles its selectors."""
    enabled_by: str
    """The setting that turns on claims."""
    well_known_labels: tuple[str, ...]
    """Labels that a node may get when it is launched, with a value that its NodePool need not
    specify.
    """
    source: str
    read: str
    types: dict[str, InstanceType]


@cache
def device_tables() -> Mapping[str, DeviceTables]:
    """Return the tables of the pack by the name of their autoscaler."""
    current = pack.current()
    tables = [
        current.read(f"{_FOLDER}/{name}.json", DeviceTables) for name in current.entries(_FOLDER)
    ]
    return {table.autoscaler: table for table in tables}


class AutoscalerChoice(Struct, frozen=True):
    """An autoscaler that a user named with ``--for``."""

    name: str
    title: str
    version: str | None
    """The version; None for the newest known one."""
    tables: DeviceTables | None
    """The tables of its provider; None if nothing is known of the devices that it expects."""

    @property
    def text(self) -> str:
        """``Karpenter 1.15 on AWS``."""
        if self.tables is None:
            return self.title
        first, _, others = self.title.partition(" ")
        return f"{first} {self.version or self.tables.newest}" + (f" {others}" if others else "")


JUDGES = ("karpenter", "cluster-autoscaler")
"""The autoscalers that ``explain --for`` and ``fit --for`` take."""


def choose_autoscaler(text: str) -> AutoscalerChoice:
    """Return the autoscaler that ``karpenter`` or ``karpenter=1.15`` names. Raises UsageError."""
    ((name, version),) = parse_consumers([text]).items()
    if name not in JUDGES:
        raise UsageError(
            f"--for {name}: {consumers()[name].title} launches no nodes",
            hint=f"it takes {' and '.join(JUDGES)}",
        )
    return AutoscalerChoice(name, consumers()[name].title, version, device_tables().get(name))


_AWS_TYPE = re.compile(
    r"[a-z][a-z0-9-]{1,20}\.(?:metal(?:-\d+xl)?|\d{0,3}x?large|nano|micro|small|medium)\Z"
)


def is_aws_type(name: str) -> bool:
    """Return True if a name has the form of AWS's instance types."""
    return _AWS_TYPE.match(name) is not None


pack.forget_with(device_tables.cache_clear)
