"""Driver profiles: how one DRA driver turns a node's hardware into devices, and what their attributes mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct, field

from dractl.errors import UsageError
from dractl.model.nearest import nearest_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dractl.model.releases import Target
    from dractl.topology.machine import Machine

Type = Literal["string", "int", "bool", "version", "strings", "ints"]


class Attribute(Struct, frozen=True):
    """One row of a driver's attribute catalogue.

    ``name`` is spelled as in the driver's ResourceSlices: a bare name belongs to the driver's own domain. ``since`` is
    the first version of :attr:`Catalogue.versions` that publishes it, ``removed`` the first that no longer does.
    ``devices`` are the values of the driver's ``type`` attribute that have it (empty: all). ``when`` is the condition
    under which such a device has it; empty means always. ``values`` is the complete list of values, where there is one.
    ``list_with`` names the driver option with which the value is a list instead of a scalar.
    """

    name: str
    type: Type
    about: str
    since: str | None = None
    removed: str | None = None
    when: str = ""
    devices: tuple[str, ...] = ()
    values: tuple[str | int | bool, ...] = ()
    list_with: str | None = None

    @property
    def optional(self) -> bool:
        """True if a device may lack the attribute, so that an unguarded lookup in CEL can fail."""
        return bool(self.when)


class Capacity(Struct, frozen=True):
    """One row of a driver's capacity catalogue; the fields are those of an :class:`Attribute`."""

    name: str
    about: str
    since: str | None = None
    removed: str | None = None
    when: str = ""
    devices: tuple[str, ...] = ()

    @property
    def optional(self) -> bool:
        """True if a device may lack the capacity."""
        return bool(self.when)


class Taint(Struct, frozen=True):
    """A taint that the driver puts on its own devices. ``value`` describes the taint's value; empty: it has none."""

    key: str
    effects: tuple[str, ...]
    about: str
    value: str = ""
    since: str | None = None
    when: str = ""


class Setting(Struct, frozen=True):
    """An option of the driver itself that changes what it publishes; the first of ``values`` is its default."""

    name: str
    values: str
    about: str


class Catalogue(Struct, frozen=True):
    """A driver's attributes and classes as data, for ``dractl rule DRIVER``, lint and completion.

    ``complete`` is false where devices can have attributes that are not here: an administrator adds them, or the driver
    is known in part only. ``extension``: what may add attributes to a complete catalogue where somebody sets it up.
    ``versions`` are in order, as releases are named but without the patch; ``main`` is what is not released yet.
    ``tags`` are the releases, by git tag, that publish what a version publishes, oldest first. ``aliases`` are other
    names of versions, by name.
    ``chart``: values without which the driver's Helm chart installs neither its classes nor the part that publishes.
    """

    title: str
    source: str
    versions: tuple[str, ...]
    released: str
    attributes: tuple[Attribute, ...]
    capacities: tuple[Capacity, ...] = ()
    taints: tuple[Taint, ...] = ()
    settings: tuple[Setting, ...] = ()
    notes: tuple[str, ...] = ()
    complete: bool = True
    extension: str = ""
    chart: str = ""
    tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> dict[str, str]:
        """Versions by each of their names: their own, their tags and their aliases."""
        tags = {tag: version for version, tags in self.tags.items() for tag in tags}
        return {**{name: name for name in self.versions}, **tags, **self.aliases}

    def with_tags(self, version: str) -> str:
        """A version with its releases: ``25.8 (v25.8.0, v25.8.1)``."""
        tags = ", ".join(self.tags.get(version, ()))
        return f"{version} ({tags})" if tags else version


class Options(Struct, frozen=True):
    """The settings for rendering slices.

    ``versions`` are driver versions by driver name (absent: the newest release that dractl knows), ``settings`` are
    driver options, ``{driver: {name: value}}``.
    """

    node_name: str
    target: Target
    versions: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def setting(self, driver: str, name: str) -> str | None:
        """The value given for a driver option, or None."""
        return self.settings.get(driver, {}).get(name)

    def flag(self, driver: str, name: str, *, default: bool = False) -> bool:
        """A driver option that is true or false; raises UsageError for other values."""
        value = self.setting(driver, name) or str(default).lower()
        if value not in ("false", "true"):
            raise UsageError(f"{driver}: {name} must be true or false, not {value!r}")
        return value == "true"

    def number(self, driver: str, name: str, default: int, most: int) -> int:
        """A driver option that is a number from 0 to ``most``; raises UsageError for other values."""
        text = self.setting(driver, name)
        if text is None:
            return default
        if not (text.isascii() and text.isdecimal()) or len(text) > len(str(most)) or int(text) > most:
            raise UsageError(f"{driver}: {name} must be a number from 0 to {most}, not {text!r}")
        return int(text)


