"""Driver profiles: the way in which one DRA driver turns a node's hardware into devices."""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from dractl.errors import UsageError
from dractl.facts.drivers import Driver, Setting, driver as facts_of
from dractl.model.releases import Target
from dractl.topology.machine import Machine


class Options(Struct, frozen=True):
    """The settings for rendering slices."""

    node_name: str
    target: Target
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of drivers, by driver name; the newest release that dractl knows if a driver is
    absent.
    """
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Driver options, ``{driver: {name: value}}``."""

    def setting(self, driver: str, name: str) -> str | None:
        """Return the value given for a driver option, or None."""
        return self.settings.get(driver, {}).get(name)

    def has(self, driver: str, change: str) -> bool:
        """Return True if a change (a row of the driver's file in the pack) is in effect in the
        requested version.
        """
        return facts_of(driver).has(change, self.versions.get(driver))

    def flag(self, driver: str, name: str, *, default: bool = False) -> bool:
        """Return a driver option that is true or false; raises UsageError for other values."""
        value = self.setting(driver, name) or str(default).lower()
        if value not in ("false", "true"):
            raise UsageError(f"{driver}: {name} must be true or false, not {value!r}")
        return value == "true"

    def number(self, driver: str, name: str, default: int, most: int) -> int:
        """Return a driver option that is a number from 0 to ``most``; raises UsageError for other
        values.
        """
        text = self.setting(driver, name)
        if text is None:
            return default
        if (
            not (text.isascii() and text.isdecimal())
            or len(text) > len(str(most))
            or int(text) > most
        ):
            raise UsageError(f"{driver}: {name} must be a number from 0 to {most}, not {text!r}")
        return int(text)


class Slice(Struct, frozen=True):
    """One ResourceSlice as the driver passes it to the helper library, which publishes it
    unchanged.

    Devices and counter sets are mappings, as a Device and a CounterSet of ``resource.k8s.io/v1``.
    """

    devices: tuple[dict[str, Any], ...] = ()
    counter_sets: tuple[dict[str, Any], ...] = ()


class Inventory(Struct, frozen=True):
    """Devices that a driver would publish for a node, in the driver's own order."""

    slices: tuple[Slice, ...] = ()
    comments: Mapping[str, str] = field(default_factory=dict)
    """Comments on single devices, by name."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """The reason why a PCI function of the driver is not published, by address."""
    notices: tuple[str, ...] = ()
    """Remarks for the user."""
    unpublished: str | None = None
    """The reason why the driver publishes nothing at all: it does not start on this machine. None
    if the driver runs, even if there is no device. :func:`dractl.drivers.render` reports slices
    that the API server refuses.
    """
    unknown: frozenset[str] = frozenset()
    """Full names of the attributes and capacities that devices have, but whose values were not
    read.
    """

    @property
    def devices(self) -> tuple[dict[str, Any], ...]:
        """The devices of all slices."""
        return tuple(device for slice_ in self.slices for device in slice_.devices)

    @property
    def counter_sets(self) -> tuple[dict[str, Any], ...]:
        """The counter sets of all slices."""
        return tuple(counters for slice_ in self.slices for counters in slice_.counter_sets)


def single_slice(devices: Iterable[dict[str, Any]]) -> tuple[Slice, ...]:
    """Return the devices in a single slice, as most drivers publish them; no slice if there are
    none.
    """
    held = tuple(devices)
    return (Slice(held),) if held else ()


class Known(Struct, frozen=True):
    """A driver that the pack of facts describes. A profile is a value of a subclass; the registry
    lists the profiles.
    """

    name: str
    """The driver's name, such as ``gpu.nvidia.com``."""

    @property
    def catalogue(self) -> Driver:
        """The facts of the pack about the driver."""
        return facts_of(self.name)

    def present(self, machine: Machine) -> bool:
        """Return True if the machine has hardware of this driver."""
        raise NotImplementedError

    def publish(self, machine: Machine, options: Options) -> Inventory:
        """Return the devices with the attributes of all versions."""
        raise NotImplementedError

    def inventory(self, machine: Machine, options: Options) -> Inventory:
        """Return the devices that the driver would publish on this machine. Raises UsageError for a
        version, or a setting of it, that does not exist.
        """
        catalogue, version = self.catalogue, options.versions.get(self.name)
        catalogue.index(version)
        for row in catalogue.settings:
            value = options.setting(self.name, row.name)
            if (
                value is not None
                and value != row.values.partition(",")[0]
                and not catalogue.covers(row, version)
            ):
                raise _version_error(self.name, row, catalogue)
        covered = {row.name for row in catalogue.attributes if catalogue.covers(row, version)}
        gone = {row.name for row in catalogue.attributes} - covered
        inventory = self.publish(machine, options)
        return (
            replace(
                inventory,
                slices=tuple(_drop_attributes(slice_, gone) for slice_ in inventory.slices),
            )
            if gone
            else inventory
        )

    def device_classes(self, options: Options) -> tuple[dict[str, Any], ...]:
        """Return the DeviceClasses that come with the driver."""
        settings = options.settings.get(self.name, {})
        return tuple(
            installed.manifest()
            for installed in self.catalogue.classes_for(options.versions.get(self.name), settings)
        )


def _version_error(name: str, row: Setting, catalogue: Driver) -> UsageError:
    since = str(row.since)
    came = f"with {since}" if since in catalogue.tags else f"after {catalogue.released}"
    return UsageError(f"{name}: {row.name} came {came}", hint=f"--driver-version {name}={since}")


def _drop_attributes(slice_: Slice, gone: set[str]) -> Slice:
    return replace(
        slice_,
        devices=tuple(
            {
                **device,
                "attributes": {k: v for k, v in device["attributes"].items() if k not in gone},
            }
            if "attributes" in device
            else device
            for device in slice_.devices
        ),
    )
