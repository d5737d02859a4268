"""The devices on which claims and classes are tried (``--devices``, ``--hardware``)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from dractl.cel import Field, Program
from dractl.model import Device, DeviceAttribute, Quantity, ResourceSlice, qualified_name
from dractl.model.abbreviation import abbreviate
from dractl.model.nearest import nearest
from dractl.objects import identity, newest, selectors_of, text
from dractl.properties import cached_property

MAX_SHOWN = 6
_MAX_NAMES = 24  # maximum number of names in one sentence


class SliceDevice(Struct, frozen=True, dict=True):
    """A published device; ``str()`` is its ``driver/pool/device``."""

    driver: str
    pool: str
    device: Device

    def attribute(self, name: str) -> DeviceAttribute | None:
        """Return the attribute that a constraint finds under a name: by its full name, or else by
        the bare name.
        """
        return self.device.attribute(name, self.driver)

    def capacity(self, name: str) -> Quantity | None:
        """Return the amount of a capacity by its exact name."""
        capacity = self.device.capacity.get(name)
        return capacity.value if capacity is not None else None

    def names(self, kind: str) -> dict[str, dict[str, Any]]:
        """Return attributes or capacities by domain and name, as CEL sees them."""
        return self._attributes if kind == "attributes" else self._capacities

    @cached_property
    def _attributes(self) -> dict[str, dict[str, Any]]:
        return self._by_domain(self.device.attributes)

    @cached_property
    def _capacities(self) -> dict[str, dict[str, Any]]:
        return self._by_domain(self.device.capacity)

    def _by_domain(self, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        names: dict[str, dict[str, Any]] = {}
        for key, value in values.items():
            name = qualified_name(key, self.driver)
            names.setdefault(name.domain, {})[name.name] = value.value
        return names

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device.name}"


class TriedDevices:
    """Devices and, by name, the selectors of the device classes that came with them.

    Only the newest generation of a pool counts. ``homes`` are the nodes of the pools, by the names
    of the driver and the pool. ``classes`` are mappings as read from a cluster or a file; if there
    are none, ``assumed`` are the classes that the drivers install. ``refuses`` takes a claim and
    the classes in its files, and returns True if no machine can satisfy the claim. ``unknown`` has,
    by driver, the names of attributes and capacities with unknown values.
    """

    def __init__(
        self,
        slices: Iterable[ResourceSlice],
        classes: Mapping[str, Mapping[str, Any]],
        *,
        assumed: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
        refuses: Callable[[Mapping[str, Any], Mapping[str, Mapping[str, Any]]], bool] | None = None,
        unknown: Mapping[str, frozenset[str]] = MappingProxyType({}),
    ) -> None:
        self.slices = list(slices)
        self.devices = _devices(self.slices)
        self.homes = {
            (item.spec.driver, item.spec.pool.name): item.spec.node_name or ""
            for item in self.slices
        }
        self.refuses = refuses
        self._unknown = unknown
        self.classes = {name: selectors_of(value) for name, value in classes.items()}
        self.assumed = (
            {} if classes else {name: selectors_of(value) for name, value in assumed.items()}
        )

    def is_undecided(self, program: Program, driver: str) -> bool:
        """Return True if an expression reads an unknown value of a driver's devices."""
        names = self._unknown.get(driver)
        return bool(names) and any(lookup.full_name in (names or ()) for lookup in program.lookups)

    def knows(self, name: str) -> bool:
        """Return False for an attribute whose values are unknown."""
        return not any(name in names for names in self._unknown.values())


def describe_published(program: Program, failed: Sequence[tuple[SliceDevice, str]]) -> str | None:
    """Return a sentence about the names that the failing devices publish, if the expression reads a
    name that none of them has, or else about the types of the values that it reads; None if there
    is nothing to say.
    """
    devices = [device for device, _ in failed]
    return _names_of_devices(program, devices) or _types_of_devices(program, devices)


def values_read(program: Program, devices: Sequence[SliceDevice]) -> str | None:
    """Return the values that an expression reads."""
    descriptions = []
    for lookup in dict.fromkeys((item.kind, item.domain, item.name) for item in program.lookups):
        kind, domain, name = lookup
        if name is None:
            continue
        values = Counter(
            _show_value(device.names(kind).get(domain, {}).get(name)) for device in devices
        )
        counts = [f"{value} ×{count}" for value, count in values.most_common(MAX_SHOWN)]
        shown = f"{name}: {', '.join(counts)}" + (", ..." if len(values) > MAX_SHOWN else "")
        descriptions.append(
            shown
            + _note_type_mismatch(program, name, devices)
            + _note_units(program, name, next(iter(values)))
        )
    if not descriptions and (program.reads is None or Field("driver") in program.reads):
        return f"the drivers are {', '.join(sorted({device.driver for device in devices}))}"
    return "; ".join(descriptions) or None


