"""``discover -o matrix``: the table of ``nvidia-smi topo -m``, with NICs and NVMe, and the source
of each level.
"""

from dractl.drivers.publication import NOTHING, Publication
from dractl.report.canvas import Canvas
from dractl.report.machine import text as words
from dractl.report.plain import wrap
from dractl.topology import cpulist
from dractl.topology.levels import LEVELS, affinity, data_direct, endpoints, nearest, rank
from dractl.topology.machine import Machine, PciDevice

_STYLES = {0: "2", 1: "1;32", 2: "32", 3: "36", 4: "36", 5: "33", 6: "33", 7: "31", 8: "31"}


def devices_of(machine: Machine) -> list[PciDevice]:
    """Return the devices of a matrix in its order: GPUs first, then accelerators, NICs and NVMe,
    each by address.
    """
    return sorted(endpoints(machine), key=lambda device: words.ORDER[device.kind])


def render(machine: Machine, canvas: Canvas, *, publication: Publication = NOTHING) -> str:
    """Return the matrix as text, split into blocks of columns if it is wider than the canvas."""
    devices = devices_of(machine)
    if not devices:
        none = "no GPU, NIC, NVMe or accelerator on PCI: there are no distances to show"
        return "\n".join(wrap(none, canvas.width, "  ")) + "\n"
    labels = words.labels(machine, devices, publication)
    levels = nearest(machine)
    cells = [
        [
            labels[a.bdf],
            *(levels.get((a.bdf, b.bdf), "X") for b in devices),
            *_affinities(machine, a),
        ]
        for a in devices
    ]
    head = ["", *(labels[d.bdf] for d in devices), "CPU affinity", "NUMA"]
    if any(gpu.memory_numa_node is not None for gpu in machine.gpus):
        owners = {gpu.bdf: gpu.memory_numa_node for gpu in machine.gpus}
        head.append("GPU NUMA")
        cells = [
            [*row, _number_or_na(owners.get(d.bdf)) if d.kind == "gpu" else ""]
            for row, d in zip(cells, devices, strict=True)
        ]
    lines = _table(head, cells, canvas)
    lines += ["", *_legend(machine, devices, labels, publication, canvas), *_levels(cells)]
    lines += _disagreements(machine, labels, canvas)
    for title, texts in (
        ("Links between GPUs", words.fabric_lines(machine, labels)),
        ("NVCX complexes", words.complex_lines(machine, labels)),
        ("RDMA NICs nearest to each GPU", words.rail_lines(machine, labels)),
    ):
        lines += ["", canvas.paint(title, "1")] if texts else []
        for text in texts:
            lines += wrap(f"  {text}", canvas.width, "    ")
    return canvas.plain("\n".join(lines) + "\n")


def _affinities(machine: Machine, device: PciDevice) -> list[str]:
    """Return the CPUs nearest to the device, and its node. The kernel lists all CPUs if the node is
    unknown.
    """
    online = cpulist.parse(machine.cpus.online or "")
    try:
        local = cpulist.parse(device.local_cpus or "")
    except ValueError:
        local = frozenset()
    node = next((n for n in machine.numa_nodes if n.id == device.numa_node), None)
    cpus = cpulist.show(local & online if online else local) or (node.cpus if node else "")
    return [cpus or "N/A", _number_or_na(device.numa_node)]


def _number_or_na(number: int | None) -> str:
    return "N/A" if number is None else str(number)


def _table(head: list[str], cells: list[list[str]], canvas: Canvas) -> list[str]:
    widths = [
        min(max(len(row[i]) for row in (head, *cells)), canvas.width - 16) for i in range(len(head))
    ]
    lines: list[str] = []
    for block in _blocks(widths, canvas.width):
        if lines:
            lines.append("")
        lines.append(
            f"{'':{widths[0]}}"
            + "".join(f"  {canvas.paint(f'{head[i]:<{widths[i]}}', '1')}" for i in block)
        )
        for row in cells:
            line = canvas.paint(f"{row[0]:<{widths[0]}}", "1")
            lines.append(
                line
                + "".join(
                    "  " + _cell(canvas.cut(row[i], widths[i]), widths[i], canvas) for i in block
                )
            )
    return [line.rstrip() for line in lines]


