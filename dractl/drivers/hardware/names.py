"""Machines by name: one YAML file each in ``machines/``, found by its name or an alias."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "machines"

# Other common names of a machine, by the name of its file.
_ALIASES = {
    "hgx-a100": "dgx-a100",
    "hgx-h100": "dgx-h100",
    "hgx-h200": "dgx-h200",
    "hgx-b200": "dgx-b200",
    "nd_a100_v4": "standard_nd96amsr_a100_v4",
    "nd_h100_v5": "standard_nd96isr_h100_v5",
    "nd_h200_v5": "standard_nd96isr_h200_v5",
    "nd_mi300x_v5": "standard_nd96isr_mi300x_v5",
    "nd_gb300_v6": "standard_nd128isr_gb300_v6",
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


@cache
def _by_spelling() -> dict[str, str]:
    """Names of files by every name without the characters that people leave out or exchange."""
    found = {}
    for lower, path in _files().items():
        for name in (lower, *aliases(lower)):
            found[_bare(name)] = path.name.removesuffix(".yaml")
    return found


def _bare(name: str) -> str:
    """``Standard_ND96isr_H100_v5``, ``nd96isr-h100-v5``: ``nd96isrh100v5``; ``ml.p5.48xl``: ``p5.48xlarge``."""
    bare = name.strip().lower().replace("_", "").replace("-", "").replace(" ", "")
    bare = bare.removeprefix("standard").removeprefix("ml.")
    return f"{bare}arge" if bare.endswith("xl") and "." in bare else bare


def canonical(name: str) -> str | None:
    """A machine's name as in its file, for a name in any case and usual spelling, or an alias; None if there is no such
    machine."""
    return _by_spelling().get(_bare(name))


def beginning(text: str) -> tuple[str, ...]:
    """The machines whose names begin like this: those of a family."""
    bare = _bare(text)
    return tuple(name for spelling, name in _by_spelling().items() if bare and spelling.startswith(bare))


def file(name: str) -> Path:
    """The file of a machine that :func:`canonical` knows."""
    known = canonical(name)
    assert known is not None
    return _files()[known.lower()]