def nearest_attribute(name: str, devices: Sequence[SliceDevice]) -> str:
    """Return the attribute that was probably meant, else the devices' attributes."""
    names_by_domain = [
        (domain, names)
        for device in devices
        for domain, names in device.names("attributes").items()
    ]
    return suggest_name(
        name,
        {f"{domain}/{short}" for domain, names in names_by_domain for short in names},
        "they have",
    )


def nearest_capacity(name: str, devices: Sequence[SliceDevice]) -> str:
    """Return the capacity that was probably meant, or else all capacities of the devices, in the
    form for a request.
    """
    return suggest_name(
        name, {key for device in devices for key in device.device.capacity}, "they have"
    )


def suggest_name(name: str, names: Iterable[str], lead: str) -> str:
    """Suggest the known name that was probably meant, else list known names.

    Differences before the last slash count little.
    """
    keys = sorted(names)
    by_last: dict[str, list[str]] = {}
    for key in keys:
        by_last.setdefault(key.rpartition("/")[2], []).append(key)
    near = nearest(name.rpartition("/")[2], by_last)
    if near:
        return f"did you mean {nearest(name, by_last[near], alike=0)}?"
    return f"{lead} {abbreviate(keys, _MAX_NAMES) or 'none'}"


def _devices(slices: Iterable[ResourceSlice]) -> list[SliceDevice]:
    return [
        SliceDevice(driver, pool, device)
        for (driver, pool), members in newest(list(slices), identity).items()
        for member in members
        for device in member.spec.devices
    ]


def _names_of_devices(program: Program, devices: Sequence[SliceDevice]) -> str | None:
    for lookup in program.lookups:
        if lookup.tested:
            continue
        have = sorted(
            {
                name
                for device in devices
                for name in device.names(lookup.kind).get(lookup.domain, {})
            }
        )
        if lookup.name is not None and lookup.name not in have:
            if not have:
                domains = sorted(
                    {domain for device in devices for domain in device.names(lookup.kind)}
                )
                return (
                    f"they have nothing in the domain {lookup.domain}; their domains are "
                    f"{', '.join(domains) or 'none'}"
                )
            other = "attributes" if lookup.kind == "capacity" else "capacity"
            if any(lookup.name in device.names(other).get(lookup.domain, {}) for device in devices):
                return f'write device.{other}["{lookup.domain}"].{lookup.name}, which they have'
            near = nearest(lookup.name, have)
            hint = f"did you mean {near}? " if near else ""
            return f"{hint}in {lookup.domain} they have {', '.join(have)}"
    return None


def _types_of_devices(program: Program, devices: Sequence[SliceDevice]) -> str | None:
    descriptions = []
    for kind, domain, name in dict.fromkeys(
        (item.kind, item.domain, item.name) for item in program.lookups
    ):
        if kind != "attributes" or name is None:
            continue
        values = [
            value
            for device in devices
            if (value := device.attribute(f"{domain}/{name}")) is not None
        ]
        for type_ in sorted({value.type or "" for value in values}):
            example = next(value.value for value in values if value.type == type_)
            remedy = (
                f': compare it with compareTo(semver("{example}"))' if type_ == "version" else ""
            )
            descriptions.append(f"{name} has type {type_}, such as {_show_value(example)}{remedy}")
    return "; ".join(descriptions) or None


def _note_type_mismatch(program: Program, name: str, devices: Sequence[SliceDevice]) -> str:
    """Return a note if an expression compares a number or a boolean with a string that looks the
    same.
    """
    strings = {
        literal.value
        for comparison in program.comparisons
        if comparison.lookup and comparison.lookup.name == name
        for literal in comparison.literals
        if literal.kind == "string"
    }
    for device in devices if strings else ():
        for domain in device.names("attributes"):
            value = device.attribute(f"{domain}/{name}")
            if (
                value is not None
                and value.type in ("int", "bool")
                and (written := _show_value(value.value)) in strings
            ):
                return f' (of type {value.type}, which never equals the string "{written}")'
    return ""


def _note_units(program: Program, name: str, shown: str) -> str:
    """Return a note with the amounts that a capacity is compared with, in the unit in which devices
    publish it: 80Gi are 81920Mi.
    """
    unit = shown.lstrip("0123456789")
    amounts = {
        str(literal.value)
        for comparison in program.comparisons
        if comparison.lookup
        and comparison.lookup.name == name
        and comparison.lookup.kind == "capacity"
        for literal in comparison.literals
        if literal.kind == "quantity" and unit and not str(literal.value).endswith(unit)
    }
    notes = []
    for amount in sorted(amounts):
        value, unit_value = Quantity.parse(amount).value(), Quantity.parse(f"1{unit}").value()
        notes += [f"; {amount} is {value // unit_value}{unit}"] if value % unit_value == 0 else []
    return "".join(notes)


def _show_value(value: Any) -> str:
    if value is None:
        return "(none)"
    if isinstance(value, bool):
        return str(value).lower()
    return text(value) or str(value)
