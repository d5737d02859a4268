"""Products, MIG layouts and machines from the pack."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from dractl.facts import pack

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Kind = Literal["nvidia", "amd", "intel", "nic", "nvme", "accelerator"]


class Products(Struct, frozen=True, forbid_unknown_fields=True):
    """The file ``products.json``."""

    source: str
    read: str
    products: dict[Kind, dict[str, dict[str, Any]]]
    """The rows by kind and name: PCI ids and names. A row from another document also has that
    document's ``source``, and ``read``, the day on which it was read.
    """
    modules: dict[str, dict[str, str]]
    """The versions of kernel drivers on a described machine."""
    aliases: dict[str, str] = {}
    """The names of products, by their other names."""


class MigRow(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A GPU instance profile, as nvidia-smi prints it, with its memory in MiB and the first memory
    slice of each placement. Memory and multiprocessors are None if no source has them.
    """

    id: int
    name: str
    slices: int
    memory_mib: int | None
    multiprocessors: int | None
    copy_engines: int
    decoders: int
    jpeg_engines: int
    ofa_engines: int
    memory_slices: int
    starts: tuple[int, ...]
    encoders: int = 0


class MigTable(Struct, frozen=True, forbid_unknown_fields=True):
    """The profiles of a GPU."""

    source: str
    sure: Literal["recorded", "documented", "derived"]
    """The certainty: a real machine printed the profiles, a document has them, or they are
    derived.
    """
    profiles: tuple[MigRow, ...]
    derived: str = ""
    """The derivation, in words."""
    read: str = ""


class MigTables(Struct, frozen=True, forbid_unknown_fields=True):
    """``mig.json``."""

    source: str
    read: str
    layouts: dict[str, MigTable]


class Room(Struct, frozen=True, forbid_unknown_fields=True):
    """The CPUs of a machine, as Linux counts them, and its memory, both as quantities."""

    source: str
    """The document with these amounts."""
    cpu: str | None = None
    memory: str | None = None


class Machines(Struct, frozen=True, forbid_unknown_fields=True):
    """The file ``machines.json``."""

    read: str
    aliases: dict[str, str]
    """Other names of the machines, by the lower-case name of their file."""
    room: dict[str, Room] = {}
    """The CPUs and memory of machines whose description lacks these amounts."""


@cache
def products() -> Products:
    """Return the table of products."""
    return pack.current().read("products.json", Products)


@cache
def mig_tables() -> MigTables:
    """Return the MIG layouts."""
    return pack.current().read("mig.json", MigTables)


def machine_room(name: str) -> Room | None:
    """Return the documented room for pods of a machine; None if no source has it."""
    table = pack.current().read("machines.json", Machines)
    return table.room.get(table.aliases.get(name, name))


@cache
def machine_aliases() -> dict[str, str]:
    """Return the names of machines by their other names."""
    return pack.current().read("machines.json", Machines).aliases


@cache
def machines() -> tuple[str, ...]:
    """Return the names of the machines, which are the names of their files in ``machines/``."""
    return pack.current().entries("machines", ".yaml")


def machines_folder() -> Traversable:
    """Return the folder of the files."""
    folder: Traversable = pack.current().folder.joinpath("machines")
    return folder


for _known in (products, mig_tables, machine_aliases, machines):
    pack.forget_with(_known.cache_clear)
