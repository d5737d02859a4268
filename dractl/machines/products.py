"""The products that ``--hardware`` knows, read from the pack of facts at first use."""

from functools import cache
from typing import Any

from msgspec import Struct

from dractl.facts import hardware, pack
from dractl.topology.machine import MigProfile, Placement

_MIB = 1 << 20


class Product(Struct, frozen=True):
    """One product."""

    name: str
    kind: hardware.Kind
    facts: dict[str, Any]
    """The facts of the product's row: PCI ids, names, and the kernel driver that is bound to it."""

    @property
    def memory_bytes(self) -> int | None:
        """The memory of a GPU as its driver reports it."""
        size = self.facts.get("memoryMiB")
        return size * _MIB if size is not None else None

    @property
    def virtual_functions(self) -> bool:
        """True if virtual functions of the product can be described (``vfs=N``)."""
        return "vf" in self.facts


class MigLayout(Struct, frozen=True):
    """The GPU instance profiles of a GPU."""

    profiles: tuple[MigProfile, ...]
    source: str
    sure: str
    derived: str = ""
    """A description of the values that were not read from a machine or document."""


@cache
def products() -> dict[str, Product]:
    """Return every product by name, GPUs first."""
    by_name: dict[str, Product] = {}
    for kind, rows in hardware.products().products.items():
        for name, row in rows.items():
            facts = rows[row["same"]] if "same" in row else row
            by_name[name] = Product(name, kind, facts)
    return by_name


@cache
def _by_bare_name() -> dict[str, Product]:
    by_name = {_bare(name): product for name, product in products().items()}
    return {
        **{_bare(alias): products()[name] for alias, name in hardware.products().aliases.items()},
        **by_name,
    }


def _bare(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def find(name: str) -> Product | None:
    """Return the product of a name, in any case, with or without hyphens; None if there is none."""
    return _by_bare_name().get(_bare(name))


def products_with_prefix(text: str) -> tuple[str, ...]:
    """Return the products whose names begin with a text."""
    bare = _bare(text)
    return tuple(name for name in products() if bare and _bare(name).startswith(bare))


@cache
def mig_layouts() -> dict[str, MigLayout]:
    """Return the MIG layouts by name; ``mig`` of a product is the name of its layout."""
    return {
        name: MigLayout(
            tuple(map(_profile, table.profiles)), table.source, table.sure, table.derived
        )
        for name, table in hardware.mig_tables().layouts.items()
    }


def mig_layout(product: Product) -> MigLayout | None:
    """Return the MIG layout of a GPU; None if it has no MIG, or its profiles are not known."""
    name = product.facts.get("mig")
    return mig_layouts()[name] if name is not None else None


def _profile(row: hardware.MigRow) -> MigProfile:
    return MigProfile(
        row.id,
        row.name,
        row.slices,
        row.memory_mib * _MIB if row.memory_mib is not None else None,
        row.multiprocessors,
        row.copy_engines,
        row.decoders,
        row.encoders,
        row.jpeg_engines,
        row.ofa_engines,
        tuple(Placement(start, row.memory_slices) for start in row.starts),
    )


for _known in (products, _by_bare_name, mig_layouts):
    pack.forget_with(_known.cache_clear)