class Slice(Struct, frozen=True):
    """One ResourceSlice as the driver passes it to the helper library, which publishes it unchanged.

    A device is the mapping of a ``resource.k8s.io/v1`` Device, a counter set that of a CounterSet.
    """

    devices: tuple[dict[str, Any], ...] = ()
    counter_sets: tuple[dict[str, Any], ...] = ()


class Inventory(Struct, frozen=True):
    """Devices that a driver would publish for a node, in its own order.

    ``comments`` explain single devices, by name; ``left_out`` says of PCI functions of the driver, by address, why they
    are not published; ``notices`` are for the user. ``unpublished`` says why the driver publishes nothing at all: it
    does not start on this machine. It is None where the driver runs, even if there is no device. (That the API server
    refuses a slice is found by :func:`dractl.drivers.render`.)
    """

    slices: tuple[Slice, ...] = ()
    comments: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    unpublished: str | None = None

    @property
    def devices(self) -> tuple[dict[str, Any], ...]:
        """The devices of all slices."""
        return tuple(device for one in self.slices for device in one.devices)

    @property
    def counter_sets(self) -> tuple[dict[str, Any], ...]:
        """The counter sets of all slices."""
        return tuple(counters for one in self.slices for counters in one.counter_sets)


def one_slice(devices: Iterable[dict[str, Any]]) -> tuple[Slice, ...]:
    """The devices in a single slice, as most drivers publish them; no slice if there are none."""
    held = tuple(devices)
    return (Slice(held),) if held else ()


class Profile(Protocol):
    """One DRA driver. A profile is a module's value; the registry lists them."""

    @property
    def name(self) -> str:
        """The driver's name, such as ``gpu.nvidia.com``."""
        ...

    @property
    def catalogue(self) -> Catalogue: ...

    def present(self, machine: Machine) -> bool:
        """True if the machine has hardware of this driver."""
        ...

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        """The devices that the driver would publish on this machine."""
        ...

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:
        """The DeviceClasses that come with the driver."""
        ...


_CALENDAR = 20  # versions that begin with more are years
_VERSION = re.compile(r"(?:[a-z]+-)?v?(\d+)\.(\d+)(?:\.\d+)?(?:[-+].*)?\Z")


def version_index(catalogue: Catalogue, driver: str, text: str | None) -> int:
    """Index in ``catalogue.versions`` of a version as users write it: ``0.10``, ``v0.10.1``, ``gpu-v0.10.1``, ``main``.

    None is the release that is rendered by default. A version that is none of those known counts as the newest before
    it. Raises UsageError for everything else.
    """
    known = catalogue.versions
    if text is None:
        return known.index(catalogue.released)
    names = catalogue.names
    if text in names:
        return known.index(names[text])
    wanted = _number(text)
    hint = f"dractl knows {', '.join(map(catalogue.with_tags, known))}"
    if wanted is None:
        near = nearest_names(text, tuple(names), most=1)
        suggestion = f"; did you mean {near[0]}?" if near else ""
        raise UsageError(f"{text!r} is not a version of {driver}{suggestion}", hint=hint)
    fitting = [number for number in _numbers(catalogue, wanted) if number <= wanted]
    if not fitting:
        raise UsageError(f"{driver} {text} is older than the versions dractl knows", hint=hint)
    return known.index(_numbers(catalogue, wanted)[max(fitting)])


def stand_in(catalogue: Catalogue, driver: str, text: str | None) -> str | None:
    """The known version that stands for ``text``, a version that dractl does not know; None for versions it knows."""
    wanted = _number(text or "")
    if wanted is None or text in catalogue.names or wanted in _numbers(catalogue, wanted):
        return None
    return catalogue.versions[version_index(catalogue, driver, text)]


def _number(text: str) -> tuple[int, int] | None:
    match = _VERSION.match(text)
    return (int(match[1]), int(match[2])) if match else None


def _numbers(catalogue: Catalogue, like: tuple[int, int]) -> dict[tuple[int, int], str]:
    """Versions by the numbers of all their names that are counted like another: by calendar, or not."""
    found = {number: version for name, version in catalogue.names.items() if (number := _number(name))}
    return {number: version for number, version in found.items() if (number[0] > _CALENDAR) == (like[0] > _CALENDAR)}


def device_class(name: str, expression: str, **spec: Any) -> dict[str, Any]:
    """A DeviceClass with one selector."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}], **spec},
    }
