"""ResourceSlice and its devices.

A cluster has thousands of devices, and a question reads only a few of their attributes. So a
:class:`Device` is a view over its mapping: each part is converted when it is first read, attributes
and capacities one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from msgspec import Struct

from dractl.model.apitype import APIType
from dractl.model.core import NodeSelector
from dractl.model.meta import ObjectMeta
from dractl.model.quantity import Quantity
from dractl.model.reader import DecodeError, LazyMap, Path, Reader
from dractl.model.taints import DeviceTaint
from dractl.model.version import Version

AttributeType = Literal["int", "bool", "string", "version", "ints", "bools", "strings", "versions"]
PLAIN_TYPES: Mapping[str, type] = {"string": str, "int": int, "bool": bool}
"""The fields of an attribute whose JSON values need no conversion, with their types in Python."""
T = TypeVar("T")


class DeviceAttribute(Struct, frozen=True):
    """An attribute of a device."""

    type: AttributeType | None
    """The type; None if the attribute has none of the value fields. That happens if it was stored
    while the gate of its field was on, and is read while the gate is off.
    """
    value: int | bool | str | tuple[int, ...] | tuple[bool, ...] | tuple[str, ...] | None
    """The value by ``type``: int, bool, str (also for a version: its text), or a tuple of these."""

    @classmethod
    def read(cls, r: Reader) -> DeviceAttribute:
        if r.has("string"):
            return cls("string", r.text("string"))
        if r.has("int"):
            return cls("int", r.integer("int"))
        if r.has("bool"):
            return cls("bool", r.boolean("bool"))
        if r.has("version"):
            return cls("version", r.text("version"))
        if r.has("ints"):
            return cls("ints", r.integers("ints"))
        if r.has("bools"):
            return cls("bools", r.booleans("bools"))
        if r.has("strings"):
            return cls("strings", r.texts("strings"))
        if r.has("versions"):
            return cls("versions", r.texts("versions"))
        return cls(None, None)


class CapacityRequestPolicyRange(APIType, frozen=True):
    """The amounts that may be requested: from ``min`` to ``max``, in steps of ``step`` from
    ``min``.
    """

    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(APIType, frozen=True):
    """The amounts of a shared device's capacity that can be requested (other amounts are rounded
    up), and the default.
    """

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(APIType, frozen=True):
    """The amount of a capacity; with ``request_policy``, claims can share it."""

    value: Quantity
    request_policy: CapacityRequestPolicy | None = None


def _counters(r: Reader) -> Mapping[str, Quantity]:
    counters = r.child("counters")
    return {name: counters.child(name).quantity("value") or Quantity() for name in counters.mapping}


class CounterSet(APIType, frozen=True):
    """A named set of counters that the partitions of one piece of hardware consume together."""

    name: str
    counters: Mapping[str, Quantity]

    @classmethod
    def read(cls, r: Reader) -> CounterSet:
        return cls.read_with(r, counters=_counters(r))


class DeviceCounterConsumption(APIType, frozen=True):
    """A device's consumption from a counter set while it is allocated."""

    counter_set: str
    counters: Mapping[str, Quantity]
    compatibility_groups: tuple[str, ...] = ()

    @classmethod
    def read(cls, r: Reader) -> DeviceCounterConsumption:
        return cls.read_with(r, counters=_counters(r))


