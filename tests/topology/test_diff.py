"""Differences are of meaning: places, products, drivers, links. What changes with every boot is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from dractl import probes
from dractl.topology.diff import Difference, differences
from tests import sysfs_trees

if TYPE_CHECKING:
    from dractl.topology.machine import Machine


@pytest.fixture(scope="module")
def plx(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return probes.read(
        sysfs_trees.build(sysfs_trees.describe("plx-8gpu"), tmp_path_factory.mktemp("plx"))
    )


def with_device(machine: Machine, bdf: str, /, **facts: Any) -> Machine:
    return replace(
        machine,
        pci_devices=tuple(replace(d, **facts) if d.bdf == bdf else d for d in machine.pci_devices),
    )


def test_a_machine_is_itself_with_and_without_identity(plx: Machine) -> None:
    assert differences(plx, plx) == ()
    assert differences(plx, plx.drop_identity()) == ()


def test_other_names_of_the_same_devices_are_no_difference(plx: Machine) -> None:
    nets = tuple(
        replace(n, name=f"ens{i}", mac="02:00:00:00:00:99")
        for i, n in enumerate(plx.net_interfaces)
    )
    gpus = tuple(replace(g, minor=7 - i, uuid=f"GPU-{i}") for i, g in enumerate(plx.gpus))
    devices = tuple(replace(d, names=()) for d in plx.pci_devices)
    assert differences(plx, replace(plx, net_interfaces=nets, gpus=gpus, pci_devices=devices)) == ()


def test_changed_value_is_named_with_its_place(plx: Machine) -> None:
    assert differences(plx, with_device(plx, "0000:19:00.0", driver="vfio-pci", link_width=8)) == (
        Difference("0000:19:00.0", "driver", "nvidia", "vfio-pci"),
        Difference("0000:19:00.0", "link width", "16", "8"),
    )


def test_removed_and_new_functions_are_reported(plx: Machine) -> None:
    without = replace(plx, pci_devices=tuple(d for d in plx.pci_devices if d.bdf != "0000:1c:00.0"))
    (gone,) = (d for d in differences(plx, without) if d.what == "function")
    assert (gone.place, gone.after) == ("0000:1c:00.0", None)
    (new,) = (d for d in differences(without, plx) if d.what == "function")
    assert (new.place, new.before) == ("0000:1c:00.0", None)


def test_a_card_in_another_slot_has_moved(plx: Machine) -> None:
    path = "pci0000:37/0000:37:01.0/0000:38:00.0/0000:39:05.0/0000:3e:00.0"
    moved = with_device(plx, "0000:1c:00.0", bdf="0000:3e:00.0", path=path)
    (found,) = (d for d in differences(plx, moved) if d.place == "0000:1c:00.0")
    assert found.what.startswith("place of nvme")
    assert found.after == path


def test_nodes_and_huge_pages(plx: Machine) -> None:
    first, second = plx.numa_nodes
    pages = (
        tuple(replace(h, total=h.total + 8) for h in first.huge_pages[:1]) + first.huge_pages[1:]
    )
    slightly = replace(second, memory_bytes=(second.memory_bytes or 0) - 4096)
    changed = replace(plx, numa_nodes=(replace(first, huge_pages=pages), slightly))
    assert differences(plx, changed) == (
        Difference("NUMA node 0", "huge pages of 2 MiB", "512", "520"),
    )
    assert Difference("NUMA node 1", "node", "CPUs 4-7,12-15", None) in differences(
        plx, replace(plx, numa_nodes=(first,))
    )


def test_a_lost_gpu_is_a_difference(plx: Machine) -> None:
    gpus = (replace(plx.gpus[0], health="lost"), *plx.gpus[1:])
    assert differences(plx, replace(plx, gpus=gpus)) == (
        Difference("0000:19:00.0", "health", "unknown", "lost"),
    )


def test_facts_of_gpus_are_compared_where_both_have_them(plx: Machine) -> None:
    known = replace(
        plx, gpus=tuple(replace(gpu, partial=False, memory_bytes=1 << 30) for gpu in plx.gpus)
    )
    other = replace(known, gpus=tuple(replace(gpu, memory_bytes=2 << 30) for gpu in known.gpus))
    assert {found.what for found in differences(known, other)} == {"memory"}
    silent = replace(other, gpus=tuple(replace(gpu, partial=True) for gpu in other.gpus))
    assert differences(known, silent) == ()
    assert differences(silent, known) == ()
