"""The RDMA NICs nearest to each GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dractl import probes
from dractl.topology.rails import Rail, rails
from tests import sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path


def test_gpus_of_one_switch_share_its_nics(tmp_path: Path) -> None:
    machine = probes.read(sysfs_trees.build(sysfs_trees.describe("plx-8gpu"), tmp_path))
    found = rails(machine)
    assert found[0] == Rail(
        ("0000:19:00.0", "0000:1a:00.0"), ("0000:18:00.0", "0000:1b:00.0"), "PIX"
    )
    assert len(found) == 4
    without = replace(
        machine, rdma_devices=tuple(r for r in machine.rdma_devices if r.bdf != "0000:18:00.0")
    )
    assert rails(without)[0].nics == ("0000:1b:00.0",)
    assert rails(replace(machine, rdma_devices=())) == ()
