"""``discover -o svg``: NUMA nodes, PCIe roots and switches as boxes that span what hangs from them, devices as lines.

A picture for tickets and documents: no script, no font and no image from elsewhere; light or dark as the reader has it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from dractl.report import machine_text as words
from dractl.report.canvas import Canvas
from dractl.topology import tree
from dractl.topology.levels import ENDPOINTS, endpoints
from dractl.topology.machine import PciDevice

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dractl.topology.machine import Gpu, Link, Machine
    from dractl.topology.tree import Switch

ROW = 30
GAP = 12
PAD = 16
DEVICE = 760
_PLAIN = Canvas()

LEVEL_WORDS = {
    "pix": "PIX: across one PCIe switch",
    "pxb": "PXB: across several PCIe switches",
    "phb": "PHB: across the PCIe root",
    "node": "NODE: across roots of one NUMA node",
    "sys": "SYS: across NUMA nodes",
    "nv": "NV# or XGMI: links between GPUs",
}

STYLE = """
svg.dractl { --ink: #1b1f24; --soft: #59636e; --paper: #ffffff; --box: #f3f5f8; --edge: #c3cad3;
  --pix: #1a8f3c; --pxb: #0a7ea4; --phb: #7d6b00; --node: #d4730a; --sys: #c01f3a; --nv: #7a3fd0;
  --gpu: #1a8f3c; --nic: #0a7ea4; --nvme: #a36a00; --other: #7b8794;
  font: 12px ui-sans-serif, system-ui, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; background: var(--paper); }
