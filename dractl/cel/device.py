"""A device as a selector sees it (dynamic-resource-allocation/cel/compile.go DeviceMatches)."""

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import Struct

from dractl.cel.values import Domains
from dractl.model import DeviceAttribute, DeviceCapacity, Quantity, Version
from dractl.model.slices import PLAIN_TYPES


class DeviceLike(Protocol):
    """The parts of :class:`dractl.model.Device` that this module uses."""

    @property
    def mapping(self) -> Mapping[str, Any]: ...
    @property
    def is_plain(self) -> bool: ...
    @property
    def attributes(self) -> Mapping[str, DeviceAttribute]: ...
    @property
    def capacity(self) -> Mapping[str, DeviceCapacity]: ...
    @property
    def allow_multiple_allocations(self) -> bool | None: ...


class Field(Struct, frozen=True):
    """A part of a device that an expression depends on."""

    kind: str
    """One of ``driver``, ``attributes``, ``capacity`` and ``allowMultipleAllocations``."""
    domain: str = ""
    """The domain of the attribute or capacity."""
    name: str | None = None
    """The name of the attribute or capacity; None for all names in the domain."""


_MISSING = object()


class View:
    """The variables of one evaluation; a part of the device is converted when it is first used."""

    __slots__ = ("_attributes", "_capacity", "device", "driver", "outcomes")

    def __init__(
        self, driver: str, device: DeviceLike, outcomes: dict[int, Any] | None = None
    ) -> None:
        self.driver = driver
        self.device = device
        # The results of loops, which a verdict and its explanation share
        self.outcomes = {} if outcomes is None else outcomes
        self._attributes: Domains | None = None
        self._capacity: Domains | None = None

    def fault(self, list_values: bool) -> str | None:
        """Return the fault of the device itself, which makes every expression fail, even ``true``;
        None if the device has no fault. Upstream names one of the faulty attributes at random; this
        is the first by name.
        """
        if self.device.is_plain:
            return None
        for name in sorted(self.device.attributes):
            attribute = self.device.attributes[name]
            if attribute.type is None or (not list_values and attribute.type.endswith("s")):
                return f"attribute {name}: unsupported attribute value"
            texts = attribute.value if attribute.type == "versions" else (attribute.value,)
            if attribute.type in ("version", "versions"):
                try:
                    for text in texts:  # type: ignore[union-attr]
                        Version.parse(text)  # type: ignore[arg-type]
                except ValueError as error:
                    return f"attribute {name}: parse semantic version: {error}"
        return None

    # -- whole maps --------------------------------------------------------------------------------

    @property
    def whole(self) -> dict[str, Any]:
        """The value of ``device`` as a whole: a map with the four kinds of :class:`Field` as keys,
        as upstream.
        """
        return {
            "driver": self.driver,
            "attributes": self.attributes,
            "capacity": self.capacity,
            "allowMultipleAllocations": self.shared,
        }

    @property
    def shared(self) -> bool:
        return bool(self.device.allow_multiple_allocations)

    @property
    def attributes(self) -> Domains:
        if self._attributes is None:
            raw = self.device.mapping.get("attributes") or {}
            self._attributes = self._group_by_domain(
                {name: self._value(name, value) for name, value in raw.items()}
            )
        return self._attributes

    @property
    def capacity(self) -> Domains:
        if self._capacity is None:
            self._capacity = self._group_by_domain(
                {name: c.value for name, c in self.device.capacity.items()}
            )
        return self._capacity

    def _group_by_domain(self, named: Mapping[str, Any]) -> Domains:
        domains = Domains()
        for name, value in named.items():
            domain, slash, identifier = name.partition("/")
            if slash:
                domains.setdefault(domain, {})[identifier] = value
        for name, value in named.items():
            # A bare name is in the driver's domain; if the explicit name exists too, it is used
            # (upstream picks one at random)
            if "/" not in name:
                domains.setdefault(self.driver, {}).setdefault(name, value)
        return domains

    # -- single entries, without building the maps -------------------------------------------------

    def attribute(self, domain: str, name: str) -> Any:
        """Return the value of an attribute; KeyError if the device does not have it."""
        if self._attributes is not None:
            return self._attributes[domain][name]
        raw = self.device.mapping.get("attributes") or {}
        key = _key(raw, self.driver, domain, name)
        return self._value(key, raw[key])

    def _value(self, key: str, raw: Any) -> Any:
        """Return an attribute as a CEL value; only for devices without faults. Plain values need no
        decoding.
        """
        if type(raw) is dict and len(raw) == 1:
            ((kind, content),) = raw.items()
            if kind in PLAIN_TYPES and type(content) is PLAIN_TYPES[kind]:
                return content
            if kind == "version" and type(content) is str:
                return Version.parse(content)
        return _value(self.device.attributes[key])

    def quantity(self, domain: str, name: str) -> Quantity:
        """Return the value of a capacity; KeyError if the device does not have it."""
        raw = self.device.mapping.get("capacity") or {}
        return self.device.capacity[_key(raw, self.driver, domain, name)].value

    def memory_key(self, fields: tuple[Field, ...]) -> tuple[Any, ...]:
        """Return a key that is equal for devices with the same values of these fields."""
        return tuple([self._memory_part(field) for field in fields])

    def _memory_part(self, field: Field) -> Any:
        kind, domain, name = field.kind, field.domain, field.name
        if kind == "driver":
            return self.driver
        if kind == "allowMultipleAllocations":
            return self.shared
        raw = self.device.mapping.get(kind) or {}
        if name is not None:
            try:
                value = raw[_key(raw, self.driver, domain, name)]
            except KeyError:
                return _MISSING
            if type(value) is dict and len(value) == 1:
                ((key, content),) = value.items()
                if type(content) in _HASHABLE:
                    return key, content
            return repr(value)
        return repr(sorted((getattr(self, kind).get(domain) or {}).items()))


def _key(raw: Mapping[str, Any], driver: str, domain: str, name: str) -> str:
    """Return the key under which ``raw`` has an entry: with its domain, or bare if the domain is
    the driver's. KeyError if there is no such entry.
    """
    if "/" not in domain:
        full = f"{domain}/{name}"
        if full in raw:
            return full
        if domain == driver and name in raw and "/" not in name:
            return name
    raise KeyError(name)


_HASHABLE = (str, int, bool, float)


def _value(attribute: DeviceAttribute) -> Any:
    """Return a decoded attribute as a value of CEL."""
    kind, value = attribute.type, attribute.value
    if kind == "version":
        return Version.parse(value)  # type: ignore[arg-type]
    if kind == "versions":
        return [Version.parse(text) for text in value]  # type: ignore[union-attr,arg-type]
    return list(value) if isinstance(value, tuple) else value
