"""Generated and gathered trees: what the Machine says is what the tree's own links say."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest

from dractl import probes
from dractl.topology.levels import level, nearest
from dractl.topology.standard_attributes import publish_pcie_root
from tests import sysfs_trees
from tests.probes.conftest import GATHERED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dractl.topology.machine import Machine

_BDF = re.compile(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$")
_HOST = re.compile(r"^pci[0-9a-f]{4,8}:[0-9a-f]{2}$")


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    top = tmp_path_factory.mktemp("machines")
    return {
        name: sysfs_trees.build(sysfs_trees.describe(name), top / name)
        for name in sysfs_trees.NAMES
    }


@pytest.fixture(scope="module")
def read(trees: dict[str, Path]) -> dict[str, Machine]:
    return {name: probes.read(tree) for name, tree in trees.items()}


def by_readlink(tree: Path) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Root and bridges of every function, read from its link alone."""
    base = tree / "sys/bus/pci/devices"
    found = {}
    for name in os.listdir(base) if base.is_dir() else []:
        if (base / name).is_symlink():
            parts = os.path.normpath(
                os.path.join("bus/pci/devices", os.readlink(base / name))
            ).split("/")
            last = max(i for i, part in enumerate(parts) if _HOST.match(part))
            found[name] = (parts[last], tuple(p for p in parts[last + 1 : -1] if _BDF.match(p)))
    return found


def agree(machine: Machine, tree: Path) -> None:
    truth = by_readlink(tree)
    devices = {d.bdf: (d.pcie_root, d.bridges) for d in machine.pci_devices if d.bdf in truth}
    assert devices == truth
    for device in machine.pci_devices:
        text = tree / "sys/bus/pci/devices" / device.bdf / "numa_node"
        if text.exists():
            number = int(text.read_text())
            assert device.numa_node == (number if number >= 0 else None), device.bdf
    nodes = tree / "sys/devices/system/node"
    assert {n.id for n in machine.numa_nodes} == {
        int(p.name[4:]) for p in nodes.glob("node*") if p.name[4:].isdecimal()
    }


@pytest.mark.parametrize("name", sysfs_trees.NAMES)
def test_roots_bridges_and_nodes_are_those_of_the_links(
    name: str, trees: dict[str, Path], read: dict[str, Machine]
) -> None:
    agree(read[name], trees[name])


@pytest.mark.parametrize("name", sysfs_trees.NAMES)
def test_each_machine_matches_its_description(name: str, read: dict[str, Machine]) -> None:
    expect: dict[str, Any] = sysfs_trees.describe(name)["expect"]
    machine = read[name]
    pci = machine.pci
    assert len(machine.gpus) == expect["gpus"]
    assert [(a, b, level(pci[a], pci[b], machine)) for a, b, _ in expect["levels"]] == [
        tuple(x) for x in expect["levels"]
    ]
    assert {bdf: publish_pcie_root(pci[bdf]) for bdf in expect["published"]} == expect["published"]
    assert {bdf: pci[bdf].pcie_root for bdf in expect.get("roots", {})} == expect.get("roots", {})
    assert {bdf: pci[bdf].kind for bdf in expect.get("kinds", {})} == expect.get("kinds", {})
    vfs = {
        bdf: [s.physical_function, s.vf_index]
        for bdf in expect.get("vfs", {})
        if (s := pci[bdf].sriov)
    }
    assert vfs == expect.get("vfs", {})
    kinds = {n.id: n.memory_kind for n in machine.numa_nodes}
    assert {i: kinds[i] for i in expect.get("memoryKinds", {})} == expect.get("memoryKinds", {})
    notes = {note.about: note.message for note in machine.notes}
    for about, message in expect.get("notes", {}).items():
        assert message in notes[about]


