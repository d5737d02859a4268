"""``discover -o matrix``: the table people know from ``nvidia-smi topo -m``, with NICs and NVMe and who says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.report import machine_text as words
from dractl.topology import cpulist
from dractl.topology.levels import LEVELS, affinity, endpoints, nearest, rank

if TYPE_CHECKING:
    from dractl.report.canvas import Canvas
    from dractl.topology.machine import Machine, PciDevice

_ORDER = {"gpu": 0, "accelerator": 1, "nic": 2, "rdma": 2, "nvme": 3}
_STYLES = {0: "2", 1: "1;32", 2: "32", 3: "36", 4: "36", 5: "33", 6: "33", 7: "31", 8: "31"}


def render(machine: Machine, canvas: Canvas) -> str:
    """The matrix as text; split into blocks of columns where the width does not hold all of them."""
    devices = sorted(endpoints(machine), key=lambda d: _ORDER[d.kind])  # stable: by address within a kind
    if not devices:
        return "no GPU, NIC, NVMe or accelerator on PCI: there are no distances to show\n"
    labels = words.labels(machine, devices)
    best = nearest(machine)
    cells = [
        [labels[d.bdf], *(best.get((d.bdf, e.bdf), "X") for e in devices), *_affinities(machine, d)] for d in devices
    ]
    head = ["", *(labels[d.bdf] for d in devices), "CPU affinity", "NUMA"]
    if any(g.memory_numa_node is not None for g in machine.gpus):
        owners = {g.bdf: g.memory_numa_node for g in machine.gpus}
        head.append("GPU NUMA")
        cells = [
            [*row, _or_na(owners.get(d.bdf)) if d.kind == "gpu" else ""] for row, d in zip(cells, devices, strict=True)
        ]
    lines = _table(head, cells, canvas)
    lines += [
        "",
        *_legend(machine, devices, labels, canvas),
        *_levels(cells),
        *_disagreements(machine, labels, canvas),
    ]
    return canvas.plain("\n".join(lines) + "\n")


def _affinities(machine: Machine, device: PciDevice) -> list[str]:
    """The CPUs nearest to the device, and its node. The kernel says "all CPUs" where it does not know the node."""
    online = cpulist.parse(machine.cpus.online or "")
    try:
        local = cpulist.parse(device.local_cpus or "")
    except ValueError:
        local = frozenset()
    node = next((n for n in machine.numa_nodes if n.id == device.numa_node), None)
    cpus = cpulist.show(local & online if online else local) or (node.cpus if node else "")
    return [cpus or "N/A", _or_na(device.numa_node)]


def _or_na(number: int | None) -> str:
    return "N/A" if number is None else str(number)


def _table(head: list[str], cells: list[list[str]], canvas: Canvas) -> list[str]:
    widths = [max(len(row[i]) for row in (head, *cells)) for i in range(len(head))]
    columns = list(range(1, len(head)))
    lines: list[str] = []
    while columns:
        block: list[int] = []
        room = canvas.width - widths[0]
        while columns and (not block or room >= widths[columns[0]] + 2):
            room -= widths[columns[0]] + 2
            block.append(columns.pop(0))
        if lines:
            lines.append("")
        lines.append(
            canvas.paint(f"{'':{widths[0]}}", "")
            + "".join(f"  {canvas.paint(f'{head[i]:<{widths[i]}}', '1')}" for i in block)
        )
        for row in cells:
            line = canvas.paint(f"{row[0]:<{widths[0]}}", "1")
            lines.append(line + "".join("  " + _cell(row[i], widths[i], canvas) for i in block))
    return [line.rstrip() for line in lines]


def _cell(text: str, width: int, canvas: Canvas) -> str:
    known = text in LEVELS or (text.startswith("NV") and text[2:].isdecimal())
    return canvas.paint(f"{text:<{width}}", _STYLES[rank(text)]) if known else f"{text:<{width}}"


def _legend(machine: Machine, devices: list[PciDevice], labels: dict[str, str], canvas: Canvas) -> list[str]:
    gpus = {g.bdf: g for g in machine.gpus}
    left = max(len(label) for label in labels.values())
    middle = max(len(d.bdf) for d in devices)
    names = max(len(" ".join(d.names)) for d in devices)
    lines = []
    for device in devices:
        line = f"{labels[device.bdf]:<{left}}  {device.bdf:<{middle}}  {' '.join(device.names):<{names}}  "
        lines.append(canvas.cut(line + words.description(device, gpus.get(device.bdf)), canvas.width).rstrip())
    return [*lines, ""]


def _levels(cells: list[list[str]]) -> list[str]:
    used = {cell for row in cells for cell in row[1:]}
    shown = [
        name
        for name in LEVELS
        if name in used or (name == "NV#" and any(c[:2] == "NV" and c[2:].isdecimal() for c in used))
    ]
    return [f"{name:<5} {LEVELS[name]}" for name in shown]


def _disagreements(machine: Machine, labels: dict[str, str], canvas: Canvas) -> list[str]:
    """Where NVML and sysfs differ about a pair: nvidia-smi shows NVML's answer, claims match by what sysfs says."""
    pairs: dict[tuple[str, str], dict[str, str]] = {}
    asked = False
    for found in affinity(machine):
        if not found.level.startswith("NV"):
            pairs.setdefault((found.a, found.b), {})[found.source] = found.level
            asked |= found.source == "nvml"
    if not asked:
        return ["", "Source: sysfs."] if pairs else []
    differ = [
        f"{labels[a]}-{labels[b]} {told['nvml']} (sysfs: {told['sysfs']})"
        for (a, b), told in pairs.items()
        if "nvml" in told and told["nvml"] != told["sysfs"]
    ]
    lines = ["", "Source: NVML between NVIDIA GPUs, sysfs for the rest."]
    if differ:
        lines += words.wrap("NVML and sysfs differ: " + ", ".join(differ), canvas.width, "  ")
    return lines