class Device:
    """A view over a device's mapping in v1; a part that cannot be decoded is a DecodeError when it
    is read.

    Two devices are equal if their mappings are.
    """

    __slots__ = ("_index", "_is_plain", "_parts", "_path", "mapping", "name")

    def __init__(
        self, mapping: Mapping[str, Any], path: Path = (), index: int | None = None
    ) -> None:
        self.mapping = mapping
        self._path = path
        self._index = index
        name = mapping.get("name")
        if not isinstance(name, str):
            if name is not None:
                raise DecodeError((*Reader(mapping, path, index).path, "name"), "must be a string")
            name = ""
        self.name: str = name
        self._parts: dict[str, Any] | None = None
        self._is_plain: bool | None = None

    @classmethod
    def read(cls, r: Reader) -> Device:
        return cls(r.mapping, r.above, r.index)

    def _part(self, name: str, read: Callable[[Reader], T]) -> T:
        if self._parts is None:
            self._parts = {}
        if name not in self._parts:
            self._parts[name] = read(Reader(self.mapping, self._path, self._index))
        part: T = self._parts[name]
        return part

    @property
    def attributes(self) -> Mapping[str, DeviceAttribute]:
        return self._part("attributes", _attributes)

    @property
    def is_plain(self) -> bool:
        """True if each attribute is a string, a number, a boolean or a valid version, which every
        release can convert. If it is False, some release may not convert them.
        """
        if self._is_plain is None:
            self._is_plain = _are_plain(self.mapping.get("attributes"))
        return self._is_plain

    @property
    def capacity(self) -> Mapping[str, DeviceCapacity]:
        return self._part("capacity", _capacity)

    @property
    def consumes_counters(self) -> tuple[DeviceCounterConsumption, ...]:
        if not self.mapping.get("consumesCounters"):
            return ()
        return self._part(
            "consumesCounters",
            lambda r: r.items_of("consumesCounters", DeviceCounterConsumption.read),
        )

    @property
    def node_name(self) -> str | None:
        return self._part("nodeName", lambda r: r.optional_text("nodeName"))

    @property
    def node_selector(self) -> NodeSelector | None:
        return self._part("nodeSelector", lambda r: r.optional("nodeSelector", NodeSelector.read))

    @property
    def all_nodes(self) -> bool | None:
        return self._part("allNodes", lambda r: r.boolean("allNodes"))

    @property
    def taints(self) -> tuple[DeviceTaint, ...]:
        if not self.mapping.get("taints"):
            return ()
        return self._part("taints", lambda r: r.items_of("taints", DeviceTaint.read))

    @property
    def binds_to_node(self) -> bool | None:
        return self._part("bindsToNode", lambda r: r.boolean("bindsToNode"))

    @property
    def binding_conditions(self) -> tuple[str, ...]:
        if not self.mapping.get("bindingConditions"):
            return ()
        return self._part("bindingConditions", lambda r: r.texts("bindingConditions"))

    @property
    def binding_failure_conditions(self) -> tuple[str, ...]:
        if not self.mapping.get("bindingFailureConditions"):
            return ()
        return self._part("bindingFailureConditions", lambda r: r.texts("bindingFailureConditions"))

    @property
    def allow_multiple_allocations(self) -> bool | None:
        if self.mapping.get("allowMultipleAllocations") is None:
            return None
        return self._part(
            "allowMultipleAllocations", lambda r: r.boolean("allowMultipleAllocations")
        )

    def attribute(self, name: str, driver: str) -> DeviceAttribute | None:
        """Return an attribute by its full name, as constraints look it up: under that name, or else
        under the name without a domain, if the domain is the driver's
        (dynamic-resource-allocation/structured lookupAttribute).
        """
        return _lookup(self.attributes, name, driver)

    def capacity_named(self, name: str, driver: str) -> DeviceCapacity | None:
        """Return a capacity by its full name, looked up like an attribute."""
        return _lookup(self.capacity, name, driver)

    def __eq__(self, other: object) -> bool:
        return self.mapping == other.mapping if isinstance(other, Device) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Device({self.name!r})"


def _lookup(values: Mapping[str, T], name: str, driver: str) -> T | None:
    value = values.get(name)
    domain, slash, short = name.partition("/")
    return values.get(short) if value is None and slash and domain == driver else value


def _are_plain(attributes: Any) -> bool:
    if not attributes:
        return True
    if type(attributes) is not dict:
        return False
    for value in attributes.values():  # inline, since a million calls take longer
        if type(value) is not dict or len(value) != 1:
            return False
        ((kind, content),) = value.items()
        if type(content) is not PLAIN_TYPES.get(kind) and not (
            kind == "version" and type(content) is str and _is_version(content)
        ):
            return False
    return True


def _is_version(text: str) -> bool:
    try:
        Version.parse(text)
    except ValueError:
        return False
    return True


def _attributes(r: Reader) -> LazyMap[DeviceAttribute]:
    return r.lazy("attributes", DeviceAttribute.read)


def _capacity(r: Reader) -> LazyMap[DeviceCapacity]:
    return r.lazy("capacity", DeviceCapacity.read)


class ResourcePool(APIType, frozen=True):
    """The pool that a slice belongs to."""

    name: str
    generation: int = 0
    """Only slices of the newest generation count."""
    resource_slice_count: int = 0
    """The number of slices in the newest generation."""


class ResourceSliceSpec(APIType, frozen=True):
    """Devices (or counter sets) of one driver and pool, and the nodes from which they
    can be used.
    """

    driver: str
    pool: ResourcePool
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    devices: tuple[Device, ...] = ()
    per_device_node_selection: bool | None = None
    shared_counters: tuple[CounterSet, ...] = ()
    partition_type_attribute: str | None = None
    skip_node_operations: tuple[str, ...] = ()


class ResourceSlice(APIType, frozen=True):
    """Devices as a driver publishes them. Cluster-scoped."""

    metadata: ObjectMeta
    spec: ResourceSliceSpec
