"""``discover -o tree``: host, NUMA node, PCIe root, switch, device."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dractl.report import machine_text as words
from dractl.topology import cpulist, tree
from dractl.topology.machine import PciDevice
from dractl.topology.tree import Switch

if TYPE_CHECKING:
    from dractl.drivers.view import View
    from dractl.report.canvas import Canvas
    from dractl.topology.machine import Machine
    from dractl.topology.tree import Root


@dataclass(frozen=True, slots=True)
class _Row:
    """A line: the branches before it, then columns that are aligned over the whole tree; or ``title`` alone."""

    branch: str
    title: str = ""
    style: str = ""
    bdf: str = ""
    kind: str = ""
    names: str = ""
    text: str = ""
    driver: str = ""
    link: str = ""
    slow: bool = False


def render(machine: Machine, canvas: Canvas, *, view: View | None = None, verbose: bool = False) -> str:
    """The tree as text, with the DRA ``view`` below it; ``verbose`` lists every function, also those that no workload
    asks for, and every note.
    """
    lines: list[str] = []
    for i, line in enumerate(words.host_lines(machine)):
        lines += [canvas.paint(part, "" if i else "1") for part in words.wrap(line, canvas.width, "  ")]
    lines += _numa(machine, canvas)
    lines += _layout(_rows(machine, canvas, verbose), canvas)
    lines += _unplaced(machine, canvas)
    lines += _dra(view, canvas) if view is not None and view.devices else []
    lines += _notes(machine, canvas)
    return canvas.plain("\n".join(lines).strip("\n") + "\n")


def _numa(machine: Machine, canvas: Canvas) -> list[str]:
    nodes = machine.numa_nodes
    if not nodes:
        return []
    # Grace reserves a node for each MIG instance that a GPU could have: empty ones are one line.
    empty = [n for n in nodes if not n.cpus and n.memory_bytes == 0]
    shown = [(f"  node {n.id}", words.node_line(n), n.distances) for n in nodes if len(empty) < 2 or n not in empty]
    if len(empty) > 1:
        shown.append((f"  nodes {cpulist.show(n.id for n in empty)}", words.node_line(empty[0]), ()))
    left = max(len(name) for name, _, _ in shown)
    middle = max(len(text) for _, text, _ in shown)
    wide = left + 2 + middle + 3 + len("distance") + 4 * len(nodes) <= canvas.width
    lines = ["", canvas.paint("NUMA nodes", "1")]
    for name, text, distances in shown:
        row = "".join(f"{d:>4}" for d in distances) if len(nodes) > 1 and distances else ""
        if row and wide:
            lines.append(f"{name:<{left}}  {text:<{middle}}   distance{row}")
        else:
            lines += words.wrap(f"{name:<{left}}  {text}", canvas.width, " " * (left + 2))
            if row:
                lines += words.wrap(f"{'':{left}}  distance{row}", canvas.width, " " * (left + 10))
    return lines


def _rows(machine: Machine, canvas: Canvas, verbose: bool) -> list[_Row]:
    single = len(machine.numa_nodes) <= 1
    draw = _Drawing(machine, canvas, verbose)
    for group in tree.groups(machine):
        if not single:
            draw.title("", "NUMA node unknown" if group.node is None else f"NUMA node {group.node}", "1")
        for root in group.roots:
            draw.root("" if single else "  ", root)
    return draw.rows


class _Drawing:
    """Collects rows; holds what every row needs to know."""

    def __init__(self, machine: Machine, canvas: Canvas, verbose: bool) -> None:
        self.rows: list[_Row] = []
        self._machine = machine
        self._canvas = canvas
        self._verbose = verbose
        self._gpus = {g.bdf: g for g in machine.gpus}
        self._bar, self._tee = canvas.glyph("│  ", "|  "), canvas.glyph("├─ ", "|- ")
        self._corner = canvas.glyph("└─ ", "`- ")

    def title(self, branch: str, text: str, style: str) -> None:
        self.rows.append(_Row(branch, title=text, style=style))

    def root(self, branch: str, root: Root) -> None:
        nested = f"  below {root.below}; drivers publish no pcieRoot" if root.below else ""
        self.title(branch, root.name + nested, "1;34")
        self._items(branch, root.inside)

    def _items(self, branch: str, items: tuple[Switch | PciDevice, ...]) -> None:
        shown = [item for item in items if isinstance(item, Switch) or self._matters(item)]
        hidden = [item for item in items if isinstance(item, PciDevice) and not self._matters(item)]
        lines: list[Switch | tuple[PciDevice, ...]] = []
        for item in shown:
            last = lines[-1] if lines else None
            if isinstance(item, PciDevice) and isinstance(last, tuple) and _alike(last[-1], item):
                lines[-1] = (*last, item)
            else:
                lines.append(item if isinstance(item, Switch) else (item,))
        for i, line in enumerate(lines):
            end = i == len(lines) - 1 and not hidden
            lead = branch + (self._corner if end else self._tee)
            if isinstance(line, tuple):
                self.rows.append(self._devices(lead, line))
                continue
            self.title(lead, self._switch(line), "2")
            self._items(branch + ("   " if end else self._bar), line.inside)
        if hidden:
            self.title(branch + self._corner, _summary(hidden), "2")

    def _matters(self, device: PciDevice) -> bool:
        return (
            self._verbose or device.kind not in ("other", "bridge") or bool(device.names) or words.is_nvswitch(device)
        )

    def _switch(self, switch: Switch) -> str:
        if switch.device is None:
            return "switch"
        return f"switch {switch.device.bdf}  {words.product(switch.device)}"

    def _devices(self, lead: str, devices: tuple[PciDevice, ...]) -> _Row:
        first = devices[0]
        speed, slow = words.link(first, self._canvas)
        text = words.description(first, self._gpus.get(first.bdf))
        driver = ""
        if first.sriov and first.sriov.total_vfs:
            text += f", {first.sriov.num_vfs or 0} of {first.sriov.total_vfs} VFs"
        if first.driver != "nvidia" and first.kind != "bridge":
            driver = f" ({first.driver})" if first.driver else " (no driver)"
        bdf = first.bdf
        if len(devices) > 1:
            bdf = _span(devices)
            text = f"{len(devices)}× {text}"
        return _Row(
            lead,
            bdf=bdf,
            kind="vf" if first.sriov and first.sriov.physical_function else first.kind if first.kind != "other" else "",
            names=" ".join(name for d in devices for name in d.names),
            text=text,
            driver=driver,
            link=speed,
            slow=slow,
            style=words.STYLES[first.kind],
        )


def _span(devices: tuple[PciDevice, ...]) -> str:
    """The addresses of several functions: ``0000:02:00.0-3``, ``0000:02:00.0,3``, ``0000:3b:00.2-3b:01.1``."""
    first, last = devices[0].bdf, devices[-1].bdf
    if first.rpartition(".")[0] != last.rpartition(".")[0]:
        return f"{first}-{last.partition(':')[2]}"
    return f"{first.rpartition('.')[0]}.{cpulist.show(int(d.bdf.rpartition('.')[2]) for d in devices)}"


def _alike(a: PciDevice, b: PciDevice) -> bool:
    """Whether two functions can share a line: the same product in one slot, or virtual functions of one function."""
    if (a.vendor, a.device, a.class_code, a.driver, a.numa_node) != (
        b.vendor,
        b.device,
        b.class_code,
        b.driver,
        b.numa_node,
    ):
        return False
    if a.sriov and a.sriov.physical_function:
        return b.sriov is not None and a.sriov.physical_function == b.sriov.physical_function
    return a.bdf.rpartition(".")[0] == b.bdf.rpartition(".")[0] and a.sriov == b.sriov and a.kind != "gpu"


def _summary(devices: list[PciDevice]) -> str:
    counts = Counter(d.class_name or d.class_code or "unknown" for d in devices)
    what = ", ".join(f"{name} ×{n}" if n > 1 else name for name, n in counts.most_common(4))
    more = ", …" if len(counts) > 4 else ""
    return f"+ {len(devices)} other function{'s' if len(devices) > 1 else ''}: {what}{more}"


def _layout(rows: list[_Row], canvas: Canvas) -> list[str]:
    """Rows as lines. The description gives way first, then the link; addresses and names stay whole."""
    table = [r for r in rows if not r.title]
    left = max((len(r.branch) + len(r.bdf) for r in table), default=0)
    kind = max((len(r.kind) for r in table), default=0)
    speed = max((len(r.link) for r in table), default=0)
    names = min(max((len(r.names) for r in table), default=0), max(12, canvas.width // 4))
    rest = canvas.width - left - kind - names - 6
    if rest - speed - 2 < 24:
        speed = 0
    room = min(rest - (speed + 2 if speed else 0), max((len(r.text) + len(r.driver) for r in table), default=0))
    lines = [""] if rows else []
    for row in rows:
        if row.title:
            lines.append(row.branch + canvas.paint(canvas.cut(row.title, canvas.width - len(row.branch)), row.style))
            continue
        shown = canvas.cut(row.names, names)
        text = canvas.cut(row.text, max(12, room - len(row.driver))) + row.driver
        bdf = f"{row.branch}{row.bdf:<{left - len(row.branch)}}"
        parts = [bdf, canvas.paint(f"{row.kind:<{kind}}", row.style), canvas.paint(f"{shown:<{names}}", "1")]
        if speed:
            parts += [f"{text:<{room}}", canvas.paint(row.link, "33") if row.slow else row.link]
        else:
            parts.append(text)
        lines.append("  ".join(parts).rstrip())
    return lines


def _unplaced(machine: Machine, canvas: Canvas) -> list[str]:
    """Interfaces and RDMA devices that hang from no PCI function."""
    nets = [
        f"{n.name} ({n.kind})" if n.kind and n.kind != "device" else n.name for n in machine.net_interfaces if not n.bdf
    ]
    rdmas = [r.name for r in machine.rdma_devices if not r.bdf]
    nvmes = [c.name for c in machine.nvme_controllers if not c.bdf]
    found = [("network", nets), ("RDMA", rdmas), ("NVMe", nvmes)]
    shown = [f"  {word:<8}{', '.join(names)}" for word, names in found if names]
    if not shown:
        return []
    lines = ["", canvas.paint("Not on PCI", "1")]
    for line in shown:
        lines += words.wrap(line, canvas.width, " " * 10)
    return lines


def _dra(view: View, canvas: Canvas) -> list[str]:
    """What drivers would publish on each root, and what a claim can align with it."""
    title = "Devices that drivers would publish"
    first, *rest = words.wrap(f"{title} ({words.dra_drivers(view)})", canvas.width, "  ")
    lines = ["", first.replace(title, canvas.paint(title, "1")), *rest]
    places = words.dra_places(view)
    left = max(len(place) for place, _ in places)
    middle = max(len(driver) for driver in view.drivers)
    for place, drivers in places:
        for i, (driver, names) in enumerate(drivers):
            head = f"  {'' if i else place:<{left}}  {driver:<{middle}}  "
            lines += words.wrap(head + " ".join(names), canvas.width, " " * len(head))
    lines += [f"  {alignment.text}" for alignment in view.alignments]
    for warning in view.warnings:
        lines += words.wrap(f"  {warning}", canvas.width, "    ")
    return lines


def _notes(machine: Machine, canvas: Canvas) -> list[str]:
    if not machine.notes:
        return []
    lines = ["", canvas.paint("Notes", "1")]
    for note in machine.notes:
        first, *rest = words.wrap(f"  {note.about}: {note.message}", canvas.width, "    ")
        lines += [first.replace(note.about, canvas.paint(note.about, "33"), 1), *rest]
    return lines
