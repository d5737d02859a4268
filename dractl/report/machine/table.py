"""``discover -o table``: one line for each device, for reading and for grep."""

from dractl.drivers.publication import NOTHING, Publication
from dractl.report.canvas import Canvas
from dractl.report.machine import text as words
from dractl.topology.levels import ENDPOINTS
from dractl.topology.machine import Gpu, Machine, PciDevice
from dractl.topology.standard_attributes import publish_pcie_root

_HEAD = (
    "ADDRESS",
    "KIND",
    "PUBLISHED AS",
    "NUMA",
    "PCIE ROOT",
    "SWITCH",
    "NAMES",
    "LINK",
    "DRIVER",
    "DEVICE",
)
_DISPENSABLE = ("SWITCH", "DRIVER", "DEVICE", "NAMES", "PCIE ROOT")
_MIN_DESCRIPTION = 24
"""Minimum width of the description; without that room it is left out."""


def render(
    machine: Machine, canvas: Canvas, *, publication: Publication = NOTHING, verbose: bool = False
) -> str:
    """Return the table as text; ``verbose`` lists every function. Columns that do not fit the width
    are left out.
    """
    gpus = {gpu.bdf: gpu for gpu in machine.gpus}
    rows = [
        dict(zip(_HEAD, row, strict=True))
        for device in machine.pci_devices
        if verbose or device.kind in ENDPOINTS
        for row in _rows(device, gpus.get(device.bdf), publication, canvas)
    ]
    widths = {name: max([len(name), *(len(row[name]) for row in rows)]) for name in _HEAD}
    shown = list(_HEAD)
    for name in _DISPENSABLE:
        least = min(_MIN_DESCRIPTION, widths["DEVICE"])
        if sum((least if n == "DEVICE" else widths[n]) + 2 for n in shown) - 2 <= canvas.width:
            break
        shown.remove(name)
    lines = [_line(dict(zip(_HEAD, _HEAD, strict=True)), shown, widths, canvas)]
    lines[0] = canvas.paint(lines[0], "1")
    lines += [_line(row, shown, widths, canvas) for row in rows]
    return canvas.plain("\n".join(lines) + "\n")


def _line(row: dict[str, str], shown: list[str], widths: dict[str, int], canvas: Canvas) -> str:
    return canvas.cut(
        "  ".join(f"{row[name]:<{widths[name]}}" for name in shown).rstrip(), canvas.width
    )


def _rows(
    device: PciDevice, gpu: Gpu | None, publication: Publication, canvas: Canvas
) -> list[tuple[str, ...]]:
    """Return the function's row, and one for each device that it is divided into."""
    root = device.pcie_root or "-"
    if device.pcie_root and publish_pcie_root(device) != device.pcie_root:
        root += " (not published)"
    place = (
        "-" if device.numa_node is None else str(device.numa_node),
        root,
        # The upstream port of the nearest switch: a switch's downstream port is between it and the
        # device.
        device.bridges[-2] if len(device.bridges) > 2 else "-",
    )
    virtual = device.physical_function is not None
    rows: list[tuple[str, ...]] = [
        (
            device.bdf,
            "vf" if virtual else device.kind,
            words.whole_name(device, publication) or "-",
            *place,
            " ".join(device.names) or "-",
            words.link(device, canvas)[0] or "-",
            device.driver or "-",
            words.description(device, gpu),
        )
    ]
    kind = "mig" if gpu is not None and gpu.mig_devices else "part"
    for name, description in words.parts(device, gpu, publication):
        rows.append(
            (device.bdf, kind, name or "-", *place, "-", "-", device.driver or "-", description)
        )
    return rows
