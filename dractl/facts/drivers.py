"""Facts about DRA drivers. The pack has one file for each driver, with versions, attributes,
classes, taints and changes.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any, ClassVar, Literal

from msgspec import Struct, field

from dractl.errors import UsageError
from dractl.facts import pack

Type = Literal["string", "int", "bool", "version", "strings", "ints"]
_MAX_COMPARED_LENGTH = 100  # compared characters
_MAX_PLAIN_MAJOR = 20  # versions with a larger first number are years
_VERSION = re.compile(r"(?:[a-z]+-)?v?(\d+)\.(\d+)(?:\.\d+)?(?:[-+].*)?\Z")


class Row(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The base of all rows."""

    since: str | None = None
    """The first version of the driver to which the row applies; None if it applies to the oldest
    known one.
    """
    removed: str | None = None
    """The first version to which the row no longer applies; None if there is no such version."""
    source: str = ""
    """The repository, the commit or tag, and the file; if it is empty, the source of the file of
    facts.
    """
    read: str = ""
    """The date on which it was read; if it is empty, the date of the file of facts."""


class KnownVersion(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A version by the name that dractl uses, without the patch number."""

    name: str
    tags: tuple[str, ...] = ()
    """The releases that belong to this version, as git tags, oldest first."""
    aliases: tuple[str, ...] = ()
    """Other names of the version."""
    released: str = ""
    """The date of the first tag."""
    seen: str = ""
    """The date on which an unreleased version (a main branch) was read."""
    source: str = ""


class Attribute(Row, frozen=True, kw_only=True):
    """An attribute. ``name`` is written as in ResourceSlices: a bare name belongs to the driver's
    own domain.
    """

    name: str
    type: Type
    about: str
    when: str = ""
    """The condition under which devices have the attribute; empty means always."""
    devices: tuple[str, ...] = ()
    """The values of the driver's ``type`` attribute for devices that have it; empty for all."""
    values: tuple[str | int | bool, ...] = ()
    """The complete list of values, if there is one."""
    values_since: dict[str, str] = field(default_factory=dict)
    """The first version of each value that was introduced after the attribute."""
    list_with: str | None = None
    """The driver option that makes the value a list instead of a scalar."""
    same_as: str = ""
    """The name of another attribute, of any version, that has the same value."""
    more_since: str | None = None
    """The first version in which further devices, described by ``when``, have the attribute."""
    fewer_since: str | None = None
    """The first version in which devices of the types in ``lost_by`` no longer have it."""
    lost_by: tuple[str, ...] = ()
    """Values of the driver's ``type`` attribute."""
    site: bool = False
    """True if no description of a machine can contain it: an address, a name that changes, a
    version of software.
    """

    @property
    def optional(self) -> bool:
        """True if a device may lack the attribute, so that an unguarded lookup in CEL can fail."""
        return bool(self.when)


class Capacity(Row, frozen=True, kw_only=True):
    """A capacity; the fields are the same as in an :class:`Attribute`."""

    type: ClassVar[str] = "quantity"
    values: ClassVar[tuple[str, ...]] = ()
    values_since: ClassVar[dict[str, str]] = {}
    list_with: ClassVar[str | None] = None

    name: str
    about: str
    when: str = ""
    devices: tuple[str, ...] = ()

    @property
    def optional(self) -> bool:
        """True if a device may lack the capacity."""
        return bool(self.when)


class DeviceKind(Row, frozen=True, kw_only=True):
    """Devices of a kind that the driver publishes from ``since`` on, on hardware that it knew
    before.
    """

    about: str
    """The name of these devices, in the plural."""
    attributes: dict[str, str | int | bool]
    """The values that each of them has, by attribute."""
    lacks: tuple[str, ...] = ()
    """Attributes that other devices of the driver have and these devices lack."""
    when: str = ""
    """The condition under which they are published, such as a feature gate; empty if the hardware
    is the only condition.
    """


class Taint(Row, frozen=True, kw_only=True):
    """A taint that the driver puts on its own devices."""

    key: str
    effects: tuple[str, ...]
    about: str
    value: str = ""
    """A description of the taint's value; empty if it has none."""
    when: str = ""


class Setting(Row, frozen=True, kw_only=True):
    """An option of the driver that changes what it publishes; the first of ``values`` is its
    default.
    """

    name: str
    values: str
    about: str


class InstalledClass(Row, frozen=True, kw_only=True):
    """A DeviceClass that the driver's chart installs. Without ``selectors``, only its name is
    known.
    """

    name: str
    selectors: tuple[str, ...]
    types: tuple[str, ...] = ()
    """The values of the attribute ``type`` that its selectors accept; empty for all."""
    options: dict[str, str] = field(default_factory=dict)
    """The chart's settings with which the class is installed, by name and value."""
    extended_resource_name: str = ""
    config: tuple[dict[str, Any], ...] = ()

    def manifest(self) -> dict[str, Any]:
        """Return the class in the form in which its chart writes it."""
        spec: dict[str, Any] = {
            "selectors": [{"cel": {"expression": expression}} for expression in self.selectors]
        }
        if self.extended_resource_name:
            spec["extendedResourceName"] = self.extended_resource_name
        if self.config:
            spec["config"] = list(self.config)
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": self.name},
            "spec": spec,
        }


