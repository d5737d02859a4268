"""The products that ``--hardware`` knows, read from ``products.yaml`` and ``mig.yaml`` when first asked for."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from msgspec import Struct

from dractl.topology.machine import MigProfile, Placement

Kind = Literal["nvidia", "amd", "intel", "nic", "nvme", "accelerator"]
_HERE = Path(__file__).resolve().parent
_MIB = 1 << 20
_ALIASES = {"A100-80GB": "A100", "A100-SXM": "A100", "H100-80GB": "H100", "H100-SXM": "H100", "H200-SXM": "H200"}


class Product(Struct, frozen=True):
    """One product. ``facts`` are the rest of its row: PCI ids, names, the kernel driver that binds it."""

    name: str
    kind: Kind
    facts: dict[str, Any]

    @property
    def memory_bytes(self) -> int | None:
        """The memory of a GPU as its driver reports it."""
        size = self.facts.get("memoryMiB")
        return size * _MIB if size is not None else None

    @property
    def virtual_functions(self) -> bool:
        """True if virtual functions of it can be described (``vfs=N``)."""
        return "vf" in self.facts


class MigLayout(Struct, frozen=True):
    """The GPU instance profiles of a GPU. ``derived`` says which values were not read from a machine or document."""

    profiles: tuple[MigProfile, ...]
    source: str
    sure: str
    derived: str = ""


def _read(name: str) -> dict[Any, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    with (_HERE / name).open(encoding="utf-8") as file:
        found: dict[Any, Any] = yaml.load(file, loader)  # noqa: S506 - a safe loader, of our own file
    return found


@cache
def products() -> dict[str, Product]:
    """Every product by name, GPUs first."""
    found: dict[str, Product] = {}
    kind: Kind
    for kind, rows in _read("products.yaml").items():
        for name, row in rows.items():
            facts = rows[row["same"]] if "same" in row else row
            found[name] = Product(name, kind, facts)
    return found


@cache
def _by_bare_name() -> dict[str, Product]:
    found = {_bare(name): product for name, product in products().items()}
    return {**{_bare(alias): products()[name] for alias, name in _ALIASES.items()}, **found}


def _bare(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


def find(name: str) -> Product | None:
    """The product of a name, in any case, with or without hyphens; None if there is none."""
    return _by_bare_name().get(_bare(name))


def beginning(text: str) -> tuple[str, ...]:
    """The products whose names begin like this."""
    bare = _bare(text)
    return tuple(name for name in products() if bare and _bare(name).startswith(bare))


@cache
def mig_layouts() -> dict[str, MigLayout]:
    """MIG layouts by name; a product names its own as ``mig``."""
    return {
        name: MigLayout(
            tuple(_profile(*row) for row in layout["profiles"]),
            layout["source"],
            layout["sure"],
            layout.get("derived", ""),
        )
        for name, layout in _read("mig.yaml").items()
    }


def mig_layout(product: Product) -> MigLayout | None:
    """The MIG layout of a GPU; None if it has no MIG, or its profiles are not known."""
    name = product.facts.get("mig")
    return mig_layouts()[name] if name is not None else None


def _profile(
    number: int,
    name: str,
    slices: int,
    mib: int,
    processors: int,
    copy: int,
    decoders: int,
    jpeg: int,
    ofa: int,
    size: int,
    starts: list[int],
) -> MigProfile:
    places = tuple(Placement(start, size) for start in starts)
    return MigProfile(number, name, slices, mib * _MIB, processors, copy, decoders, 0, jpeg, ofa, places)