@pytest.mark.parametrize("name", GATHERED)
def test_gathered_trees_agree_with_their_links(
    name: str, gathered: Callable[[str], tuple[Path, Path]]
) -> None:
    archive, tree = gathered(name)
    machine = probes.read(tree)
    agree(machine, tree)
    assert probes.read(archive) == machine


def test_network_interfaces_of_hardware(read: dict[str, Machine]) -> None:
    nets = {n.name: n for n in read["plx-8gpu"].net_interfaces}
    eth0 = nets["eth0"]
    assert (eth0.bdf, eth0.driver, eth0.mtu, eth0.encapsulation, eth0.kind) == (
        "0000:18:00.0",
        "mlx5_core",
        9000,
        "ether",
        "device",
    )
    assert (eth0.rdma_device, eth0.speed_mbps, eth0.virtual, eth0.uplink) == (
        "mlx5_0",
        400000,
        False,
        False,
    )
    assert {name: n.kind for name, n in nets.items() if n.virtual} == {
        "lo": "device",
        "bond0": "bond",
        "veth1a2b": "veth",
    }
    assert nets["lo"].encapsulation == "loopback"


def test_default_route_and_its_slaves_are_the_uplink(read: dict[str, Machine]) -> None:
    """dranet leaves out the interfaces of the default routes of lowest metric, and their slaves."""
    assert {n.name for n in read["plx-8gpu"].net_interfaces if n.uplink} == {
        "bond0",
        "eno1",
        "eno2",
    }


def test_an_interface_below_virtio_belongs_to_the_pci_function(read: dict[str, Machine]) -> None:
    machine = read["single-root-vm"]
    (eth0,) = (n for n in machine.net_interfaces if n.name == "eth0")
    assert (eth0.bdf, eth0.virtual, eth0.nested, eth0.uplink) == ("0000:00:03.0", False, True, True)
    assert not any(n.nested for n in read["sriov"].net_interfaces)
    assert machine.pci["0000:00:03.0"].names == ("eth0",)
    assert machine.pci["0000:00:04.0"].names == ("vda",)
    assert (machine.pci["0000:00:06.0"].kind, machine.pci["0000:00:06.0"].names) == (
        "rdma",
        ("rdmap0s6",),
    )


def test_sriov(read: dict[str, Machine]) -> None:
    machine = read["sriov"]
    physical = machine.pci["0000:3b:00.0"].sriov
    assert physical is not None
    assert (physical.total_vfs, physical.num_vfs, physical.drivers_autoprobe) == (8, 4, True)
    nets = {n.name: n for n in machine.net_interfaces}
    assert (nets["ens1f0np0"].sriov_total_vfs, nets["ens1f0np0"].sriov_num_vfs) == (8, 4)
    assert nets["ens1f0v0"].virtual_function
    assert {n.name for n in machine.net_interfaces if n.representor} == {"eth_rep0"}
    assert [g.bdf for g in machine.gpus] == [
        "0000:ca:00.0"
    ]  # its virtual functions are not GPUs of their own
    assert machine.pci["0000:3b:00.4"].iommu_group == 80


def test_cpus_sockets_caches_and_huge_pages(read: dict[str, Machine]) -> None:
    machine = read["plx-8gpu"]
    assert [(p.id, p.cpus) for p in machine.cpus.packages] == [(0, "0-3,8-11"), (1, "4-7,12-15")]
    assert [(c.package, c.id, c.cpus, c.numa_node) for c in machine.cpus.cores][:2] == [
        (0, 0, "0,8", 0),
        (0, 1, "1,9", 0),
    ]
    assert [(c.id, c.cpus, c.size_bytes) for c in machine.cpus.l3] == [
        (0, "0-3,8-11", 32 << 20),
        (1, "4-7,12-15", 32 << 20),
    ]
    assert (machine.cpus.smt, machine.cpus.smt_control) == (True, "on")
    pages = machine.numa_nodes[0].huge_pages
    assert [(h.size_bytes, h.total, h.free) for h in pages] == [
        (2 << 20, 512, 500),
        (1 << 30, 16, 16),
    ]
    assert machine.host.iommu is True
    assert machine.pci["0000:19:00.0"].bars == (16 << 20, 128 << 30)


