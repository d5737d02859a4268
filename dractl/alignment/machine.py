"""Alignments: how many GPUs and NICs of a node a claim can ask for on one PCIe root or NUMA node."""

from collections import Counter
from math import comb

from msgspec import Struct

from dractl.drivers.publication import Published
from dractl.drivers.standard import NUMA_NODE, PCIE_ROOT

PLACES = {PCIE_ROOT: "PCIe root", NUMA_NODE: "NUMA node"}
"""The standard attributes that claims align devices by, and what they stand for."""


class AlignedGroup(Struct, frozen=True):
    """GPUs and NICs that a claim can ask for with one value of an attribute."""

    attribute: str
    gpus: int
    """GPUs of one group."""
    nics: int
    """NICs of one group."""
    at_once: int
    """Groups that the node has devices for at the same time."""
    combinations: int
    """Choices of the devices of one group."""
    places: int
    """PCIe roots or NUMA nodes that have at least one group."""

    @property
    def text(self) -> str:
        """The group in words: ``2 GPUs + 1 NIC on one PCIe root: up to 4 at once ...``."""
        devices = " + ".join(
            _count(number, word)
            for number, word in ((self.gpus, "GPU"), (self.nics, "NIC"))
            if number
        )
        place = PLACES[self.attribute]
        number = f"up to {self.at_once} at once ({_count(self.combinations, 'combination')})"
        several = f", on {self.places} {place}s" if self.places > 1 else ""
        return f"{devices} on one {place}: {number}{several}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def alignments(devices: tuple[Published, ...]) -> tuple[AlignedGroup, ...]:
    """Return the groups that the devices allow: 1, 2, 4 or 8 GPUs, alone, with one NIC, and with a NIC for each."""
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
                at_once = [
                    min(gpus[place] // g, nics[place] // n if n else gpus[place] // g)
                    for place in gpus
                ]
                if any(at_once):
                    by_shape[attribute, g, n] = AlignedGroup(
                        attribute,
                        gpus=g,
                        nics=n,
                        at_once=sum(at_once),
                        combinations=sum(comb(gpus[p], g) * comb(nics[p], n) for p in gpus),
                        places=sum(map(bool, at_once)),
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
