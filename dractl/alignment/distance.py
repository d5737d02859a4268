"""The level between two devices: from the machine of their node if it is known, otherwise from
standard attributes.

The levels are the levels of ``nvidia-smi topo -m`` and two further ones, which slices show:
``root`` (the same PCIe root) and ``numa`` (the same NUMA node, at least one root unknown). An
unknown level is None, never a guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from dractl.drivers.publication import address
from dractl.drivers.standard import NUMA_NODE, PCIE_ROOT
from dractl.facts.resources import hardware
from dractl.model import Device
from dractl.topology.levels import nearest
from dractl.topology.machine import Machine

Source = Literal["slices", "snapshot", "hardware"]
"""The origin of a level."""

KindPair = tuple[str, str]
"""Two kinds of devices that are compared."""

KIND_PAIRS: tuple[KindPair, ...] = (
    ("gpu", "gpu"),
    ("gpu", "nic"),
    ("gpu", "cpu"),
    ("nic", "cpu"),
    ("gpu", "nvme"),
)
"""Kinds that are compared, in the order of reports; accelerators of any vendor are ``gpu``."""

_LEVELS = ("XGMI", "PIX", "PXB", "PHB", "root", "NODE", "numa", "SYS")
_MAX_NVLINKS = 1000  # more than any two GPUs have
_NUMA_ATTRIBUTES = ("numaNode", "numaNodeID")
_KIND_BY_HARDWARE = {
    "gpu": "gpu",
    "tpu": "gpu",
    "neuron": "gpu",
    "gaudi": "gpu",
    "nic": "nic",
    "nvme": "nvme",
}
_CPU_DRIVERS = frozenset({"dra.cpu", "cpu.example.com"})


# -- levels --


def level_rank(level: str) -> int:
    """Return a level as a number, from near to far; more NVLinks are nearer than fewer."""
    if level == "X":
        return 0
    if level.startswith("NV"):
        return _MAX_NVLINKS - int(level[2:])
    return _MAX_NVLINKS + _LEVELS.index(level)


def level_of_rank(rank: int) -> str:
    """Return the level for a rank (:func:`level_rank`)."""
    if rank == 0:
        return "X"
    return f"NV{_MAX_NVLINKS - rank}" if rank < _MAX_NVLINKS else _LEVELS[rank - _MAX_NVLINKS]


_FARTHEST_RANK = level_rank("SYS")


class Distance(Struct, frozen=True):
    """The level between two devices."""

    level: str | None
    """The level; None if it is unknown."""

    min_rank: int
    """Rank of the nearest possible level."""

    max_rank: int
    """Rank of the farthest possible level."""

    source: Source
    """The origin of the level."""


def _exact_distance(level: str, source: Source) -> Distance:
    return Distance(level, level_rank(level), level_rank(level), source)


def _unknown_distance(nearest_level: str, source: Source = "slices") -> Distance:
    return Distance(None, level_rank(nearest_level), _FARTHEST_RANK, source)


SAME_DEVICE = _exact_distance("X", "slices")
"""The distance between two shares of one device."""

_SAME_NUMA_NODE = _exact_distance("numa", "slices")


class Levels(Struct, frozen=True):
    """The levels between the PCI functions of a machine."""

    machine: Machine
    """The machine."""

    source: Source
    """The origin of the machine."""

    by_functions: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The nearest level between any two functions, by their PCI addresses."""

    @classmethod
    def from_machine(cls, machine: Machine, source: Source) -> Levels:
        """Return the levels of a machine."""
        return cls(machine, source, nearest(machine))


# -- locations --


class Location(Struct, frozen=True):
    """The position of a device on its node."""

    kind: str
    """A kind of :data:`KIND_PAIRS`, or empty."""

    function: str | None = None
    """PCI address of the device's physical function on the node's machine; None if unknown."""

    pcie_roots: tuple[str, ...] = ()
    """PCIe roots that the driver publishes for the device."""

    numa_node: int | None = None
    """NUMA node that the driver publishes for the device; None if it publishes none."""

    parent: str | None = None
    """Name or UUID of the whole device, if this device is a part of another."""

    is_known: bool = True
    """False for a device without a slice, or without a node."""


UNKNOWN_LOCATION = Location("", is_known=False)


