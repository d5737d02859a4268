"""``discover -o table``: one line a device, for reading and for grep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.report import machine_text as words
from dractl.topology.levels import ENDPOINTS
from dractl.topology.pcie_root import published

if TYPE_CHECKING:
    from dractl.report.canvas import Canvas
    from dractl.topology.machine import Machine, PciDevice

_HEAD = ("ADDRESS", "KIND", "NUMA", "PCIE ROOT", "SWITCH", "NAMES", "DRIVER", "LINK", "DEVICE")
_DISPENSABLE = ("LINK", "DRIVER", "SWITCH", "DEVICE")


def render(machine: Machine, canvas: Canvas, *, verbose: bool = False) -> str:
    """The table as text; ``verbose`` has every function. Where the width is short, whole columns are left out."""
    devices = [d for d in machine.pci_devices if verbose or d.kind in ENDPOINTS]
    gpus = {g.bdf: g for g in machine.gpus}
    cells = [dict(zip(_HEAD, (*_row(d, canvas), words.description(d, gpus.get(d.bdf))), strict=True)) for d in devices]
    widths = {name: max([len(name), *(len(row[name]) for row in cells)]) for name in _HEAD}
    shown = list(_HEAD)
    for name in _DISPENSABLE:
        if sum(widths[n] + 2 for n in shown if n != "DEVICE") + (12 if "DEVICE" in shown else 0) <= canvas.width:
            break
        shown.remove(name)
    lines = [_line(dict(zip(_HEAD, _HEAD, strict=True)), shown, widths, canvas)]
    lines[0] = canvas.paint(lines[0], "1")
    lines += [_line(row, shown, widths, canvas) for row in cells]
    return canvas.plain("\n".join(lines) + "\n")


def _line(row: dict[str, str], shown: list[str], widths: dict[str, int], canvas: Canvas) -> str:
    return canvas.cut("  ".join(f"{row[name]:<{widths[name]}}" for name in shown).rstrip(), canvas.width)


def _row(device: PciDevice, canvas: Canvas) -> tuple[str, ...]:
    root = device.pcie_root or "-"
    if device.pcie_root and published(device) != device.pcie_root:
        root += " (not published)"
    return (
        device.bdf,
        "vf" if device.sriov and device.sriov.physical_function else device.kind,
        "-" if device.numa_node is None else str(device.numa_node),
        root,
        # The upstream port of the nearest switch: a switch's downstream port stands between it and the device.
        device.bridges[-2] if len(device.bridges) > 2 else "-",
        " ".join(device.names) or "-",
        device.driver or "-",
        words.link(device, canvas)[0] or "-",
    )
