"""Levels follow from the common ancestors that hwloc finds on a gathered machine.

Ancestors: open-mpi/hwloc tests/hwloc/linux/32intel64-2p8co2t+8ve.console, from the package down; bridges by address.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from dractl import probes
from dractl.alignment.distance import Levels

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ANCESTORS = {
    "0000:1a:00.0": "P0 H0 17:00.0 18:00.0 19:04.0",
    "0000:1b:00.0": "P0 H0 17:00.0 18:00.0 19:08.0",
    "0000:1c:00.0": "P0 H0 17:00.0 18:00.0 19:0c.0",
    "0000:1d:00.0": "P0 H0 17:00.0 18:00.0 19:10.0",
    "0000:1e:00.0": "P0 H0 17:00.0 18:00.0 19:14.0",
    "0000:3d:00.0": "P0 H8 3a:00.0 3b:00.0 3c:04.0",
    "0000:3e:00.0": "P0 H8 3a:00.0 3b:00.0 3c:08.0",
    "0000:3f:00.0": "P0 H8 3a:00.0 3b:00.0 3c:0c.0",
    "0000:40:00.0": "P0 H8 3a:00.0 3b:00.0 3c:10.0",
    "0000:41:00.0": "P0 H8 3a:00.0 3b:00.0 3c:14.0",
    "0000:60:00.0": "P0 H16 5d:02.0 5e:00.0",
    "0000:60:00.1": "P0 H16 5d:02.0 5e:00.0",
}


def _expected(a: str, b: str) -> str:
    """The level by the nearest common ancestor: a package, a host bridge, or a bridge with at most a port below it."""
    one, other = ANCESTORS[a].split(), ANCESTORS[b].split()
    common = [x for x, y in zip(one, other, strict=False) if x == y]
    if common[-1].startswith(("P", "H")):
        return "NODE" if common[-1].startswith("P") else "PHB"
    return "PIX" if max(len(one), len(other)) - len(common) <= 1 else "PXB"


def test_levels_equal_hwlocs_ancestors(gathered: Callable[[str], tuple[Path, Path]]) -> None:
    archive, _ = gathered("32intel64-2p8co2t+8ve")
    levels = Levels.of(probes.read(archive), "snapshot")
    for a, b in combinations(ANCESTORS, 2):
        assert levels.between[a, b] == _expected(a, b), (a, b)