def test_the_aliases_of_modules(tmp_path: Path) -> None:
    """A tree without lib/modules says nothing about the file; one with it does."""
    for path, text in (
        ("proc/sys/kernel/osrelease", "6.8.0"),
        ("sys/kernel/iommu_groups/1/type", "DMA"),
    ):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    assert probes.read(tmp_path).host.module_aliases is None
    (tmp_path / "lib/modules/6.5.0").mkdir(parents=True)
    assert probes.read(tmp_path).host.module_aliases is False
    (tmp_path / "lib/modules/6.8.0").mkdir()
    (tmp_path / "lib/modules/6.8.0/modules.alias").touch()
    assert probes.read(tmp_path).host.module_aliases is True


def test_offline_cpus_and_missing_cache_ids(read: dict[str, Machine]) -> None:
    cxl = read["cxl"]
    assert (cxl.cpus.online, cxl.cpus.present) == ("0-2", "0-3")
    assert [n.cpus for n in cxl.numa_nodes] == ["0-1", "2", ""]
    grace = read["grace-hopper"]
    assert [(c.id, c.cpus) for c in grace.cpus.l3] == [
        (0, "0-3")
    ]  # arm64 gives no id: the lowest CPU stands for it
    assert grace.cpus.smt is False


def test_nvme_with_native_multipath_belongs_to_its_controller(read: dict[str, Machine]) -> None:
    by_name = {c.name: c for c in read["plx-8gpu"].nvme_controllers}
    assert [(s.name, s.size_bytes, s.in_use) for s in by_name["nvme0"].namespaces] == [
        ("nvme0n1", 7501476528 * 512, False)
    ]
    second = by_name["nvme1"]
    assert (second.bdf, second.subsystem, [s.name for s in second.namespaces]) == (
        "0000:9e:00.0",
        "nvme-subsys1",
        ["nvme1n1"],
    )


def test_a_link_below_its_maximum_is_seen(read: dict[str, Machine]) -> None:
    slow = read["plx-8gpu"].pci["0000:9b:00.0"]
    assert (slow.link_width, slow.max_link_width, slow.link_speed, slow.max_link_speed) == (
        8,
        16,
        32.0,
        32.0,
    )


def test_no_tree_claims_more_than_pci_knows_of_an_nvidia_gpu(read: dict[str, Machine]) -> None:
    for gpu in read["plx-8gpu"].gpus:
        assert (gpu.source, gpu.partial, gpu.uuid, gpu.memory_bytes) == ("pci", True, None, None)
    assert "nvml" in {note.about for note in read["plx-8gpu"].notes}


def test_a_tree_without_numa_cpu_or_pci_says_so(tmp_path: Path) -> None:
    (tmp_path / "sys").mkdir()
    machine = probes.read(tmp_path)
    assert (machine.numa_nodes, machine.pci_devices) == ((), ())
    assert {"cpu", "numa", "pci", "net"} <= {note.about for note in machine.notes}


def test_memory_outside_numa_nodes_is_noted(tmp_path: Path) -> None:
    # An H100 in a virtual machine whose memory was added while it ran: 4.464 of 125.9 GiB are node 0's.
    node = tmp_path / "sys/devices/system/node/node0"
    node.mkdir(parents=True)
    (tmp_path / "proc").mkdir()
    (node / "meminfo").write_text("Node 0 MemTotal:        4681200 kB\n")
    (tmp_path / "proc/meminfo").write_text("MemTotal:       131981020 kB\n")
    notes = [note.message for note in probes.read(tmp_path).notes if note.about == "numa"]
    assert notes == [
        "the NUMA nodes have 4.464 GiB, /proc/meminfo 125.9 GiB: the node of the rest is unknown"
    ]
    (tmp_path / "proc/meminfo").write_text("MemTotal:       4681200 kB\n")
    assert not [note for note in probes.read(tmp_path).notes if note.about == "numa"]


