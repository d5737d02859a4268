"""Levels follow from the common ancestors that hwloc finds on the gathered machines.

Ancestors from the machine or package down, bridges by address: open-mpi/hwloc
tests/hwloc/linux/32intel64-2p8co2t+8ve.console, and what `lstopo --whole-io` of hwloc 2.9 prints of the tree of
40intel64-2g2n4c+pcilocality, whose firmware tells no NUMA node of a host bridge. The third machine has one device of
the kinds that levels are asked of.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from dractl import probes
from dractl.alignment.distance import Levels

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ANCESTORS = {
    "32intel64-2p8co2t+8ve": {
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
    },
    "40intel64-2g2n4c+pcilocality": {
        "0000:02:00.0": "M H0 00:05.0",
        "0000:02:00.1": "M H0 00:05.0",
        "0000:03:00.0": "M H0 00:06.0",
        "0000:03:00.1": "M H0 00:06.0",
        "0000:43:00.0": "M H40 40:03.0",
    },
}


def _expected(a: str, b: str) -> str:
    """The level by the nearest common ancestor: the machine (the sockets of the two are not known), a package, a host
    bridge, or a bridge with at most a port below it."""
    one, other = a.split(), b.split()
    common = [x for x, y in zip(one, other, strict=False) if x == y]
    if common[-1][0] in "MPH":
        return {"M": "SYS?", "P": "NODE", "H": "PHB"}[common[-1][0]]
    return "PIX" if max(len(one), len(other)) - len(common) <= 1 else "PXB"


@pytest.mark.parametrize("name", ANCESTORS)
def test_levels_equal_hwlocs_ancestors(
    name: str, gathered: Callable[[str], tuple[Path, Path]]
) -> None:
    archive, _ = gathered(name)
    levels = Levels.from_machine(probes.read(archive), "snapshot")
    for (a, of_a), (b, of_b) in combinations(ANCESTORS[name].items(), 2):
        assert levels.by_functions[a, b] == _expected(of_a, of_b), (a, b)
