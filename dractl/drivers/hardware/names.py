"""Machines by name: one YAML file each in ``machines/``, found by its name or an alias, read on demand."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dractl.drivers.hardware.layout import Layout

FOLDER = Path(__file__).resolve().parent / "machines"

# Other common names of a machine, by the name of its file.
_ALIASES = {
    "hgx-h100": "dgx-h100",
    "nd_h100_v5": "standard_nd96isr_h100_v5",
    "nd96isr_h100_v5": "standard_nd96isr_h100_v5",
    "nd_a100_v4": "standard_nd96amsr_a100_v4",
    "nd96amsr_a100_v4": "standard_nd96amsr_a100_v4",
    "nd_mi300x_v5": "standard_nd96isr_mi300x_v5",
    "nd96isr_mi300x_v5": "standard_nd96isr_mi300x_v5",
    "nd_gb300_v6": "standard_nd128isr_gb300_v6",
    "nd128isr_gb300_v6": "standard_nd128isr_gb300_v6",
    "gb200-nvl72": "bm.gpu.gb200-v3.4",
    "gb300-nvl72": "standard_nd128isr_gb300_v6",
}


@cache
def _files() -> dict[str, Path]:
    """Files by lower-case name."""
    return {path.name.removesuffix(".yaml").lower(): path for path in sorted(FOLDER.glob("*.yaml"))}


def every() -> tuple[str, ...]:
    """The names of all machines, as their makers write them."""
    return tuple(path.name.removesuffix(".yaml") for path in _files().values())


def aliases(name: str) -> tuple[str, ...]:
    """Other names of a machine, in lower case."""
    return tuple(alias for alias, of in _ALIASES.items() if of == name.lower())


def canonical(name: str) -> str | None:
    """A machine's name as in its file, for a name in any case or an alias; None if there is no such machine."""
    lower = name.strip().lower()
    path = _files().get(_ALIASES.get(lower, lower))
    return path.name.removesuffix(".yaml") if path is not None else None


@cache
def load(name: str) -> Layout:
    """The layout of a machine that :func:`canonical` knows."""
    from dractl.drivers.hardware import described

    known = canonical(name)
    assert known is not None
    return described.read(str(_files()[known.lower()]))