def test_a_mounted_sys_alone_is_a_root_too(trees: dict[str, Path]) -> None:
    whole, sys_only = probes.read(trees["vmd"]), probes.read(trees["vmd"] / "sys")
    assert sys_only.pci_devices == whole.pci_devices
    assert sys_only.numa_nodes == whole.numa_nodes


def test_names_come_from_the_given_pci_ids(trees: dict[str, Path], tmp_path: Path) -> None:
    database = tmp_path / "pci.ids"
    database.write_text(
        "10de  NVIDIA Corporation\n# a comment\n\t2330  GH100 [Test]\nC 03  Display controller\n\t02  3D controller\n"
    )
    gpu = probes.read(trees["plx-8gpu"], pci_ids=database).pci["0000:19:00.0"]
    assert (gpu.vendor_name, gpu.device_name, gpu.class_name) == (
        "NVIDIA Corporation",
        "GH100 [Test]",
        "3D controller",
    )
    without = probes.read(trees["plx-8gpu"], pci_ids=tmp_path / "none")
    assert "pci.ids" in {note.about for note in without.notes}
    own = probes.read(trees["plx-8gpu"]).pci["0000:19:00.0"]
    assert without.pci["0000:19:00.0"] == own
    assert (own.vendor_name, own.device_name) == ("NVIDIA Corporation", "GH100 [H100 SXM5 80GB]")


def test_amd_gpus_are_known_through_kfd(read: dict[str, Machine]) -> None:
    whole, partitioned, passed_through = read["mi300x"].gpus
    assert whole.amd is not None
    assert partitioned.amd is not None
    assert (whole.source, whole.memory_bytes, whole.name) == (
        "kfd",
        206141652992,
        "AMD Instinct MI300X OAM",
    )
    assert (whole.driver_version, whole.amd.card_index, whole.amd.render_minor) == (
        "6.12.12",
        1,
        128,
    )
    assert (whole.amd.simd_count, whole.amd.simd_per_cu, whole.amd.unique_id) == (
        1216,
        4,
        "1f2e3d4c5b6a7988",
    )
    assert (whole.amd.compute_partition, whole.amd.memory_partition) == ("spx", "nps1")
    assert (partitioned.amd.compute_partition, partitioned.memory_bytes) == ("cpx", 206141652992)
    assert (passed_through.source, passed_through.partial, passed_through.amd) == (
        "pci",
        True,
        None,
    )
    assert [(x.a, x.b, x.kind, x.count) for x in read["mi300x"].links] == [
        ("0000:05:00.0", "0000:26:00.0", "xgmi", 1)
    ]
    assert nearest(read["mi300x"])["0000:05:00.0", "0000:26:00.0"] == "XGMI"


def test_a_mounted_proc_shows_the_hosts_routes_and_mounts(tmp_path: Path) -> None:
    """A pod that mounts the host's /proc has its own routes and mounts under `self`; process 1 has the host's."""
    tree = sysfs_trees.build(sysfs_trees.describe("plx-8gpu"), tmp_path)
    head = (tree / "proc/net/route").read_text().splitlines()[0]
    (tree / "proc/1/net").mkdir(parents=True)
    (tree / "proc/1/net/route").write_text(
        f"{head}\neth3\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    )
    (tree / "proc/1/mounts").write_text("/dev/nvme0n1 /data ext4 rw 0 0\n")
    machine = probes.read(tree)
    assert {n.name for n in machine.net_interfaces if n.uplink} == {"eth3"}
    assert machine.nvme_controllers[0].namespaces[0].in_use is True
    (tree / "proc/1/mounts").unlink()  # only root may read it
    assert probes.read(tree).nvme_controllers[0].namespaces[0].in_use is None