def _blocks(widths: list[int], width: int) -> list[list[int]]:
    """Return the columns by block: as few blocks as the width allows, of about the same width."""
    columns = range(1, len(widths))

    def split(room: int) -> list[list[int]]:
        blocks: list[list[int]] = [[]]
        used = 0
        for i in columns:
            if blocks[-1] and used + widths[i] + 2 > room:
                blocks.append([])
                used = 0
            blocks[-1].append(i)
            used += widths[i] + 2
        return blocks

    room = width - widths[0]
    fewest = split(room)
    even = (sum(widths[i] + 2 for i in columns) + len(fewest) - 1) // len(fewest)
    return next(
        blocks
        for room in range(even, max(even, room) + 1)
        if len(blocks := split(room)) <= len(fewest)
    )


def _cell(text: str, width: int, canvas: Canvas) -> str:
    is_level = text in LEVELS or (text.startswith("NV") and text[2:].isdecimal())
    return canvas.paint(f"{text:<{width}}", _STYLES[rank(text)]) if is_level else f"{text:<{width}}"


def _legend(
    machine: Machine,
    devices: list[PciDevice],
    labels: dict[str, str],
    publication: Publication,
    canvas: Canvas,
) -> list[str]:
    """Return the meaning of each label, and the published name of its device if that differs."""
    gpus = {gpu.bdf: gpu for gpu in machine.gpus}
    rows = []
    for device in devices:
        published = words.whole_name(device, publication)
        columns = ["" if published == labels[device.bdf] else published, " ".join(device.names)]
        rows.append(
            (
                labels[device.bdf],
                device.bdf,
                *columns,
                words.description(device, gpus.get(device.bdf)),
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines: list[str] = []
    for row in rows:
        head = "  ".join(f"{row[i]:<{widths[i]}}" for i in range(4) if widths[i]) + "  "
        if len(head) + max(len(other[4]) for other in rows) <= canvas.width:
            lines.append((head + row[4]).rstrip())
        else:
            lines += [canvas.cut(head.rstrip(), canvas.width)]
            lines += wrap(f"{'':{widths[0]}}  {row[4]}", canvas.width, " " * (widths[0] + 4))
    return [*lines, ""]


def _levels(cells: list[list[str]]) -> list[str]:
    used = {cell for row in cells for cell in row[1:]}
    shown = [
        name
        for name in LEVELS
        if name in used
        or (name == "NV#" and any(c[:2] == "NV" and c[2:].isdecimal() for c in used))
    ]
    return [f"{name:<5} {LEVELS[name]}" for name in shown]


def _disagreements(machine: Machine, labels: dict[str, str], canvas: Canvas) -> list[str]:
    """Return lines on the sources of the levels, and on the pairs for which the sources differ.

    Claims match by the levels of sysfs, even where the matrix shows others.
    """
    pairs: dict[tuple[str, str], dict[str, str]] = {}
    for item in affinity(machine):
        if not item.level.startswith("NV"):
            pairs.setdefault((item.a, item.b), {})[item.source] = item.level
    if not pairs:
        return []
    asked = any("nvml" in levels for levels in pairs.values())
    lines = [
        "",
        "Source: NVML between NVIDIA GPUs, sysfs for the rest." if asked else "Source: sysfs.",
    ]
    sysfs = {frozenset(pair): levels["sysfs"] for pair, levels in pairs.items()}
    by_source = {
        "NVML and sysfs differ": {
            pair: levels["nvml"] for pair, levels in pairs.items() if "nvml" in levels
        },
        "Through the NIC's Data Direct function": data_direct(machine),
    }
    for title, levels_of in by_source.items():
        differ = [
            f"{labels[a]}-{labels[b]} {level} (sysfs: {sysfs[frozenset((a, b))]})"
            for (a, b), level in levels_of.items()
            if level != sysfs.get(frozenset((a, b)), level)
        ]
        if differ:
            lines += wrap(f"{title}: {', '.join(differ)}", canvas.width, "  ")
    return lines