class Model(Row, frozen=True, kw_only=True):
    """The names that a driver has for devices with one PCI device id: the model, and the family if
    the driver publishes one.
    """

    name: str
    family: str = ""


class Wait(Row, frozen=True, kw_only=True):
    """Something that the driver waits for inside a call, so that the kubelet's event only reports a
    timeout.
    """

    devices: tuple[str, ...]
    """The values of the driver's ``type`` attribute for devices for which it waits."""
    about: str
    step: str
    holders: tuple[str, ...] = ()
    """Words in the names of pods that often hold a device of these types open without a claim."""


class RootSetting(Row, frozen=True, kw_only=True):
    """The setting of the folder on a node in which the driver looks for its vendor's libraries and
    programs.
    """

    variable: str
    """The environment variable of its containers."""
    option: str
    """The value of its Helm chart."""
    policies: dict[str, str] = field(default_factory=dict)
    """For each kind of cluster-wide policy that also has the setting, its field, as a path with
    dots.
    """


class VendorLibraries(Row, frozen=True, kw_only=True):
    """Messages of the vendor's libraries and programs in a container that finds no device."""

    words: tuple[str, ...]
    """Parts of these messages."""
    device_files: str
    """The paths at which the kernel driver creates the devices."""
    check: str
    """The command that succeeds on a node if the devices exist."""

    def reports_no_device(self, text: str) -> bool:
        """Return True if a text contains one of these messages."""
        return any(words.lower() in text.lower() for words in self.words)


class Contradiction(Row, frozen=True, kw_only=True):
    """Values that a device cannot have at the same time, so that the driver must have misread the
    hardware.
    """

    when: dict[str, str]
    """The attributes of a device."""
    attribute: str
    """An attribute of the same device."""
    value: str | int | bool
    """A value that this attribute can never have together with the attributes of ``when``."""
    about: str
    """The reason."""


class CodeChange(Row, frozen=True, kw_only=True):
    """A difference in the driver's code from ``since`` on; dractl's code checks for it by name."""

    about: str


class Limit(Row, frozen=True, kw_only=True):
    """A part of the API that the driver implements differently from its documentation, until
    ``removed``.
    """

    about: str