@media (prefers-color-scheme: dark) { svg.dractl { --ink: #e6e9ee; --soft: #9aa4b2; --paper: #14171c; --box: #1e232b;
  --edge: #414a57; --pix: #4cc96f; --pxb: #46b8dd; --phb: #d9c24a; --node: #f39a4b; --sys: #f0657c; --nv: #b08cf5;
  --gpu: #4cc96f; --nic: #46b8dd; --nvme: #e0a63a; --other: #8a94a3; } }
svg.dractl text { fill: var(--ink); } svg.dractl .soft { fill: var(--soft); } svg.dractl .bold { font-weight: 600; }
svg.dractl .mono { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 11px; }
svg.dractl .box { fill: var(--box); stroke: var(--edge); } svg.dractl .wire { fill: none; stroke-width: 2; }
svg.dractl .device rect { fill: var(--box); stroke: var(--edge); }
svg.dractl .warn { fill: var(--sys); }
""".strip()


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A line of the picture: a device, or the functions that nobody asks for, counted."""

    device: PciDevice | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class _Box:
    """A box that spans what is in it."""

    title: str
    detail: str
    inside: tuple[_Box | _Leaf, ...]
    level: str


def render(machine: Machine) -> str:
    """A complete SVG document."""
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + picture(machine)


def picture(machine: Machine) -> str:
    """The ``svg`` element, to stand alone or inside a page."""
    boxes = [_group(group, machine) for group in tree.groups(machine)]
    depth = max((_depth(box) for box in boxes), default=1)
    widths = _Widths(depth)
    head = words.host_lines(machine)
    labels = words.labels(machine, endpoints(machine))
    draw = _Drawing(machine, labels, widths)
    y = PAD + 18.0 * len(head) + 12
    for i, box in enumerate(boxes):
        if i:
            draw.between(y)
        y = draw.box(box, 0, y) + GAP
    y = draw.fabric(y)
    draw.legend(y)
    height = y + 40
    width = widths.total
    size = f'viewBox="0 0 {width} {height:g}" width="{width}" height="{height:g}"'
    out = [
        f'<svg class="dractl" xmlns="http://www.w3.org/2000/svg" role="img" aria-label="PCI topology" {size}>',
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{height:g}" fill="var(--paper)"/>',
    ]
    for i, line in enumerate(head):
        style = "bold" if i == 0 else "soft"
        out.append(f'<text class="{style}" x="{PAD}" y="{PAD + 14 + 18 * i}">{escape(line)}</text>')
    return "\n".join([*out, *draw.parts, "</svg>"]) + "\n"


@dataclass(frozen=True, slots=True)
class _Widths:
    """Columns: one of boxes for each depth, then the devices."""

    depth: int

    def left(self, column: int) -> int:
        return PAD + sum(self.width(i) + 34 for i in range(column))

    def width(self, column: int) -> int:
        return (190, 118)[column] if column < 2 else 168

    @property
    def devices(self) -> int:
        return self.left(self.depth)

    @property
    def total(self) -> int:
        return self.devices + DEVICE + 150


def _group(group: tree.Group, machine: Machine) -> _Box:
    node = next((n for n in machine.numa_nodes if n.id == group.node), None)
    title = "NUMA node unknown" if group.node is None else f"NUMA node {group.node}"
    if group.node is None and len(machine.numa_nodes) <= 1:
        title = "this host"
    inside = tuple(
        _Box(
            root.name,
            f"below {root.below}; drivers publish no pcieRoot for it" if root.below else "PCIe root",
            tuple(_items(root.inside)),
            "node",
        )
        for root in group.roots
    )
    return _Box(title, words.node_line(node) if node else "", inside, "sys")


def _items(items: Iterable[Switch | PciDevice], above: str = "phb") -> Iterator[_Box | _Leaf]:
    hidden = 0
    virtual: Counter[str] = Counter()
    for item in items:
        if not isinstance(item, PciDevice):
            name = words.product(item.device) if item.device else "switch"
            address = item.device.bdf if item.device else ""
            yield _Box(f"switch {address}", name, tuple(_items(item.inside, "pix")), "pxb" if above == "pix" else "phb")
        elif item.sriov and item.sriov.physical_function:
            virtual[item.sriov.physical_function] += 1
        elif item.kind in ENDPOINTS or item.names or words.is_nvswitch(item):
            yield _Leaf(item)
        else:
            hidden += 1
    for physical, count in virtual.items():
        yield _Leaf(None, f"+ {count} virtual function{'s' if count > 1 else ''} of {physical}")
    if hidden:
        yield _Leaf(None, f"+ {hidden} other function{'s' if hidden > 1 else ''}")


def _depth(box: _Box | _Leaf) -> int:
    return 1 + max((_depth(b) for b in box.inside), default=0) if isinstance(box, _Box) else 0


class _Drawing:
    """Collects the parts of the picture, top to bottom."""

    def __init__(self, machine: Machine, labels: dict[str, str], widths: _Widths) -> None:
        self.parts: list[str] = []
        self._machine = machine
        self._labels = labels
        self._widths = widths
        self._gpus: dict[str | None, Gpu] = {g.bdf: g for g in machine.gpus}
        self._rows: dict[str, float] = {}

    def box(self, box: _Box, column: int, top: float) -> float:
        """Draws ``box`` and what is in it from ``top`` on; returns where it ends."""
        slot = len(self.parts)
        left, width = self._widths.left(column), self._widths.width(column)
        y: float = top
        children: list[tuple[_Box | _Leaf, float, float]] = []
        below: list[str] = []
        for child in box.inside:
            start = len(self.parts)
            end: float = self.box(child, column + 1, y) if isinstance(child, _Box) else self._leaf(child, y)
            children.append((child, y, end))
            below += self.parts[start:]
            del self.parts[start:]
            y = end + (GAP if isinstance(child, _Box) else 4)
        bottom = max(children[-1][2] if children else top, top + 34)
        for child, upper, lower in children:
            level = child.level if isinstance(child, _Box) else _leaf_level(box)
            to = self._widths.left(column + 1) if isinstance(child, _Box) else self._widths.devices
            middle = upper + 17 if isinstance(child, _Box) else (upper + lower) / 2
            self.parts.append(
                f'<path class="wire" stroke="var(--{level})" d="M{left + width} {middle:g}H{to}">'
                f"<title>{escape(LEVEL_WORDS[level])}</title></path>"
            )
        title, hover = _PLAIN.cut(box.title, width // 7), f"{box.title}\n{box.detail}".strip()
        lines = [part for part in box.detail.split(" · ") if part]
        details = [_PLAIN.cut(line, width // 7 - 2) for line in lines[: max(0, int(bottom - top - 28) // 17)]]
        self.parts[slot:slot] = [
            f"<g><title>{escape(hover)}</title>",
            f'<rect class="box" x="{left}" y="{top:g}" width="{width}" height="{bottom - top:g}" rx="6"/>',
            f'<text class="bold" x="{left + 8}" y="{top + 21:g}">{escape(title)}</text>',
            *(
                f'<text class="soft" x="{left + 8}" y="{top + 39 + 17 * i:g}">{escape(line)}</text>'
                for i, line in enumerate(details)
            ),
            "</g>",
        ]
        self.parts += below
        return bottom

    def _leaf(self, leaf: _Leaf, top: float) -> float:
        left, height = self._widths.devices, ROW - 4
        device = leaf.device
        if device is None:
            self.parts.append(f'<text class="soft" x="{left + 8}" y="{top + 17:g}">{escape(leaf.text)}</text>')
            return top + height
        self._rows[device.bdf] = top + height / 2
        color = {"gpu": "gpu", "accelerator": "gpu", "nic": "nic", "rdma": "nic", "nvme": "nvme"}.get(
            device.kind, "other"
        )
        speed, slow = words.link(device, _PLAIN)
        gpu = self._gpus.get(device.bdf)
        text = words.description(device, gpu)
        names = " ".join(device.names)
        columns = [
            (14, "bold", self._labels.get(device.bdf, "")),
            (74, "mono", device.bdf),
            (170, "bold", _PLAIN.cut(names, 19)),
            (320, "", _PLAIN.cut(text, 48)),
            (660, "warn" if slow else "soft", speed),
        ]
        texts = "".join(
            f'<text class="{style}" x="{left + x}" y="{top + 17:g}">{escape(value)}</text>'
            for x, style, value in columns
            if value
        )
        place = f'x="{left}" y="{top:g}" height="{height}"'
        self.parts += [
            f'<g class="device" data-bdf="{device.bdf}"><title>{escape(_hover(device, gpu))}</title>',
            f'<rect {place} width="{DEVICE}" rx="5"/>',
            f'<rect {place} width="6" rx="2" style="fill: var(--{color}); stroke: none"/>',
            f"{texts}</g>",
        ]
        return top + height

    def between(self, y: float) -> None:
        """The interconnect between one NUMA node's box, above ``y``, and the next."""
        x = self._widths.left(0) + self._widths.width(0) / 2
        title = escape(LEVEL_WORDS["sys"])
        self.parts.append(
            f'<path class="wire" stroke="var(--sys)" d="M{x:g} {y - GAP:g}V{y:g}"><title>{title}</title></path>'
        )

    def fabric(self, bottom: float) -> float:
        """NVLinks, right of the devices: one bar where every GPU reaches every other equally, else an arc a pair."""
        links = [
            x for x in self._machine.links if x.kind in ("nvlink", "xgmi") and x.a in self._rows and x.b in self._rows
        ]
        if not links:
            return bottom
        ends = sorted({end for x in links for end in (x.a, x.b)}, key=self._rows.__getitem__)
        right = self._widths.devices + DEVICE
        even = len({x.count for x in links}) == 1 and len(links) == len(ends) * (len(ends) - 1) // 2 and len(ends) > 2
        if even:
            top, low = self._rows[ends[0]], self._rows[ends[-1]]
            self.parts.append(
                f'<path class="wire" stroke="var(--nv)" stroke-width="4" d="M{right + 30} {top:g}V{low:g}"/>'
            )
            self.parts += [
                f'<path class="wire" stroke="var(--nv)" d="M{right} {self._rows[end]:g}H{right + 30}"/>' for end in ends
            ]
            label = f"{_direct(links[0])}, all to all"
            self.parts.append(f'<text x="{right + 38}" y="{(top + low) / 2 + 4:g}">{label}</text>')
            return bottom
        for x in links:
            a, b = sorted((self._rows[x.a], self._rows[x.b]))
            bend = right + min(100.0, 24 + (b - a) / 6)
            self.parts.append(
                f'<path class="wire" stroke="var(--nv)" d="M{right} {a:g}C{bend:g} {a:g} {bend:g} {b:g} {right} {b:g}">'
                f"<title>{escape(f'{_direct(x)}: {x.a} and {x.b}')}</title></path>"
            )
        return bottom

    def legend(self, y: float) -> None:
        x = PAD
        for level, text in LEVEL_WORDS.items():
            if level == "nv" and not any(link.kind in ("nvlink", "xgmi") for link in self._machine.links):
                continue
            self.parts.append(f'<path class="wire" stroke="var(--{level})" d="M{x} {y + 20:g}h22"/>')
            self.parts.append(f'<text class="soft" x="{x + 28}" y="{y + 24:g}">{escape(text)}</text>')
            x += 52 + int(len(text) * 6.6)


def _leaf_level(box: _Box) -> str:
    """What lies between a device and its siblings in ``box``: the switch that the box is, or the root."""
    return "pix" if box.title.startswith("switch") else "phb"


def _direct(link: Link) -> str:
    return "XGMI" if link.kind == "xgmi" else f"NV{link.count}"


def _hover(device: PciDevice, gpu: Gpu | None) -> str:
    facts = [
        (device.bdf, words.description(device, gpu)),
        ("PCIe root", device.pcie_root),
        ("bridges", " ".join(device.bridges)),
        ("NUMA node", device.numa_node),
        ("driver", device.driver or "none"),
        ("names", " ".join(device.names)),
        ("link", words.link(device, _PLAIN)[0]),
        ("IOMMU group", device.iommu_group),
        ("UUID", gpu.uuid if gpu else None),
    ]
    return "\n".join(f"{name}: {value}" for name, value in facts if value not in (None, ""))
