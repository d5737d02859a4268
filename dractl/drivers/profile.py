"""What a driver profile is: how one DRA driver turns a node's hardware into devices, and what it says about them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from dractl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.model.releases import Target
    from dractl.topology.machine import Machine

Type = Literal["string", "int", "bool", "version", "strings", "ints"]


@dataclass(frozen=True, slots=True)
class Attribute:
    """One row of a driver's attribute catalogue.

    ``name`` is as the driver writes it in a ResourceSlice: a bare name belongs to the driver's own domain. ``since`` is
    the first version of :attr:`Profile.versions` that publishes it, ``removed`` the first that no longer does.
    ``devices`` are the values of the driver's ``type`` attribute that have it, where not all do.
    """

    name: str
    type: Type
    about: str
    since: str | None = None
    removed: str | None = None
    optional: bool = False
    devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Capacity:
    """One row of a driver's capacity catalogue, named as in a ResourceSlice."""

    name: str
    about: str
    since: str | None = None
    devices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """An option of the driver itself that changes what it publishes; the first of ``values`` is its default."""

    name: str
    values: str
    about: str


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What a driver publishes, as data: for ``dractl rule DRIVER``, completion and misspelt names."""

    title: str
    source: str
    versions: tuple[str, ...]
    released: str
    attributes: tuple[Attribute, ...]
    capacities: tuple[Capacity, ...] = ()
    settings: tuple[Setting, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """What slices are rendered for.

    ``versions`` are driver versions by driver name (absent: the newest release that dractl knows), ``settings`` are
    driver options, ``{driver: {name: value}}``.
    """

    node_name: str
    target: Target
    versions: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def setting(self, driver: str, name: str) -> str | None:
        return self.settings.get(driver, {}).get(name)


@dataclass(frozen=True, slots=True)
class Inventory:
    """The devices that a driver would publish, in its own order, and what a person should know about them.

    A device is the mapping of a ``resource.k8s.io/v1`` Device, a counter set that of a CounterSet. ``apart`` are names
    of devices that the driver puts into a slice of their own. ``comments`` belong to devices by name.
    """

    devices: tuple[dict[str, Any], ...] = ()
    counter_sets: tuple[dict[str, Any], ...] = ()
    apart: tuple[tuple[str, ...], ...] = ()
    comments: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


class Profile(Protocol):
    """One DRA driver. A profile is a module's value; the registry lists them."""

    @property
    def name(self) -> str:
        """The driver's name, such as ``gpu.nvidia.com``."""
        ...

    @property
    def catalogue(self) -> Catalogue: ...

    def present(self, machine: Machine) -> bool:
        """Whether the machine has hardware of this driver."""
        ...

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        """The devices that the driver would publish on this machine."""
        ...

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:
        """The DeviceClasses that come with the driver."""
        ...


_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.\d+)?(?:[-+].*)?\Z")


def version_index(catalogue: Catalogue, driver: str, text: str | None) -> int:
    """The place in ``catalogue.versions`` of a version as people write it (``v0.4.1``, ``main``); default: the release.

    A version newer than all known is taken as the newest. Raises UsageError for what is no version or an older one.
    """
    known = catalogue.versions
    if text is None:
        return known.index(catalogue.released)
    if text in known:
        return known.index(text)
    match = _VERSION.match(text)
    hint = f"dractl knows {', '.join(known)}"
    if match is None:
        raise UsageError(f"{text!r} is no version of {driver}", hint=hint)
    wanted = (int(match[1]), int(match[2]))
    numbered = [(tuple(map(int, name.split("."))), index) for index, name in enumerate(known) if name[0].isdigit()]
    fitting = [index for version, index in numbered if version <= wanted]
    if not fitting:
        raise UsageError(f"{driver} {text} is older than what dractl knows of it", hint=hint)
    return max(fitting)


def device_class(name: str, expression: str, **spec: Any) -> dict[str, Any]:
    """A DeviceClass of one selector."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}], **spec},
    }
