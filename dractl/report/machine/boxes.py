"""The content of pictures of a machine: boxes in boxes (NUMA node, PCIe root, switch), and the
devices in them.

SVG and HTML draw the same boxes. Each box shows the distance between the devices in it, so a reader
finds the distance between two devices at the smallest box that contains both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from msgspec import Struct

from dractl.drivers.publication import Publication
from dractl.report.canvas import Canvas
from dractl.report.machine import text as words
from dractl.report.plain import plural
from dractl.topology import tree
from dractl.topology.levels import endpoints, level, rank
from dractl.topology.machine import Gpu, Machine, NumaNode, PciDevice
from dractl.topology.tree import Switch


class Card(Struct, frozen=True):
    """A device. ``published`` is its published name if that is not its ``label``; ``parts`` are the
    devices that it is divided into; ``why_not`` says why it is not published. ``details`` are all
    facts, one on each line.
    """

    device: PciDevice
    label: str
    published: str
    text: str
    link: str
    slow: bool
    parts: tuple[str, ...]
    why_not: str
    details: str

    @property
    def names(self) -> str:
        return " ".join(self.device.names)

    @property
    def title(self) -> str:
        """A screen reader's text for the card."""
        return ", ".join(
            part for part in (self.label, self.published, self.names, self.text) if part
        )


class Counted(Struct, frozen=True):
    """Functions that are only counted."""

    text: str


class Box(Struct, frozen=True):
    """A box and its content. ``levels`` are the distances between devices for which it is the
    smallest common box.
    """

    kind: Literal["node", "root", "switch"]
    title: str
    detail: str
    inside: tuple[Box | Card | Counted, ...]
    levels: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    """The devices that ``levels`` are about, if these are few and the box also has others, such as
    the BMC's display.
    """

    @property
    def tag(self) -> str:
        """The distances in the header of the box; empty if it has none."""
        distances = ", ".join(self.levels)
        return distances and (
            f"between {' and '.join(self.between)}: {distances}"
            if self.between
            else f"within: {distances}"
        )

    def cards(self) -> Iterator[Card]:
        """Yield the devices in the box and in the boxes inside it."""
        for item in self.inside:
            if isinstance(item, Box):
                yield from item.cards()
            elif isinstance(item, Card):
                yield item


class Picture(Struct, frozen=True):
    """The outermost boxes; ``between`` has the distances between devices in different boxes."""

    boxes: tuple[Box, ...]
    between: tuple[str, ...]

    def levels(self) -> tuple[str, ...]:
        """Return every level that the picture mentions, nearest first."""
        mentioned = set(self.between)
        pending = list(self.boxes)
        while pending:
            box = pending.pop()
            mentioned.update(box.levels)
            pending += [item for item in box.inside if isinstance(item, Box)]
        return tuple(sorted(mentioned, key=rank))


def picture(machine: Machine, publication: Publication, canvas: Canvas) -> Picture:
    """Return the picture of a machine: its NUMA nodes, including nodes without PCI functions, then
    the roots whose node is unknown.
    """
    draw = _Maker(machine, publication, canvas)
    groups = {group.node: group for group in tree.groups(machine)}
    boxes = []
    for title, node in words.node_lines(machine.numa_nodes):
        group = groups.pop(node.id, None)
        boxes.append(draw.node(f"NUMA {title}", node, group.roots if group else ()))
    for (
        number,
        group,
    ) in groups.items():  # nodes that have functions but are missing from /sys/devices/system/node
        title = "NUMA node unknown" if number is None else f"NUMA node {number}"
        boxes.append(draw.node("This host" if not machine.numa_nodes else title, None, group.roots))
    return Picture(tuple(boxes), draw.levels(boxes))


