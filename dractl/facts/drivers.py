"""What is known of DRA drivers: one file of the pack each, with versions, attributes, classes,
taints and changes.
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
_LONGEST = 100  # compared characters
_CALENDAR = 20  # versions that begin with more are years
_VERSION = re.compile(r"(?:[a-z]+-)?v?(\d+)\.(\d+)(?:\.\d+)?(?:[-+].*)?\Z")


class Row(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What every row has: ``since`` is the first of the driver's versions that it is true of,
    ``removed`` the first that it is no longer true of. ``source`` (repository, commit or tag, file)
    and ``read`` (a date) are those of the file where the row has none of its own.
    """

    since: str | None = None
    removed: str | None = None
    source: str = ""
    read: str = ""


class KnownVersion(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A version by the name that dractl uses, without the patch. ``tags`` are the releases, by git
    tag, that publish what it publishes, oldest first; ``aliases`` its other names; ``released`` the
    date of the first of the tags. A version that is not released yet (a main branch) has the date
    at which it was ``seen`` instead.
    """

    name: str
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    released: str = ""
    seen: str = ""
    source: str = ""


class Attribute(Row, frozen=True, kw_only=True):
    """An attribute. ``name`` is spelled as in ResourceSlices: a bare name belongs to the driver's
    own domain.

    ``devices`` are the values of the driver's ``type`` attribute that have it (empty: all).
    ``when`` is the condition under which such a device has it; empty means always. ``values`` is
    the complete list of values, where there is one, and ``values_since`` the first version of those
    that came later. ``list_with`` names the driver option with which the value is a list instead of
    a scalar. ``same_as`` is another attribute, of any version, with the same value; ``more_since``
    the first version in which further devices have the attribute, as ``when`` says.
    """

    name: str
    type: Type
    about: str
    when: str = ""
    devices: tuple[str, ...] = ()
    values: tuple[str | int | bool, ...] = ()
    values_since: dict[str, str] = field(default_factory=dict)
    list_with: str | None = None
    same_as: str = ""
    more_since: str | None = None
    site: bool = False
    """True if no description of a machine has it: an address, a name of the day, a version of
    software.
    """

    @property
    def optional(self) -> bool:
        """True if a device may lack the attribute, so that an unguarded lookup in CEL can fail."""
        return bool(self.when)


class Capacity(Row, frozen=True, kw_only=True):
    """A capacity; the fields are those of an :class:`Attribute`."""

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


class Taint(Row, frozen=True, kw_only=True):
    """A taint that the driver puts on its own devices. ``value`` describes the taint's value;
    empty: it has none.
    """

    key: str
    effects: tuple[str, ...]
    about: str
    value: str = ""
    when: str = ""


class Setting(Row, frozen=True, kw_only=True):
    """An option of the driver itself that changes what it publishes; the first of ``values`` is its
    default.
    """

    name: str
    values: str
    about: str


class InstalledClass(Row, frozen=True, kw_only=True):
    """A DeviceClass that the driver's chart installs. ``options`` are the settings that it takes,
    by name and value. ``types`` are the values of the attribute ``type`` that its selectors leave
    (empty: all). Without ``selectors`` only the name is known.
    """

    name: str
    selectors: tuple[str, ...]
    types: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    extended_resource_name: str = ""
    config: tuple[dict[str, Any], ...] = ()

    def manifest(self) -> dict[str, Any]:
        """Return the class as its chart writes it."""
        spec: dict[str, Any] = {
            "selectors": [{"cel": {"expression": one}} for one in self.selectors]
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
    """What the driver calls the devices of a PCI device id: the model, and the family if it
    publishes one.
    """

    name: str
    family: str = ""


class Wait(Row, frozen=True, kw_only=True):
    """Something that the driver waits for inside a call, so that the kubelet's event only says that
    time ran out.

    ``devices`` are the values of the driver's ``type`` attribute of the devices that it waits for.
    ``holders`` are words in the names of pods that often have such a device open without a claim.
    """

    devices: tuple[str, ...]
    about: str
    step: str
    holders: tuple[str, ...] = ()


class RootSetting(Row, frozen=True, kw_only=True):
    """Who names the folder of a node below which the driver looks for its vendor's libraries and
    programs.
    """

    variable: str
    """The environment variable of its containers."""
    option: str
    """The value of its Helm chart."""
    policies: dict[str, str] = field(default_factory=dict)
    """The field of each kind of cluster-wide policy that has it too, as a path with dots."""


class VendorLibraries(Row, frozen=True, kw_only=True):
    """What the vendor's own libraries and programs in a container say when they find no device.

    ``words`` are parts of their sentences, ``device_files`` where the kernel driver has the
    devices, ``check`` the command that a node answers when they are there.
    """

    words: tuple[str, ...]
    device_files: str
    check: str

    def reports_no_device(self, text: str) -> bool:
        """Return True if a text has their words."""
        return any(words.lower() in text.lower() for words in self.words)


class Contradiction(Row, frozen=True, kw_only=True):
    """Values that a device cannot have together, so that the driver has misread the hardware.

    Of a device whose attributes are those of ``when``, ``attribute`` is never ``value``; ``about``
    says why.
    """

    when: dict[str, str]
    attribute: str
    value: str | int | bool
    about: str


class CodeChange(Row, frozen=True, kw_only=True):
    """Something that the driver's code does differently from ``since`` on, for code that asks for
    it by name.
    """

    about: str


class Limit(Row, frozen=True, kw_only=True):
    """Something of the API that the driver's code does not do as the API says, until
    ``removed``.
    """

    about: str


class Driver(Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What is known of a driver, for rendering, ``dractl rule DRIVER``, lint and completion.

    ``complete`` is false where devices can have attributes that are not here: an administrator adds
    them, or the driver is known in part only. ``extension``: what may add attributes to a complete
    list where somebody sets it up. ``images`` are the names of its container images, without
    registry and tag; ``container`` is that of its kubelet plug-in which serves this driver, where
    the pod serves several. ``made_pods`` are labels of the pods that it makes for claims, with the
    same image, and ``objects`` the custom kinds, with their resources, that say more where the
    driver is at fault. ``other_taints``: who else taints its devices, with keys that are not known.
    ``chart``: values without which the driver's Helm chart installs neither its classes nor the
    part that publishes. ``tables`` are those that the driver's own code has, for its module here.
    """

    name: str
    title: str
    source: str
    read: str
    releases: tuple[KnownVersion, ...] = field(name="versions")
    attributes: tuple[Attribute, ...] = ()
    capacities: tuple[Capacity, ...] = ()
    taints: tuple[Taint, ...] = ()
    settings: tuple[Setting, ...] = ()
    models: dict[str, Model] = field(default_factory=dict)
    classes: tuple[InstalledClass, ...] = ()
    changes: dict[str, CodeChange] = field(default_factory=dict)
    limits: dict[str, Limit] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    complete: bool = True
    extension: str = ""
    other_taints: str = ""
    images: tuple[str, ...] = ()
    container: str = ""
    made_pods: tuple[str, ...] = ()
    objects: dict[str, str] = field(default_factory=dict)
    chart: str = ""
    waits: tuple[Wait, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    root: RootSetting | None = None
    libraries: VendorLibraries | None = None
    tables: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def versions(self) -> tuple[str, ...]:
        """The names of the versions, oldest first."""
        return tuple(one.name for one in self.releases)

    @property
    def released(self) -> str:
        """The newest version that is released; of a driver without releases, the last."""
        return next(
            (one.name for one in reversed(self.releases) if not one.seen), self.releases[-1].name
        )

    @property
    def tags(self) -> dict[str, tuple[str, ...]]:
        """The releases by version, for versions that have some."""
        return {one.name: one.tags for one in self.releases if one.tags}

    @property
    def names(self) -> dict[str, str]:
        """Versions by each of their names: their own, their tags and their aliases."""
        return {
            name: one.name for one in self.releases for name in (one.name, *one.tags, *one.aliases)
        }

    @property
    def newest(self) -> str:
        """The tag of the newest release; of a driver without releases, the name of its last
        version.
        """
        return self.tags.get(self.released, (self.released,))[-1]

    def table(self, name: str) -> Mapping[str, str]:
        """Return a table of the driver's own code; empty in a pack that lacks it."""
        return self.tables.get(name, {})

    @property
    def judges_slices(self) -> bool:
        """True if something else in its slices than the pack has is news."""
        return self.complete and not self.extension and bool(self.attributes)

    def full(self, name: str) -> str:
        """Return a name with its domain, which can be left out where it is the driver's own."""
        return name if "/" in name else f"{self.name}/{name}"

    def with_tags(self, version: str) -> str:
        """Return a version with its releases: ``25.8 (v25.8.0, v25.8.1)``."""
        tags = ", ".join(self.tags.get(version, ()))
        return f"{version} ({tags})" if tags else version

    def index(self, text: str | None) -> int:
        """Index in ``versions`` of a version as users write it: ``0.10``, ``v0.10.1``,
        ``gpu-v0.10.1``, ``main``.

        None is the newest release. A version that is none of those known counts as the newest
        before it. Raises UsageError for everything else.
        """
        known = self.versions
        if text is None:
            return known.index(self.released)
        names = self.names
        if text in names:
            return known.index(names[text])
        wanted = _number(text)
        hint = f"dractl knows {', '.join(map(self.with_tags, known))}"
        if wanted is None:
            near = get_close_matches(text[:_LONGEST], names, 1)
            suggestion = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(f"{text!r} is not a version of {self.name}{suggestion}", hint=hint)
        numbers = self._numbers(wanted)
        fitting = [number for number in numbers if number <= wanted]
        if not fitting:
            raise UsageError(
                f"{self.name} {text} is older than the versions dractl knows", hint=hint
            )
        return known.index(numbers[max(fitting)])

    def stand_in(self, text: str | None) -> str | None:
        """Return the known version that stands for ``text``, a version that the pack lacks; None
        for versions that it has.
        """
        wanted = _number(text or "")
        if wanted is None or text in self.names or wanted in self._numbers(wanted):
            return None
        return self.versions[self.index(text)]

    def is_newer(self, text: str) -> bool:
        """Return True if ``text`` is a version after the newest release that the pack knows."""
        wanted = _number(text)
        known = self._numbers(wanted) if wanted is not None else {}
        return (
            wanted is not None
            and text not in self.names
            and all(number < wanted for number in known)
        )

    def knows(self, text: str) -> bool:
        """Return True if ``text`` is a version, whether of those that are known or not: a tag such
        as latest is none.
        """
        try:
            return self.index(text) >= 0
        except UsageError:
            return False

    def rank(self, text: str) -> int:
        """Return the index of the version that ``text`` is a patch of: -1 if it is older than all
        that the pack has, a number after the last if it is newer or no version.
        """
        number = _number(text)
        if number is not None and text not in self.names:
            numbers = self._numbers(number)
            if numbers and number < min(numbers):
                return -1
        return self.order(text)[0]

    def order(self, text: str) -> tuple[int, str]:
        """Return a key that sorts versions as users write them, the oldest first; what is no
        version comes last.
        """
        try:
            return self.index(text) + self.is_newer(text), text
        except UsageError:
            return len(self.releases) + 1, text

    def covers(self, row: Row, version: str | None) -> bool:
        """Return True if a row is true of a version as users write it (None: the
        newest release).
        """
        at, known = self.index(version), self.versions
        return (row.since is None or known.index(row.since) <= at) and (
            row.removed is None or at < known.index(row.removed)
        )

    def model(self, device: str | None, version: str | None) -> Model | None:
        """What a version calls the devices of a PCI device id; None for an id that it does not
        know.
        """
        row = self.models.get(device or "")
        return row if row is not None and self.covers(row, version) else None

    def has(self, change: str, version: str | None) -> bool:
        """Return True if a change is in effect in a version."""
        return self.covers(self.changes[change], version)

    def limit(self, name: str, version: str | None) -> Limit | None:
        """Return a limit that a version has."""
        limit = self.limits.get(name)
        return limit if limit is not None and self.covers(limit, version) else None

    def installed(
        self, version: str | None, settings: Mapping[str, str]
    ) -> tuple[InstalledClass, ...]:
        """Return the classes that the chart of a version installs with these settings."""
        defaults = {one.name: one.values.partition(",")[0] for one in self.settings}
        return tuple(
            one
            for one in self.classes
            if self.covers(one, version)
            if all(
                (settings.get(name) or defaults.get(name)) == value
                for name, value in one.options.items()
            )
        )

    def _numbers(self, like: tuple[int, int]) -> dict[tuple[int, int], str]:
        """Versions by the numbers of all their names that are counted like another: by calendar, or
        not.
        """
        found = {
            number: version for name, version in self.names.items() if (number := _number(name))
        }
        return {
            number: name
            for number, name in found.items()
            if (number[0] > _CALENDAR) == (like[0] > _CALENDAR)
        }


def _number(text: str) -> tuple[int, int] | None:
    match = _VERSION.match(text)
    return (int(match[1]), int(match[2])) if match else None


@cache
def names() -> tuple[str, ...]:
    """Return every driver that the pack knows."""
    chosen = pack.current()
    known = chosen.entries("drivers")
    return tuple(name for name in chosen.head.drivers if name in known) + tuple(
        name for name in known if name not in chosen.head.drivers
    )


@cache
def driver(name: str) -> Driver:
    """What is known of a driver. Raises KeyError for a driver that is not in the pack."""
    if name not in names():
        raise KeyError(name)
    return pack.current().read(f"drivers/{name}.json", Driver)


for _known in (names, driver):
    pack.forget_with(_known.cache_clear)
