"""A described machine before it is built: products on PCIe roots, and settings of the whole
machine.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal

from msgspec import Struct, field

from dractl.errors import UsageError
from dractl.machines import mig, names
from dractl.machines.products import Product, find, products, products_with_prefix
from dractl.model import Quantity
from dractl.model.nearest import nearest_names
from dractl.program import program_name
from dractl.topology.machine import Reported

MAX_DEVICES = 512
MAX_CPUS = 4096
MAX_VFS = 128
MAX_NODES = 64

NUMBERS = {
    "roots": MAX_DEVICES,
    "numa": MAX_NODES,
    "cpus": MAX_CPUS,
    "threads": 8,
    "vfs": MAX_VFS,
    "nvlinks": 36,
}
KEYS = (
    "roots",
    "numa",
    "cpus",
    "threads",
    "memory",
    "vfs",
    "driver",
    "cuda",
    "mig",
    "addressingMode",
)
"""The settings of a line. A file can also have :data:`FILE_KEYS`."""

FILE_KEYS = ("gpuMemory", "fabric", "cloud", "instanceType", "nvlinks")
CHOICES = {
    "addressingMode": ("ATS", "HMM", "None"),
    "cloud": ("alibaba", "aws", "azure", "coreweave", "gce", "oke"),
}
"""NVML's addressing modes, and the clouds that dranet knows."""

MIN_MEMORY, MAX_MEMORY = 1 << 20, 1 << 50

Sure = Literal["recorded", "documented", "derived"]
SURE: tuple[Sure, ...] = ("recorded", "documented", "derived")
"""The degrees of certainty of a value: printed by a real machine or its driver, documented by the
vendor, or derived from such values.
"""

MAX_SUGGESTED = 3  # the maximum number of names that are suggested for an unknown one
_ITEM = re.compile(r"(?:(\d+)\s*[xX×]\s*)?(.+)\Z")
_VERSION = re.compile(r"\d{1,5}(\.\d{1,5}){0,3}\Z")
_NO_UUID = "00000000-0000-0000-0000-000000000000"
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")


class PlannedDevice(Struct, frozen=True):
    """A device on a root."""

    product: Product
    address: str | None = None
    """The address; if it is None, the device gets the next free address below its root."""
    interface: str | None = None
    """The name of a NIC's network interface; if it is None, a name is made up."""
    link: str = "ethernet"
    mtu: int | None = None
    sriov: bool = False
    subsystem: str | None = None
    uplink: bool = False
    """True if a NIC carries the node's default route."""
    number: int | None = None
    """NVML's index of an NVIDIA GPU and the minor of its device; if it is None, GPUs are counted by
    address.
    """


class PlannedRoot(Struct, frozen=True):
    """A PCIe root."""

    slots: tuple[PlannedDevice, ...] = ()
    numa: int | None = 0
    """The NUMA node; None if the kernel does not know it."""
    name: str | None = None
    """The name; if it is None, the root gets a name."""
    behind: str = ""
    """The folder below ``/sys/devices`` that contains the root; empty if the root is directly in
    ``/sys/devices``. Roots of Hyper-V are in the folder of its VMBus; for them, the drivers' helper
    library computes no ``pcieRoot``.
    """
    is_wired: bool = True
    """False if no document says where its devices are: they have no PCIe root and no NUMA node."""


class Provenance(Struct, frozen=True):
    """The source of values in a machine file, and how sure they are."""

    of: str
    sure: Sure
    source: str


class Layout(Struct, frozen=True):
    """A described machine."""

    roots: tuple[PlannedRoot, ...] = ()
    numa: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The keys of :data:`KEYS` and :data:`FILE_KEYS` as written."""
    title: str = ""
    evidence: tuple[Provenance, ...] = ()
    reported: tuple[Reported, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels of the machine's node."""

    @property
    def products(self) -> tuple[Product, ...]:
        """Every device's product, root by root."""
        return tuple(slot.product for root in self.roots for slot in root.slots)


