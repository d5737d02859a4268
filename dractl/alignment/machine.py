"""Alignments: how many GPUs and NICs of a node a claim can ask for on one PCIe root or NUMA node."""

from collections import Counter
from math import comb

from msgspec import Struct

from dractl.drivers.publication import Published
from dractl.drivers.standard import NUMA_NODE, PCIE_ROOT

PLACES = {PCIE_ROOT: "PCIe root", NUMA_NODE: "NUMA node"}
"""The standard attributes that claims align devices by, and what they stand for."""


class AlignedGroup(Struct, frozen=True):
    """``gpus`` GPUs and ``nics`` NICs with one value of ``attribute``.

    ``ways`` counts the combinations, ``places`` the PCIe roots or NUMA nodes that have at least one.
    """

    attribute: str
    gpus: int
    nics: int
    ways: int
    places: int

    @property
    def text(self) -> str:
        what = " + ".join(
            _count(number, word)
            for number, word in ((self.gpus, "GPU"), (self.nics, "NIC"))
            if number
        )
        place = PLACES[self.attribute]
        several = f", on {self.places} {place}s" if self.places > 1 else ""
        return f"{what} on one {place}: {_count(self.ways, 'way')}{several}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def alignments(devices: tuple[Published, ...]) -> tuple[AlignedGroup, ...]:
    """The alignments that the devices allow: 1, 2, 4 or 8 GPUs, alone, with one NIC, and with a NIC for each."""
    by_shape: dict[tuple[str, int, int], AlignedGroup] = {}
    for attribute in PLACES:
        gpus, nics = (
            Counter(
                d.place(attribute)
                for d in devices
                if d.kind == kind and d.place(attribute) is not None
            )
            for kind in ("gpu", "nic")
        )
        for g in (1, 2, 4, 8):
            for n in (0, 1, g):
                if g == 1 and n == 0:
                    continue
                ways = [comb(gpus[place], g) * comb(nics[place], n) for place in gpus]
                if any(ways):
                    by_shape[attribute, g, n] = AlignedGroup(
                        attribute, g, n, sum(ways), sum(w > 0 for w in ways)
                    )
    return tuple(by_shape.values())


def obstacles(devices: tuple[Published, ...]) -> tuple[str, ...]:
    """Obstacles to aligning the node's GPUs with its NICs by claims."""
    gpus = [d for d in devices if d.kind == "gpu"]
    nics = [d for d in devices if d.kind == "nic"]
    if not gpus or not nics:
        return ()
    texts = []
    for attribute, word in PLACES.items():
        drivers = sorted({d.driver for d in (*gpus, *nics)})
        without = [
            x
            for x in drivers
            if all(d.place(attribute) is None for d in (*gpus, *nics) if d.driver == x)
        ]
        if without:
            verb = "does" if len(without) == 1 else "do"
            texts.append(
                f"claims cannot match {attribute}: {' and '.join(without)} {verb} not publish it on this node"
            )
        elif not {d.place(attribute) for d in gpus} & {d.place(attribute) for d in nics} - {None}:
            texts.append(f"no {word} has both a GPU and a NIC")
    return tuple(texts)
