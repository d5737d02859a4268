"""Names of PCI vendors, devices and classes from the system's pci.ids (package pci.ids or hwdata)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dractl.topology.machine import PciDevice

PLACES = ("/usr/share/misc/pci.ids", "/usr/share/hwdata/pci.ids", "/usr/share/pci.ids")


def name_devices(
    devices: Iterable[PciDevice], database: Path | None, note: Callable[[str, str], None]
) -> list[PciDevice]:
    """``devices`` with the names that ``database`` (else the first of :data:`PLACES`) knows; unchanged, with a note,
    without one.
    """
    devices = list(devices)
    path = database or next((p for p in map(Path, PLACES) if p.is_file()), None)
    if path is None:
        note("pci.ids", "no pci.ids on this system: vendors and devices have numbers only; Debian's package is pci.ids")
        return devices
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        note("pci.ids", f"{path} cannot be read ({error.strerror}): vendors and devices have numbers only")
        return devices
    vendors, products, classes = _names(text, devices)
    return [
        replace(
            d,
            vendor_name=vendors.get(_digits(d.vendor)),
            device_name=products.get((_digits(d.vendor), _digits(d.device))),
            class_name=classes.get(_digits(d.class_code)[:4]) or classes.get(_digits(d.class_code)[:2]),
        )
        for d in devices
    ]


def _digits(number: str | None) -> str:
    return (number or "").removeprefix("0x")


def _names(text: str, devices: list[PciDevice]) -> tuple[dict[str, str], dict[tuple[str, str], str], dict[str, str]]:
    """One pass over the file, keeping only what ``devices`` need: the file names 40,000 of them."""
    wanted = {(_digits(d.vendor), _digits(d.device)) for d in devices}
    makers = {vendor for vendor, _ in wanted}
    vendors: dict[str, str] = {}
    products: dict[tuple[str, str], str] = {}
    classes: dict[str, str] = {}
    maker = base = ""
    for line in text.splitlines():
        if not line or line[0] == "#":
            continue
        if line[0] != "\t":
            maker = base = ""
            if line.startswith("C "):
                base = line[2:4]
                classes[base] = line[6:].strip()
            elif line[:4] in makers:
                maker = line[:4]
                vendors[maker] = line[6:].strip()
        elif line[1:2] != "\t":
            if base:
                classes[base + line[1:3]] = line[5:].strip()
            elif maker and (maker, line[1:5]) in wanted:
                products[maker, line[1:5]] = line[7:].strip()
    return vendors, products, classes