def numbers(settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the settings that are numbers. Raises UsageError for unknown keys, and for impossible
    values.
    """
    values: dict[str, int] = {}
    for key, value in settings.items():
        if key in NUMBERS:
            most = NUMBERS[key]
            if not str(value).isdecimal() or not 1 <= int(value) <= most:
                raise UsageError(
                    f"--hardware: {key} must be a number from 1 to {most}, not {value!r}"
                )
            values[key] = int(value)
        elif key not in KEYS and key not in FILE_KEYS:
            raise unknown_key(key)
        elif (wanted := _unfit(key, value)) is not None:
            raise UsageError(f"--hardware: {key} must be {wanted}, not {value!r}")
    return values


def _unfit(key: str, value: Any) -> str | None:
    """Return the form that a setting's value should have, or None if the value has this form."""
    if key in CHOICES:
        return None if value in CHOICES[key] else f"one of {', '.join(CHOICES[key])}"
    if key == "mig":
        return (
            None
            if mig.fits(value)
            else "on, off, or the MIG devices of each GPU, such as 7x1g.5gb or 3g.20gb+2x2g.10gb"
        )
    if key in ("memory", "gpuMemory"):
        return (
            None
            if MIN_MEMORY <= size(value) <= MAX_MEMORY
            else "a quantity such as 512Gi, from 1Mi to 1Pi"
        )
    if key in ("driver", "cuda"):
        return (
            None
            if _VERSION.match(str(value))
            else f"a version such as {'13.0' if key == 'cuda' else '580.65.06'}"
        )
    if key == "instanceType":
        return None if isinstance(value, str) and value else "a string such as p5.48xlarge"
    fits = isinstance(value, dict) and {"cluster", "clique"} >= set(value)
    if (
        not fits
        or not _UUID.match(str(value.get("cluster", _NO_UUID)))
        or not str(value.get("clique", 1)).isdecimal()
    ):
        return "a map with the keys cluster (a UUID) and clique (a number)"
    return None


def size(value: object) -> int:
    """Return a quantity's value in bytes; 0 for a value that is not a quantity."""
    try:
        return Quantity.parse(str(value)).value()
    except ValueError:
        return 0


def unknown_key(key: str, known: tuple[str, ...] = KEYS) -> UsageError:
    """Return the error for a key that does not exist, with the nearest key and a list of all
    keys.
    """
    counted = {name.lower(): name for name in products()}.get(key.lower().removesuffix("s"))
    if counted is not None:
        return UsageError(
            f"--hardware: {key!r} is no key", hint=f"a count stands in front: 4x{counted}"
        )
    near = nearest_names(key, known, most=1)
    suggestion = f"; did you mean {near[0]}?" if near else ""
    return UsageError(
        f"--hardware: unknown key {key!r}{suggestion}", hint=f"keys are {', '.join(known)}"
    )


def unknown_product(text: str, machines: tuple[str, ...] = ()) -> UsageError:
    """Return the error for a name that is neither a product nor a machine, with the nearest
    names.
    """
    spellings = {name.lower(): name for name in (*products(), *machines)}
    family = [
        name
        for name in (*sorted(names.names_with_prefix(text), key=len), *products_with_prefix(text))
        if name.lower() in spellings
    ]
    if text[:1] in ("x", "X") and text[1:].lower() in spellings:
        return UsageError(
            f"--hardware: {text!r} has no count", hint=f"write 8x{spellings[text[1:].lower()]}"
        )
    similar = get_close_matches(text.lower(), spellings, MAX_SUGGESTED, 0.6)
    *others, last = family[:MAX_SUGGESTED] or [spellings[name] for name in similar] or [""]
    suggestion = f"{', '.join(others)}{' or ' if others else ''}{last}"
    return UsageError(
        f"--hardware: unknown machine or product {text!r}"
        + (f"; did you mean {suggestion}?" if last else ""),
        hint=f"`{program_name()} render --list-hardware` lists the machines and the products"
        + ("" if last else "; 8xH100,4xnic is a machine of products"),
    )


def parse_count(text: str, machines: tuple[str, ...] = ()) -> tuple[Product, int]:
    """Parse ``2xH100`` as a product and a count. Raises UsageError with the nearest products and
    ``machines``.
    """
    match = _ITEM.match(text.strip())
    product = find(match[2]) if match is not None else None
    if match is not None and match[1] and product is None and names.canonical(match[2]) in machines:
        raise UsageError(
            f"--hardware: {match[2]} is a whole machine, which takes no count in front",
            hint=f"write {match[2]}*{match[1].lstrip('0')[:20] or 1} for as many nodes",
        )
    if match is None or product is None:
        raise unknown_product(match[2] if match is not None else text, machines)
    count = (match[1] or "1").lstrip("0")
    if not count or len(count) > len(str(MAX_DEVICES)) or int(count) > MAX_DEVICES:
        raise UsageError(
            f"--hardware: the count of {product.name} must be from 1 to {MAX_DEVICES}, not"
            f" {match[1][:20]}"
        )
    return product, int(count)
