"""The level between two devices: from the machine of their node where it is known, else from standard attributes.

Levels are those of ``nvidia-smi topo -m`` and two of our own, for what slices tell: ``root`` (the same PCIe root) and
``numa`` (the same NUMA node, at least one root unknown). What is not known is None, never a guess.
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

_LEVELS = ("XGMI", "PIX", "PXB", "PHB", "root", "NODE", "numa", "SYS")
_LINKS = 1000  # more NVLinks than any two GPUs have
_NUMA = ("numaNode", "numaNodeID")
# Kinds that belong together, in the order in which they are reported; accelerators of any vendor count as gpu.
KINDS = (("gpu", "gpu"), ("gpu", "nic"), ("gpu", "cpu"), ("nic", "cpu"), ("gpu", "nvme"))
_KINDS = {"gpu": "gpu", "tpu": "gpu", "neuron": "gpu", "gaudi": "gpu", "nic": "nic", "nvme": "nvme"}
_CPUS = frozenset({"dra.cpu", "cpu.example.com"})


def position(level: str) -> int:
    """A level as a number, from near to far; of two NVLink levels the one with more links is nearer."""
    if level == "X":
        return 0
    return _LINKS - int(level[2:]) if level.startswith("NV") else _LINKS + _LEVELS.index(level)


def level_of(number: int) -> str:
    """The level of a :func:`position`."""
    if number == 0:
        return "X"
    return f"NV{_LINKS - number}" if number < _LINKS else _LEVELS[number - _LINKS]


_FAR = position("SYS")


class Distance(Struct, frozen=True):
    """The level between two devices. If it is unknown (None), it is between the positions ``near`` and ``far``."""

    level: str | None
    near: int
    far: int
    source: Source


def _known(level: str, source: Source) -> Distance:
    return Distance(level, position(level), position(level), source)


SAME = _known("X", "slices")
"""The distance of a device from itself, of which two have a share."""


class Location(Struct, frozen=True):
    """Where a device is.

    ``kind``: one of those in :data:`KINDS`, or empty. ``function``: the PCI address of its function (of a virtual
    function, that of the physical one) on the machine of its node. ``whole``: what it is a part of. ``known``: false of
    a device that no slice has, and of one that is on no node.
    """

    kind: str
    function: str | None = None
    roots: tuple[str, ...] = ()
    numa: int | None = None
    whole: str | None = None
    known: bool = True


NOWHERE = Location("", known=False)


class Levels(Struct, frozen=True):
    """The levels between the PCI functions of a machine, and where they are known from."""

    machine: Machine
    source: Source
    between: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, machine: Machine, source: Source) -> Levels:
        """The nearest level of every two devices."""
        return cls(machine, source, nearest(machine))


def kind(driver: str) -> str:
    """The kind of a driver's devices; empty for one whose distances nobody asks for."""
    if driver in _CPUS:
        return "cpu"
    return next(
        (
            _KINDS[word]
            for word, drivers in hardware().items()
            if word in _KINDS and driver in drivers
        ),
        "",
    )


def place(driver: str, device: Device, levels: Levels | None) -> Location:
    """Where a published device is."""
    attributes = device.attributes
    root = attributes.get(PCIE_ROOT)
    roots = () if root is None else root.value if isinstance(root.value, tuple) else (root.value,)
    numa = next(
        (
            number
            for name in (NUMA_NODE, *(n for n in attributes if n.rpartition("/")[2] in _NUMA))
            if name in attributes and (number := _first(attributes[name].value)) is not None
        ),
        None,
    )
    parent = attributes.get("parentUUID") or attributes.get(f"{driver}/parentUUID")
    shared = device.mapping.get("allowMultipleAllocations")
    whole = parent.value if parent is not None else device.name if shared else None
    return Location(
        kind(driver),
        None if levels is None else _function(device, levels.machine),
        tuple(value for value in roots if isinstance(value, str) and value),
        numa,
        whole if isinstance(whole, str) else None,
    )


def _first(value: object) -> int | None:
    """A NUMA node; of a list the device's own; None for -1, which stands for none."""
    number = value[0] if isinstance(value, tuple) and value else value
    return (
        number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else None
    )


def _function(device: Device, machine: Machine) -> str | None:
    bdf = address(device.name, device.mapping.get("attributes") or {})
    function = machine.pci.get(bdf or "")
    if function is None:
        return None
    return function.physical_function or function.bdf


def distance(a: Location, b: Location, levels: Levels | None) -> Distance:
    """The distance between two devices of one node; the same in both directions."""
    if not (a.known and b.known):
        return Distance(None, 0, _FAR, "slices")
    if a.whole is not None and a.whole == b.whole:
        return SAME
    if levels is not None and a.function is not None and b.function is not None:
        level = "X" if a.function == b.function else levels.between.get((a.function, b.function))
        if level in ("NODE?", "SYS?"):
            return Distance(None, position("NODE"), _FAR, levels.source)
        if level is not None:
            return _known(level, levels.source)
    return _published(a, b)


def _published(a: Location, b: Location) -> Distance:
    """The distance that standard attributes tell."""
    same_node = None if a.numa is None or b.numa is None else a.numa == b.numa
    if "cpu" in (a.kind, b.kind):  # the PCIe roots of CPUs are those near them
        near = bool(set(a.roots) & set(b.roots)) or same_node
        return (
            Distance(None, position("numa"), _FAR, "slices")
            if near is None
            else _by_node(near, "numa")
        )
    if a.roots and b.roots:
        if set(a.roots) & set(b.roots):
            return _known("root", "slices")
        return (
            Distance(None, position("NODE"), _FAR, "slices")
            if same_node is None
            else _by_node(same_node, "NODE")
        )
    return (
        Distance(None, position("root"), _FAR, "slices")
        if same_node is None
        else _by_node(same_node, "numa")
    )


def _by_node(same: bool, level: str) -> Distance:
    return _known(level if same else "SYS", "slices")
