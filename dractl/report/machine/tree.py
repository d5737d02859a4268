"""``discover -o tree``: host, NUMA nodes, PCIe roots, switches, devices, and what drivers would
publish.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from dractl.drivers.publication import NOTHING, Publication
from dractl.report.canvas import Canvas
from dractl.report.machine import text as words
from dractl.report.plain import plural, wrap
from dractl.topology import cpulist, tree
from dractl.topology.machine import Machine, PciDevice
from dractl.topology.tree import Root, Switch

_INDENT = 6  # indentation of names that do not fit next to their driver
_LEAST_TEXT = 34
"""Minimum width of descriptions that are placed beside the other columns."""


class _Title(Struct, frozen=True):
    """A line without columns: a root, a switch, a part of a GPU, the functions that are only
    counted.
    """

    branch: str
    text: str
    style: str


class _Row(Struct, frozen=True):
    """A device: columns that are aligned over the whole tree. ``below`` is the continuation on a
    second line.
    """

    branch: str
    below: str
    bdf: str
    kind: str
    published: str
    names: str
    text: str
    link: str
    slow: bool
    style: str


def render(
    machine: Machine, canvas: Canvas, *, publication: Publication = NOTHING, verbose: bool = False
) -> str:
    """Return the tree as text. ``verbose`` lists every function and the GPUs' UUIDs and MIG
    profiles.
    """
    lines: list[str] = []
    for i, line in enumerate(words.host_lines(machine)):
        lines += [canvas.paint(part, "" if i else "1") for part in wrap(line, canvas.width, "  ")]
    lines += _numa(machine, canvas)
    lines += _layout(_rows(machine, publication, canvas, verbose), canvas)
    lines += _devices_without_pci(machine, canvas)
    names = {
        device.bdf: publication.name_of(device.bdf) or device.bdf for device in machine.pci_devices
    }
    lines += _section("Links between GPUs", words.fabric_lines(machine, names), canvas)
    lines += _section("NVCX complexes", words.complex_lines(machine, names), canvas)
    lines += _section("RDMA NICs nearest to each GPU", words.rail_lines(machine, names), canvas)
    lines += _section_of_published(machine, publication, canvas)
    lines += _pairs("Not published", words.lines_of_unpublished(publication), canvas)
    lines += _pairs("Notes", words.note_lines(machine, publication), canvas)
    return canvas.plain("\n".join(lines).strip("\n") + "\n")


def _numa(machine: Machine, canvas: Canvas) -> list[str]:
    nodes = machine.numa_nodes
    if not nodes:
        return []
    shown = [
        (f"  {title}", words.node_line(node), node.distances if title == f"node {node.id}" else ())
        for title, node in words.node_lines(nodes)
    ]
    left = max(len(name) for name, _, _ in shown)
    middle = max(len(text) for _, text, _ in shown)
    wide = left + 2 + middle + 3 + len("distance") + 4 * len(nodes) <= canvas.width
    lines = ["", canvas.paint("NUMA nodes", "1")]
    for name, text, distances in shown:
        row = "".join(f"{d:>4}" for d in distances) if len(nodes) > 1 and distances else ""
        if row and wide:
            lines.append(f"{name:<{left}}  {text:<{middle}}   distance{row}")
        else:
            lines += wrap(f"{name:<{left}}  {text}", canvas.width, " " * (left + 2))
            if row:
                lines += wrap(f"{'':{left}}  distance{row}", canvas.width, " " * (left + 10))
    return lines


def _rows(
    machine: Machine, publication: Publication, canvas: Canvas, verbose: bool
) -> list[_Row | _Title]:
    single = len(machine.numa_nodes) <= 1
    draw = _Drawing(machine, publication, canvas, verbose)
    for group in tree.groups(machine):
        if not single:
            draw.title(
                "", "NUMA node unknown" if group.node is None else f"NUMA node {group.node}", "1"
            )
        for root in group.roots:
            draw.root("" if single else "  ", root)
    return draw.rows


class _Drawing:
    """Collects rows, with the data that every row needs."""

    def __init__(
        self, machine: Machine, publication: Publication, canvas: Canvas, verbose: bool
    ) -> None:
        self.rows: list[_Row | _Title] = []
        self._publication = publication
        self._canvas = canvas
        self._verbose = verbose
        self._gpus = {gpu.bdf: gpu for gpu in machine.gpus}
        self._bar, self._tee = canvas.glyph("│  ", "|  "), canvas.glyph("├─ ", "|- ")
        self._corner = canvas.glyph("└─ ", "`- ")

    def title(self, branch: str, text: str, style: str) -> None:
        self.rows.append(_Title(branch, text, style))

    def root(self, branch: str, root: Root) -> None:
        nested = f"  below {root.below}; drivers publish no pcieRoot" if root.below else ""
        self.title(branch, root.name + nested, "1;94")
        self._items(branch, root.inside)

    def _items(self, branch: str, items: tuple[Switch | PciDevice, ...]) -> None:
        hidden = [item for item in items if isinstance(item, PciDevice) and not self._matters(item)]
        lines: list[Switch | tuple[PciDevice, ...]] = []
        for item in items:
            last = lines[-1] if lines else None
            if isinstance(item, Switch):
                lines.append(item)
            elif self._matters(item):
                if isinstance(last, tuple) and self._alike(last[-1], item):
                    lines[-1] = (*last, item)
                else:
                    lines.append((item,))
        for i, line in enumerate(lines):
            end = i == len(lines) - 1 and not hidden
            lead = branch + (self._corner if end else self._tee)
            below = branch + ("   " if end else self._bar)
            if isinstance(line, tuple):
                self._devices(lead, below, line)
            else:
                self.title(lead, _switch(line), "2")
                self._items(below, line.inside)
        if hidden:
            self.title(branch + self._corner, _summary(hidden), "2")

    def _matters(self, device: PciDevice) -> bool:
        return self._verbose or words.is_shown(device)

    def _devices(self, lead: str, below: str, devices: tuple[PciDevice, ...]) -> None:
        first, gpu = devices[0], self._gpus.get(devices[0].bdf)
        speed, slow = words.link(first, self._canvas)
        text = words.description(first, gpu)
        binding = words.binding(first)
        text += f" ({binding})" if binding else ""
        published = words.whole_name(first, self._publication)
        if len(devices) > 1:
            text = f"{len(devices)}× {text}"
            published += f" +{len(devices) - 1}" if published else ""
        kind: str = first.kind if first.kind != "other" else ""
        if first.physical_function is not None:
            kind = "vf"
        self.rows.append(
            _Row(
                branch=lead,
                below=below,
                bdf=_span(devices) if len(devices) > 1 else first.bdf,
                kind=kind,
                published=published,
                names=" ".join(name for device in devices for name in device.names),
                text=text,
                link=speed,
                slow=slow,
                style=words.STYLES[first.kind],
            )
        )
        details = [
            f"{name}  {part}".strip() for name, part in words.parts(first, gpu, self._publication)
        ]
        if self._verbose and gpu is not None:
            details += [text for text in (gpu.uuid, words.profiles(gpu)) if text]
        for i, detail in enumerate(details):
            self.title(below + (self._corner if i == len(details) - 1 else self._tee), detail, "")

    def _alike(self, a: PciDevice, b: PciDevice) -> bool:
        """Return True if two functions can share a line: one product in one slot, or virtual
        functions of one function.
        """
        if (a.vendor, a.device, a.class_code, a.driver, a.numa_node) != (
            b.vendor,
            b.device,
            b.class_code,
            b.driver,
            b.numa_node,
        ):
            return False
        if bool(self._publication.devices_of(a.bdf)) != bool(self._publication.devices_of(b.bdf)):
            return False
        if a.physical_function:
            return a.physical_function == b.physical_function
        return (
            a.bdf.rpartition(".")[0] == b.bdf.rpartition(".")[0]
            and a.sriov == b.sriov
            and a.kind != "gpu"
        )


def _switch(switch: Switch) -> str:
    return (
        f"switch {switch.device.bdf}  {words.product(switch.device)}"
        if switch.device is not None
        else "switch"
    )


def _span(devices: tuple[PciDevice, ...]) -> str:
    """Return the addresses of several functions: ``0000:02:00.0-3``, ``0000:02:00.0,3``,
    ``0000:3b:00.2-3b:01.1``.
    """
    first, last = devices[0].bdf, devices[-1].bdf
    if first.rpartition(".")[0] != last.rpartition(".")[0]:
        return f"{first}-{last.partition(':')[2]}"
    return (
        f"{first.rpartition('.')[0]}.{cpulist.show(int(d.bdf.rpartition('.')[2]) for d in devices)}"
    )


def _summary(devices: list[PciDevice]) -> str:
    counts = Counter(d.class_name or d.class_code or "unknown" for d in devices)
    class_counts = ", ".join(f"{name} ×{n}" if n > 1 else name for name, n in counts.most_common(4))
    more = ", …" if len(counts) > 4 else ""
    return f"+ {plural(len(devices), 'other function')}: {class_counts}{more}"


class _Widths(Struct, frozen=True):
    """The columns of a tree. ``text`` is 0 if descriptions are on lines of their own. ``names`` is
    0 if these lines also have the kernel's names and the link.
    """

    left: int
    kind: int
    published: int
    names: int
    text: int

    @classmethod
    def of(cls, rows: list[_Row], width: int) -> _Widths:
        """Return the columns of ``rows``: descriptions are wrapped if ``width`` is small, and moved
        to lines of their own if it is smaller still.
        """

        def widest(values: Iterable[str]) -> int:
            return max(map(len, values), default=0)

        left = max((len(row.branch) + len(row.bdf) for row in rows), default=0)
        kind, published = widest(row.kind for row in rows), widest(row.published for row in rows)
        # A function can have many interfaces, so their names are shortened before anything else.
        names = min(widest(row.names for row in rows), max(12, width // 4))
        used = left + sum(column + 2 for column in (kind, published, names) if column)
        room = width - used - 2 - (widest(row.link for row in rows) + 2)
        text = widest(row.text for row in rows)
        if room + 2 < 0:
            return cls(left, kind, published, 0, 0)
        return cls(
            left, kind, published, names, min(room, text) if room >= min(text, _LEAST_TEXT) else 0
        )


def _layout(rows: list[_Row | _Title], canvas: Canvas) -> list[str]:
    """Return rows as lines. Descriptions that do not fit continue on the next line; addresses,
    names and links stay whole.
    """
    widths = _Widths.of([row for row in rows if isinstance(row, _Row)], canvas.width)
    lines = [""] if rows else []
    for row in rows:
        lines += (
            _title_lines(row, canvas) if isinstance(row, _Title) else _device(row, widths, canvas)
        )
    return lines


def _title_lines(title: _Title, canvas: Canvas) -> list[str]:
    first, *others = wrap(title.branch + title.text, canvas.width, " " * (len(title.branch) + 2))
    return [title.branch + canvas.paint(first[len(title.branch) :], title.style), *others]


def _device(row: _Row, widths: _Widths, canvas: Canvas) -> list[str]:
    bdf = f"{row.branch}{row.bdf:<{widths.left - len(row.branch)}}"
    link = canvas.paint(row.link, "33") if row.slow else row.link
    columns = [bdf]
    columns += [canvas.paint(f"{row.kind:<{widths.kind}}", row.style)] if widths.kind else []
    if not widths.text and not (row.published or row.names or row.link):
        plain = f"{bdf}  {row.kind}".rstrip() + "  "
        first, *others = wrap(plain + row.text, canvas.width, f"{row.below}    ")
        return ["  ".join(columns).rstrip() + "  " + first[len(plain) :], *others]
    columns += (
        [canvas.paint(f"{row.published:<{widths.published}}", "1")] if widths.published else []
    )
    columns += [f"{canvas.cut(row.names, widths.names):<{widths.names}}"] if widths.names else []
    if not widths.names and (row.names or row.link):
        more = "  ".join(part for part in (row.names, row.link, row.text) if part)
        lines = wrap(f"{row.below}  {more}", canvas.width, f"{row.below}    ")
        if row.slow:
            lines = [line.replace(row.link, link) for line in lines]
        return ["  ".join(columns).rstrip(), *lines]
    if not widths.text:
        text = wrap(f"{row.below}  {row.text}", canvas.width, f"{row.below}    ")
        return ["  ".join([*columns, link]).rstrip(), *text]
    first, *others = wrap(row.text, widths.text, "  ")
    start = (
        widths.left
        + sum(width + 2 for width in (widths.kind, widths.published, widths.names) if width)
        + 2
    )
    below = f"{row.below:<{start}}"
    return [
        "  ".join([*columns, f"{first:<{widths.text}}", link]).rstrip(),
        *(below + line for line in others),
    ]


def _devices_without_pci(machine: Machine, canvas: Canvas) -> list[str]:
    """Return the interfaces, RDMA devices and NVMe controllers that are not PCI functions."""
    nets = [
        f"{n.name} ({n.kind})" if n.kind and n.kind != "device" else n.name
        for n in machine.net_interfaces
        if not n.bdf
    ]
    rdmas = [r.name for r in machine.rdma_devices if not r.bdf]
    nvmes = [c.name for c in machine.nvme_controllers if not c.bdf]
    groups = [("network", nets), ("RDMA", rdmas), ("NVMe", nvmes)]
    shown = [f"  {word:<8}{', '.join(names)}" for word, names in groups if names]
    if not shown:
        return []
    lines = ["", canvas.paint("Not on PCI", "1")]
    for line in shown:
        lines += wrap(line, canvas.width, " " * 10)
    return lines


def _section_of_published(machine: Machine, publication: Publication, canvas: Canvas) -> list[str]:
    """Return the devices that drivers would publish on each root, and the devices that a claim can
    align with it.
    """
    if not publication.devices:
        return []
    title = "Devices that drivers would publish"
    first, *others = wrap(f"{title} ({words.driver_list(publication)})", canvas.width, "  ")
    lines = ["", first.replace(title, canvas.paint(title, "1")), *others]
    places = words.names_by_place(publication)
    left = max(len(place) for place, _ in places)
    middle = max(len(driver) for driver in publication.drivers)
    for place, drivers in places:
        for i, (driver, names) in enumerate(drivers):
            head = f"  {'' if i else place:<{left}}  {driver:<{middle}}  "
            fits = len(head) + max(map(len, names), default=0) <= canvas.width
            lines += wrap(
                head + " ".join(names), canvas.width, " " * (len(head) if fits else _INDENT)
            )
    for line in words.alignment_lines(machine, publication):
        lines += wrap(f"  {line}", canvas.width, "    ")
    return lines


def _section(title: str, texts: list[str], canvas: Canvas) -> list[str]:
    """Return lines below a title; nothing if there are no lines."""
    lines = ["", canvas.paint(title, "1")] if texts else []
    for text in texts:
        lines += wrap(f"  {text}", canvas.width, "    ")
    return lines


def _pairs(title: str, pairs: list[tuple[str, str]], canvas: Canvas) -> list[str]:
    """Return ``about: message`` lines below a title; nothing if there are no pairs."""
    lines = ["", canvas.paint(title, "1")] if pairs else []
    for about, message in pairs:
        first, *others = wrap(f"  {about}: {message}", canvas.width, "    ")
        lines += [first.replace(about, canvas.paint(about, "33"), 1), *others]
    return lines