class Driver(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """The facts about a driver, for rendering, ``dractl rule DRIVER``, lint and completion."""

    name: str
    title: str
    source: str
    read: str
    releases: tuple[KnownVersion, ...] = field(name="versions")
    attributes: tuple[Attribute, ...] = ()
    capacities: tuple[Capacity, ...] = ()
    device_kinds: tuple[DeviceKind, ...] = ()
    taints: tuple[Taint, ...] = ()
    settings: tuple[Setting, ...] = ()
    models: dict[str, Model] = field(default_factory=dict)
    classes: tuple[InstalledClass, ...] = ()
    changes: dict[str, CodeChange] = field(default_factory=dict)
    limits: dict[str, Limit] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    complete: bool = True
    """False if devices can have attributes that are missing here: an administrator adds them, or
    the driver is only partly known.
    """
    extension: str = ""
    """The component that may add attributes to a complete list if somebody sets it up."""
    other_taints: str = ""
    """Other programs that taint its devices, with unknown keys."""
    images: tuple[str, ...] = ()
    """The names of its container images, without registry and tag."""
    container: str = ""
    """The container of its kubelet plug-in that serves this driver, if the plug-in's pod serves
    several.
    """
    made_pods: tuple[str, ...] = ()
    """Labels of the pods that it creates for claims, which run the same image."""
    objects: dict[str, str] = field(default_factory=dict)
    """The custom kinds that help to diagnose the driver's faults, with their resources."""
    chart: str = ""
    """Values that the driver's Helm chart needs in order to install its classes and the part that
    publishes.
    """
    waits: tuple[Wait, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    root: RootSetting | None = None
    libraries: VendorLibraries | None = None
    tables: dict[str, dict[str, str]] = field(default_factory=dict)
    """Tables from the driver's own code, for the module that renders it."""

    @property
    def versions(self) -> tuple[str, ...]:
        """The names of the versions, oldest first."""
        return tuple(release.name for release in self.releases)

    @property
    def released(self) -> str:
        """The newest released version; for a driver without releases, the last version."""
        return next(
            (release.name for release in reversed(self.releases) if not release.seen),
            self.releases[-1].name,
        )

    @property
    def tags(self) -> dict[str, tuple[str, ...]]:
        """The releases by version, for versions that have releases."""
        return {release.name: release.tags for release in self.releases if release.tags}

    @property
    def names(self) -> dict[str, str]:
        """Versions by all of their names: their own names, their tags and their aliases."""
        return {
            name: release.name
            for release in self.releases
            for name in (release.name, *release.tags, *release.aliases)
        }

    @property
    def newest(self) -> str:
        """The tag of the newest release; for a driver without releases, the name of its last
        version.
        """
        return self.tags.get(self.released, (self.released,))[-1]

    def table(self, name: str) -> Mapping[str, str]:
        """Return a table from the driver's own code; empty if the pack lacks it."""
        return self.tables.get(name, {})

    @property
    def judges_slices(self) -> bool:
        """True if slices with something that the pack lacks have to be reported."""
        return self.complete and not self.extension and bool(self.attributes)

    def full(self, name: str) -> str:
        """Return a name with its domain; the driver's own domain may be omitted in ``name``."""
        return name if "/" in name else f"{self.name}/{name}"

    def with_tags(self, version: str) -> str:
        """Return a version with its releases: ``25.8 (v25.8.0, v25.8.1)``."""
        tags = ", ".join(self.tags.get(version, ()))
        return f"{version} ({tags})" if tags else version

    def index(self, text: str | None) -> int:
        """Return the index in ``versions`` of a version as users write it: ``0.10``, ``v0.10.1``,
        ``gpu-v0.10.1``, ``main``.

        None stands for the newest release. An unknown version counts as the newest known version
        before it. Raises UsageError for any other text.
        """
        versions = self.versions
        if text is None:
            return versions.index(self.released)
        names = self.names
        if text in names:
            return versions.index(names[text])
        wanted = _number(text)
        hint = f"dractl knows {', '.join(map(self.with_tags, versions))}"
        if wanted is None:
            near = get_close_matches(text[:_MAX_COMPARED_LENGTH], names, 1)
            suggestion = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(f"{text!r} is not a version of {self.name}{suggestion}", hint=hint)
        numbers = self._numbers(wanted)
        fitting = [number for number in numbers if number <= wanted]
        if not fitting:
            raise UsageError(
                f"{self.name} {text} is older than the versions dractl knows", hint=hint
            )
        return versions.index(numbers[max(fitting)])

    def stand_in(self, text: str | None) -> str | None:
        """Return the known version that is used in place of the version ``text``; None if the pack
        has ``text`` itself.
        """
        wanted = _number(text or "")
        if wanted is None or text in self.names or wanted in self._numbers(wanted):
            return None
        return self.versions[self.index(text)]

    def is_newer(self, text: str) -> bool:
        """Return True if ``text`` is a version after the newest release that the pack knows."""
        wanted = _number(text)
        numbers = self._numbers(wanted) if wanted is not None else {}
        return (
            wanted is not None
            and text not in self.names
            and all(number < wanted for number in numbers)
        )

    def knows(self, text: str) -> bool:
        """Return True if ``text`` is a version, known or not; a tag such as latest is no
        version.
        """
        try:
            return self.index(text) >= 0
        except UsageError:
            return False

    def rank(self, text: str) -> int:
        """Return the index of the version that has ``text`` as a patch release. The index is -1 for
        a version older than all in the pack, and one after the last for a newer version or a text
        that is no version.
        """
        number = _number(text)
        if number is not None and text not in self.names:
            numbers = self._numbers(number)
            if numbers and number < min(numbers):
                return -1
        return self.order(text)[0]

    def order(self, text: str) -> tuple[int, str]:
        """Return a key that sorts versions in the users' spelling, the oldest first; a text that is
        no version comes last.
        """
        try:
            return self.index(text) + self.is_newer(text), text
        except UsageError:
            return len(self.releases) + 1, text

    def covers(self, row: Row, version: str | None) -> bool:
        """Return True if a row applies to a version in the users' spelling (None: the newest
        release).
        """
        index, versions = self.index(version), self.versions
        return (row.since is None or versions.index(row.since) <= index) and (
            row.removed is None or index < versions.index(row.removed)
        )

    def model(self, device: str | None, version: str | None) -> Model | None:
        """Return a version's name for the devices with a PCI device id; None if the version does
        not know the id.
        """
        row = self.models.get(device or "")
        return row if row is not None and self.covers(row, version) else None

    def has(self, change: str, version: str | None) -> bool:
        """Return True if a change is in effect in a version."""
        return self.covers(self.changes[change], version)

    def limit(self, name: str, version: str | None) -> Limit | None:
        """Return the limit of this name; None if the version does not have it."""
        limit = self.limits.get(name)
        return limit if limit is not None and self.covers(limit, version) else None

    def classes_for(
        self, version: str | None, settings: Mapping[str, str]
    ) -> tuple[InstalledClass, ...]:
        """Return the classes that the chart of a version installs with these settings."""
        defaults = {setting.name: setting.values.partition(",")[0] for setting in self.settings}
        return tuple(
            installed_class
            for installed_class in self.classes
            if self.covers(installed_class, version)
            if all(
                (settings.get(name) or defaults.get(name)) == value
                for name, value in installed_class.options.items()
            )
        )

    def _numbers(self, like: tuple[int, int]) -> dict[tuple[int, int], str]:
        """Return the versions by the numbers in their names. Names count only if they have the same
        kind of number as ``like``: a year and a month, or any other.
        """
        version_by_number = {
            number: version for name, version in self.names.items() if (number := _number(name))
        }
        return {
            number: name
            for number, name in version_by_number.items()
            if (number[0] > _MAX_PLAIN_MAJOR) == (like[0] > _MAX_PLAIN_MAJOR)
        }


def _number(text: str) -> tuple[int, int] | None:
    match = _VERSION.match(text)
    return (int(match[1]), int(match[2])) if match else None


@cache
def names() -> tuple[str, ...]:
    """Return every driver that the pack knows."""
    chosen = pack.current()
    entries = chosen.entries("drivers")
    return tuple(name for name in chosen.head.drivers if name in entries) + tuple(
        name for name in entries if name not in chosen.head.drivers
    )


@cache
def driver(name: str) -> Driver:
    """Return the facts about a driver. Raises KeyError for a driver that is not in the pack."""
    if name not in names():
        raise KeyError(name)
    return pack.current().read(f"drivers/{name}.json", Driver)


for _known in (names, driver):
    pack.forget_with(_known.cache_clear)
