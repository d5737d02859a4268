"""The DRA view of a node: which devices its drivers would publish, where each of them is, and what can be aligned."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dractl.drivers.rendering import Rendering

PCIE_ROOT, NUMA_NODE, PCI_BUS_ID = (f"resource.kubernetes.io/{name}" for name in ("pcieRoot", "numaNode", "pciBusID"))
PLACES = {PCIE_ROOT: "PCIe root", NUMA_NODE: "NUMA node"}

# What the devices of a driver are, for a person who asks for "2 GPUs and a NIC".
GPU_DRIVERS = frozenset({"gpu.nvidia.com", "gpu.amd.com", "gpu.intel.com"})
NET_DRIVERS = frozenset({"dra.net"})

_ADDRESSES = (PCI_BUS_ID, "dra.net/pciAddress", "pciAddress")


@dataclass(frozen=True, slots=True)
class Published:
    """A device as a driver would publish it. ``root`` and ``node`` are the attributes that claims can match by."""

    driver: str
    name: str
    kind: str
    bdf: str | None = None
    root: str | None = None
    node: int | None = None

    def place(self, attribute: str) -> str | int | None:
        """The value of :data:`PCIE_ROOT` or :data:`NUMA_NODE`."""
        return self.root if attribute == PCIE_ROOT else self.node


@dataclass(frozen=True, slots=True)
class View:
    """What a report shows: ``drivers`` with the versions they are rendered as, their devices, what can be aligned."""

    drivers: Mapping[str, str]
    devices: tuple[Published, ...]
    alignments: tuple[Alignment, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alignment:
    """``gpus`` and ``nics`` that share the value of ``attribute``: in how many ways, on how many roots or nodes."""

    attribute: str
    gpus: int
    nics: int
    ways: int
    places: int

    @property
    def text(self) -> str:
        what = " + ".join(f"{n} {word}" for n, word in ((self.gpus, "GPU"), (self.nics, "NIC")) if n)
        ways = "1 way" if self.ways == 1 else f"{self.ways} ways"
        several = f", on {self.places} of them" if self.places > 1 else ""
        return f"{what} on one {PLACES[self.attribute]}: {ways}{several}"


def view(rendering: Rendering) -> View:
    """The view of one node's rendering with the drivers' current releases."""
    from dractl.drivers.registry import find

    devices = published(rendering)
    drivers = {name: find(name).catalogue.released for name in dict.fromkeys(d.driver for d in devices)}
    return View(drivers, devices, alignments(devices), warnings(devices))


def published(rendering: Rendering) -> tuple[Published, ...]:
    """The devices of all slices, drivers and devices in the order of the slices."""
    found = []
    for one in rendering.slices:
        driver = one["spec"]["driver"]
        for device in one["spec"].get("devices", ()):
            attributes = device.get("attributes", {})
            bdf = next((value["string"] for name in _ADDRESSES if (value := attributes.get(name))), None)
            found.append(
                Published(
                    driver=driver,
                    name=device["name"],
                    kind=_kind(driver, attributes, bdf),
                    bdf=bdf,
                    root=attributes.get(PCIE_ROOT, {}).get("string"),
                    node=attributes.get(NUMA_NODE, {}).get("int"),
                )
            )
    return tuple(found)


def _kind(driver: str, attributes: Mapping[str, Any], bdf: str | None) -> str:
    if driver in GPU_DRIVERS:
        return "mig" if attributes.get("type", {}).get("string") == "mig" else "gpu"
    if driver in NET_DRIVERS:
        return "nic" if bdf else "interface"
    return "other"


def alignments(devices: tuple[Published, ...]) -> tuple[Alignment, ...]:
    """What can be asked for on one root or node: 1, 2, 4, 8 GPUs, alone, with one NIC, and with a NIC each."""
    found: dict[tuple[str, int, int], Alignment] = {}
    for attribute in PLACES:
        gpus = Counter(d.place(attribute) for d in devices if d.kind == "gpu" and d.place(attribute) is not None)
        nics = Counter(d.place(attribute) for d in devices if d.kind == "nic" and d.place(attribute) is not None)
        for g in (1, 2, 4, 8):
            for n in (0, 1, g):
                if g == 1 and n == 0:
                    continue
                ways = [comb(gpus[place], g) * comb(nics[place], n) for place in gpus]
                if any(ways):
                    found[attribute, g, n] = Alignment(attribute, g, n, sum(ways), sum(w > 0 for w in ways))
    return tuple(found.values())


def warnings(devices: tuple[Published, ...]) -> tuple[str, ...]:
    """What stands in the way of aligning the node's GPUs with its NICs."""
    gpus = [d for d in devices if d.kind == "gpu"]
    nics = [d for d in devices if d.kind == "nic"]
    if not gpus or not nics:
        return ()
    found = []
    for attribute, word in PLACES.items():
        without = sorted({d.driver for d in (*gpus, *nics) if d.place(attribute) is None})
        all_without = [x for x in without if all(d.place(attribute) is None for d in (*gpus, *nics) if d.driver == x)]
        if all_without:
            found.append(f"{attribute} cannot be matched: {' and '.join(all_without)} would not publish it here")
        elif not {d.place(attribute) for d in gpus} & {d.place(attribute) for d in nics} - {None}:
            found.append(f"no {word} holds both a GPU and a NIC")
    return tuple(found)