class _Maker:
    """Makes boxes, with the data that each of them needs."""

    def __init__(self, machine: Machine, publication: Publication, canvas: Canvas) -> None:
        self._machine = machine
        self._publication = publication
        self._canvas = canvas
        self._gpus: dict[str | None, Gpu] = {gpu.bdf: gpu for gpu in machine.gpus}
        devices = endpoints(machine)
        self._endpoints = {device.bdf for device in devices}
        self._labels = words.labels(machine, devices, publication)

    def node(self, title: str, node: NumaNode | None, roots: tuple[tree.Root, ...]) -> Box:
        inside = tuple(self._root(root) for root in roots)
        detail = words.node_line(node) if node is not None else ""
        return Box("node", title, detail, inside, self.levels(inside))

    def _root(self, root: tree.Root) -> Box:
        inside = tuple(self._items(root.inside))
        detail = f"below {root.below}; drivers publish no pcieRoot" if root.below else "PCIe root"
        return Box(
            "root", root.name, detail, inside, self.levels(inside), self._labels_of_two(inside)
        )

    def _items(self, items: Iterable[Switch | PciDevice]) -> Iterator[Box | Card | Counted]:
        hidden = 0
        virtual: dict[str, list[PciDevice]] = {}
        for item in items:
            if not isinstance(item, PciDevice):
                address = f" {item.device.bdf}" if item.device else ""
                product = words.product(item.device) if item.device else ""
                inside = tuple(self._items(item.inside))
                yield Box(
                    "switch",
                    f"switch{address}",
                    product,
                    inside,
                    self.levels(inside),
                    self._labels_of_two(inside),
                )
            elif item.physical_function:
                virtual.setdefault(item.physical_function, []).append(item)
            elif words.is_shown(item):
                yield self._card(item)
            else:
                hidden += 1
        for physical, functions in virtual.items():
            names = [
                part.shown
                for device in functions
                for part in self._publication.devices_of(device.bdf)
            ]
            published = f", published as {words.span(names)}" if names else ""
            yield Counted(
                f"+ {plural(len(functions), 'virtual function')} of {physical}{published}"
            )
        if hidden:
            yield Counted(f"+ {plural(hidden, 'other function')}")

    def _card(self, device: PciDevice) -> Card:
        gpu = self._gpus.get(device.bdf)
        speed, slow = words.link(device, self._canvas)
        label = self._labels.get(device.bdf, "")
        published = words.whole_name(device, self._publication)
        binding = words.binding(device)
        return Card(
            device=device,
            label=label,
            published="" if published == label else published,
            text=words.description(device, gpu) + (f" ({binding})" if binding else ""),
            link=speed,
            slow=slow,
            parts=tuple(
                " · ".join(filter(None, part))
                for part in words.parts(device, gpu, self._publication)
            ),
            why_not=self._publication.left_out.get(device.bdf, ""),
            details="\n".join(
                f"{name}: {value}"
                for name, value in words.facts(device, gpu, self._publication, self._canvas)
            ),
        )

    def _labels_of_two(self, items: Iterable[Box | Card | Counted]) -> tuple[str, ...]:
        """Return the labels of the compared devices if they are only two of the devices in
        ``items``; otherwise return an empty tuple.
        """
        cards = [card for item in items for card in _cards(item)]
        among = [card.label for card in cards if card.device.bdf in self._endpoints]
        return tuple(among) if len(among) == 2 < len(cards) and all(among) else ()

    def levels(self, items: Iterable[Box | Card | Counted]) -> tuple[str, ...]:
        """Return the levels between devices of different ``items``, nearest first."""
        groups = [
            [card.device for card in _cards(item) if card.device.bdf in self._endpoints]
            for item in items
        ]
        levels = {
            level(a, b, self._machine)
            for i, group in enumerate(groups)
            for other in groups[i + 1 :]
            for a in group
            for b in other
        }
        return tuple(sorted(levels, key=rank))


def _cards(item: Box | Card | Counted) -> list[Card]:
    if isinstance(item, Box):
        return list(item.cards())
    return [item] if isinstance(item, Card) else []