def device_kind(driver: str) -> str:
    """Return the kind of a driver's devices; empty if their alignment is not reported."""
    if driver in _CPU_DRIVERS:
        return "cpu"
    for word, drivers in hardware().items():
        if word in _KIND_BY_HARDWARE and driver in drivers:
            return _KIND_BY_HARDWARE[word]
    return ""


def locate(driver: str, device: Device, levels: Levels | None) -> Location:
    """Return the location of a published device; ``levels`` are the levels of its node's
    machine.
    """
    return Location(
        device_kind(driver),
        function=None if levels is None else _physical_function(device, levels.machine),
        pcie_roots=_list_roots(device),
        numa_node=_find_numa_node(device),
        parent=_find_parent(driver, device),
    )


def _physical_function(device: Device, machine: Machine) -> str | None:
    """Return the PCI address of a device; for a virtual function, the address of its physical
    function.
    """
    bdf = address(device.name, device.mapping.get("attributes") or {})
    function = machine.pci.get(bdf or "")
    if function is None:
        return None
    return function.physical_function or function.bdf


def _list_roots(device: Device) -> tuple[str, ...]:
    root = device.attributes.get(PCIE_ROOT)
    if root is None:
        return ()
    values = root.value if isinstance(root.value, tuple) else (root.value,)
    return tuple(value for value in values if isinstance(value, str) and value)


def _find_numa_node(device: Device) -> int | None:
    """Return the NUMA node from the standard attribute, or else from an attribute of the driver."""
    attributes = device.attributes
    driver_names = (n for n in attributes if n.rpartition("/")[2] in _NUMA_ATTRIBUTES)
    for name in (NUMA_NODE, *driver_names):
        numa_node = _parse_numa_node(attributes[name].value) if name in attributes else None
        if numa_node is not None:
            return numa_node
    return None


def _parse_numa_node(value: object) -> int | None:
    """Return a NUMA node, or the first of a list of them; None for -1, which means no node."""
    number = value[0] if isinstance(value, tuple) and value else value
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        return None
    return number


def _find_parent(driver: str, device: Device) -> str | None:
    """Return the UUID of a partition's parent, or the name of the device itself if it is shared."""
    attributes = device.attributes
    parent = attributes.get("parentUUID") or attributes.get(f"{driver}/parentUUID")
    if parent is not None:
        return parent.value if isinstance(parent.value, str) else None
    return device.name if device.mapping.get("allowMultipleAllocations") else None


# -- distances --


def distance(a: Location, b: Location, levels: Levels | None) -> Distance:
    """Return the distance between two devices of one node; the same in both directions."""
    if not (a.is_known and b.is_known):
        return _unknown_distance("X")
    if a.parent is not None and a.parent == b.parent:
        return SAME_DEVICE
    if levels is not None and a.function is not None and b.function is not None:
        functions = a.function, b.function
        level = "X" if a.function == b.function else levels.by_functions.get(functions)
        if level in ("NODE?", "SYS?"):
            return _unknown_distance("NODE", levels.source)
        if level is not None:
            return _exact_distance(level, levels.source)
    return _distance_by_attributes(a, b)


def _distance_by_attributes(a: Location, b: Location) -> Distance:
    """Return the distance according to standard attributes."""
    share_root = not set(a.pcie_roots).isdisjoint(b.pcie_roots)
    if "cpu" in (a.kind, b.kind):
        # The PCIe roots of a CPU belong to the CPU's NUMA node.
        return _SAME_NUMA_NODE if share_root else _distance_by_numa_node(a, b, "numa", "numa")
    if share_root:
        return _exact_distance("root", "slices")
    if a.pcie_roots and b.pcie_roots:
        return _distance_by_numa_node(a, b, "NODE", "NODE")
    return _distance_by_numa_node(a, b, "numa", "root")


def _distance_by_numa_node(a: Location, b: Location, level: str, nearest_level: str) -> Distance:
    """Return ``level`` if both devices are on one NUMA node; if a node is unknown,
    ``nearest_level`` is possible.
    """
    if a.numa_node is None or b.numa_node is None:
        return _unknown_distance(nearest_level)
    return _exact_distance(level if a.numa_node == b.numa_node else "SYS", "slices")
