"""Names of PCI vendors, devices and classes.

dractl carries its own pci.ids, so that results do not depend on the machine it runs on. It is the
file that go-nvlib embeds (pkg/pciids/default_pci.ids, equal from v0.8.1 to v0.12.0). dranet embeds
an older one (third_party/pciids/pci.ids.gz, equal from v1.0 to v1.4); names that differ in that
copy are kept separately. Both are made by tools/make_pci_ids.py.
"""

import gzip
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dractl.probes.classes import NVIDIA
from dractl.probes.root import SysRoot
from dractl.topology.machine import PciDevice

_FOLDER = Path(__file__).parent / "pciids"


class PciNames(Struct, frozen=True):
    """A pci.ids file. Ids are hexadecimal as in sysfs, with or without ``0x``."""

    below: Mapping[str, str]
    """The text of each vendor (``10de``) and each class (``C 03``) in the file: the name, then the
    lines of the devices or subclasses. Names of devices are searched for when they are needed,
    since the file has 20,000 of them and a machine only a few.
    """
    date: str
    others: Mapping[str, str]
    """The different names in another copy of the file, by ``vendor`` or ``vendor:device``; "" for a
    name that the other copy lacks.
    """

    def vendor(self, vendor: str | None) -> str | None:
        """Return the vendor's name, or None."""
        key = _digits(vendor)
        if key in self.others:
            return self.others[key] or None
        return _first(self.below.get(key, ""))

    def device(self, vendor: str | None, device: str | None) -> str | None:
        """Return the device's name, or None."""
        key = f"{_digits(vendor)}:{_digits(device)}"
        if key in self.others:
            return self.others[key] or None
        return _name_below(self.below.get(_digits(vendor), ""), _digits(device))

    def class_name(self, code: str | None) -> str | None:
        """Return the name for a class code (``0x030200``): of the subclass, or else of the class;
        None if there is neither.
        """
        digits = _digits(code)
        below = self.below.get(f"C {digits[:2]}", "")
        return _name_below(below, digits[2:4]) or _first(below)


def _digits(number: str | None) -> str:
    return (number or "").removeprefix("0x")


def _first(below: str) -> str | None:
    return below.partition("\n")[0].strip() or None


def _name_below(below: str, digits: str) -> str | None:
    _, separator, following = below.partition(f"\n\t{digits}  ")
    return _first(following) if separator and digits else None


@cache
def default_names() -> PciNames:
    """Return the names of dractl's own pci.ids."""
    return _parse(_unpack("pci.ids.gz"))


@cache
def dranet_names() -> PciNames:
    """Return the names that dranet publishes."""
    date, *lines = _unpack("dranet.gz").splitlines()
    others = {key: name for key, _, name in (line.partition("\t") for line in lines)}
    return PciNames(default_names().below, date.removeprefix("# "), others)


def _unpack(name: str) -> str:
    return gzip.decompress((_FOLDER / name).read_bytes()).decode()


def _parse(text: str) -> PciNames:
    """Parse a pci.ids; comments, which can occur among a vendor's devices, are removed."""
    date = re.search(r"^#\s*(?:Date:\s*)?(\d{4}-\d\d-\d\d)", text, re.MULTILINE)
    lines = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    below: dict[str, str] = {}
    for part in re.split(r"\n(?!\t)", lines):
        key, _, content = part.partition("  ")
        below.setdefault(key, content)
    return PciNames(below, date[1] if date else "", {})


def name_devices(
    devices: Iterable[PciDevice], database: Path | None, note: Callable[[str, str], None]
) -> list[PciDevice]:
    """Return ``devices`` with their names from ``database``, the path of a pci.ids; from dractl's
    own without a database or, with a note, if the file cannot be read.
    """
    names = default_names() if database is None else _load(database, note)
    return [
        replace(
            d,
            vendor_name=names.vendor(d.vendor),
            device_name=names.device(d.vendor, d.device),
            class_name=names.class_name(d.class_code),
        )
        for d in devices
    ]


INSTALLED = (
    "usr/share/misc/pci.ids",
    "usr/local/share/pci.ids",
    "usr/share/hwdata/pci.ids",
    "usr/share/pci.ids",
)
"""The paths at which go-nvlib (pkg/pciids NewDB) looks for a pci.ids before it uses its own."""


def add_installed_names(root: SysRoot, devices: Iterable[PciDevice]) -> list[PciDevice]:
    """Return the devices; NVIDIA's GPUs also have their name in the pci.ids installed on the
    machine, if it differs.
    """
    devices = list(devices)
    ours = [d for d in devices if d.vendor == NVIDIA and d.kind == "gpu"]
    text = (
        next((content for path in INSTALLED if (content := root.text(path))), None)
        if ours
        else None
    )
    if text is None:
        return devices
    names = _parse(text)
    installed = {d.bdf: names.device(d.vendor, d.device) for d in ours}
    return [
        replace(d, installed_name=name)
        if (name := installed.get(d.bdf)) not in (None, d.device_name)
        else d
        for d in devices
    ]


def _load(path: Path, note: Callable[[str, str], None]) -> PciNames:
    try:
        return _parse(path.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        note(
            "pci.ids",
            f"{path} cannot be read ({error.strerror}): using the names of dractl's own pci.ids",
        )
        return default_names()
