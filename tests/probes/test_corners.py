"""Hosts that are unlike others: one tree a test, as small as it can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dractl import probes
from dractl.topology import snapshot
from tests import sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.topology.machine import Machine

CPUS: dict[str, Any] = {
    "model": "Test CPU",
    "online": "0-1",
    "cores": [{"package": 0, "id": 0, "cpus": 0}, {"package": 0, "id": 1, "cpus": 1}],
}
NODE: dict[str, Any] = {"id": 0, "cpus": "0-1", "memoryKiB": 1024, "distance": [10]}


def machine(top: Path, files: dict[str, str] | None = None, **description: Any) -> Machine:
    sysfs_trees.build({"cpus": CPUS, "nodes": [NODE], "files": files or {}, **description}, top)
    return probes.read(top)


def notes(of: Machine) -> dict[str, str]:
    return {note.about: note.message for note in of.notes}


def test_hybrid_cpus(tmp_path: Path) -> None:
    cpus = {
        **CPUS,
        "online": "0-3",
        "cores": [
            {"package": 0, "id": 0, "cpus": "0-1"},
            *({"package": 0, "id": n * 4, "cpus": n} for n in (2, 3)),
        ],
        "types": {"cpu_core": "0-1", "cpu_atom": "2-3"},
    }
    found = machine(tmp_path, cpus=cpus, nodes=[{**NODE, "cpus": "0-3"}])
    assert [(c.type, c.cpus) for c in found.cpus.cores] == [
        ("p-core", "0-1"),
        ("e-core", "2"),
        ("e-core", "3"),
    ]


def test_cpu0_offline(tmp_path: Path) -> None:
    cpus = {**CPUS, "online": "1", "present": "0-1", "cores": [{"package": 0, "id": 1, "cpus": 1}]}
    found = machine(tmp_path, cpus=cpus)
    assert (found.cpus.online, [c.cpus for c in found.cpus.cores]) == ("1", ["1"])
    assert found.numa_nodes[0].cpus == "1"


def test_a_vm_whose_socket_is_minus_one(tmp_path: Path) -> None:
    cpus = {**CPUS, "cores": [{"package": -1, "id": n, "cpus": n} for n in (0, 1)]}
    assert [(p.id, p.cpus) for p in machine(tmp_path, cpus=cpus).cpus.packages] == [(-1, "0-1")]


def test_cpus_without_topology_are_noted(tmp_path: Path) -> None:
    found = machine(tmp_path, cpus={**CPUS, "cores": []})
    assert "CPUs 0-1 show no topology" in notes(found)["cpu"]


def test_cpus_listed_in_several_nodes_are_noted(tmp_path: Path) -> None:
    nodes = [{**NODE, "id": n, "distance": [10, 10]} for n in (0, 1)]
    found = machine(tmp_path, nodes=nodes)
    assert "lists CPUs of node 1 in another node too" in notes(found)["numa"]
    assert {c.numa_node for c in found.cpus.cores} == {0}


def test_an_old_kernel_with_masks_only(tmp_path: Path) -> None:
    machine(tmp_path)
    (tmp_path / "sys/devices/system/node/node0/cpulist").unlink()
    (tmp_path / "sys/devices/system/node/node0/cpumap").write_text("00000000,00000003\n")
    assert probes.read(tmp_path).numa_nodes[0].cpus == "0-1"


def test_distances_not_matching_the_nodes_are_not_used(tmp_path: Path) -> None:
    found = machine(tmp_path, nodes=[{**NODE, "distance": [10, 20, 30]}])
    assert found.numa_nodes[0].distances == ()
    assert "3 columns for 1 node" in notes(found)["node0"]


def test_distances_have_a_column_for_each_online_node(tmp_path: Path) -> None:
    """A tree may show fewer nodes than are online; the columns of the others are left out."""
    machine(tmp_path, nodes=[{**NODE, "id": 1, "distance": [21, 10]}])
    (tmp_path / "sys/devices/system/node/online").write_text("0-1")
    assert probes.read(tmp_path).numa_nodes[0].distances == (10,)


def test_very_old_kernels_have_masks_of_siblings(tmp_path: Path) -> None:
    machine(tmp_path)
    for cpu in (0, 1):
        topology = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology"
        (topology / "core_cpus_list").unlink()
        (topology / "thread_siblings").write_text("00000003")
        (topology / "core_id").write_text("0")
    assert [c.cpus for c in probes.read(tmp_path).cpus.cores] == ["0-1"]


def test_node_of_a_cpu_is_its_link(tmp_path: Path) -> None:
    """Firmware may list all CPUs in each node, and a node without online CPUs has no folder of its own."""
    machine(tmp_path)
    for cpu, node in ((0, 0), (1, 3)):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{cpu}"
        for link in folder.glob("node*"):
            link.unlink() if link.is_symlink() else link.rmdir()
        (folder / f"node{node}").mkdir()
    (tmp_path / "sys/devices/system/node/node0/cpulist").write_text("0-1")
    assert [c.numa_node for c in probes.read(tmp_path).cpus.cores] == [0, 3]


def test_the_cores_of_a_module_are_siblings(tmp_path: Path) -> None:
    """Opterons of family 15h: thread_siblings are the two cores of a module, each with its own core_id."""
    machine(tmp_path)
    for cpu in (0, 1):
        topology = tmp_path / f"sys/devices/system/cpu/cpu{cpu}/topology"
        (topology / "core_cpus_list").write_text("0-1")
        (topology / "core_id").write_text(str(cpu))
    assert [(c.id, c.cpus) for c in probes.read(tmp_path).cpus.cores] == [(0, "0"), (1, "1")]


def test_nonconsecutive_ports_of_one_card_are_read(tmp_path: Path) -> None:
    from dractl.report.canvas import Canvas
    from dractl.report.machine import tree as machine_tree

    pci = [{"path": f"pci0000:00/0000:00:02.0/0000:02:00.{n}", "is": "e810"} for n in (0, 3)]
    assert "0000:02:00.0,3" in machine_tree.render(machine(tmp_path, pci=pci), Canvas(120))


def test_sparse_nodes_of_power9_and_gpu_memory_as_nodes(tmp_path: Path) -> None:
    """Six V100 as nodes 250 to 255 beside 0 and 8; the kernel module says which node is which GPU's."""
    nodes = [
        {"id": 0, "cpus": "0", "memoryKiB": 1024, "distance": [10, 40, 80]},
        {"id": 8, "cpus": "1", "memoryKiB": 1024, "distance": [40, 10, 80]},
        {"id": 255, "memoryKiB": 1024, "distance": [80, 80, 10]},
    ]
    pci = [{"path": "pci0004:00/0004:00:00.0/0004:04:00.0", "is": "a100", "numa": 0}]
    status = {"proc/driver/nvidia/gpus/0004:04:00.0/numa_status": "Node: 255\nStatus: online"}
    found = machine(tmp_path, status, nodes=nodes, pci=pci)
    assert found.gpus[0].memory_numa_node == 255
    assert {n.id: (n.memory_kind, n.distances[-1]) for n in found.numa_nodes} == {
        0: ("dram", 80),
        8: ("dram", 80),
        255: ("gpu", 10),
    }


def test_pci_functions_as_directories_have_no_place(tmp_path: Path) -> None:
    files = {
        "sys/bus/pci/devices/0004:04:00.0/class": "0x030200",
        "sys/bus/pci/devices/0004:04:00.0/vendor": "0x10de",
        "sys/bus/pci/devices/0004:04:00.0/device": "0x1db1",
    }
    found = machine(tmp_path, files)
    assert (found.pci_devices[0].kind, found.pci_devices[0].pcie_root) == ("gpu", None)
    assert "does not show this function" in notes(found)["0004:04:00.0"]


def test_a_function_whose_facts_are_missing(tmp_path: Path) -> None:
    """The link is there, the directory is not: what upstream reads off the link is still known."""
    base = tmp_path / "sys/bus/pci/devices"
    machine(tmp_path, pci=[])
    (base / "0000:17:00.0").symlink_to("../../../devices/pci0000:15/0000:15:01.0/0000:17:00.0")
    (device,) = probes.read(tmp_path).pci_devices
    assert (device.pcie_root, device.bridges, device.class_code) == (
        "pci0000:15",
        ("0000:15:01.0",),
        None,
    )


def test_link_kind_unnamed_by_sysfs_is_unknown(tmp_path: Path) -> None:
    found = machine(tmp_path, net=[{"path": "virtual/net/dummy0", "ifindex": 9}])
    assert found.net_interfaces[0].kind is None
    assert "the link kind of dummy0 is unknown" in notes(found)["net"]


def test_intel_gpus_are_known_from_pci(tmp_path: Path) -> None:
    pci = [
        {
            "path": "pci0000:00/0000:00:05.0",
            "is": "h100",
            "vendor": "0x8086",
            "device": "0x56c0",
            "driver": "xe",
        }
    ]
    found = machine(tmp_path, pci=pci)
    assert (found.gpus[0].source, found.gpus[0].memory_bytes, found.pci_devices[0].driver) == (
        "pci",
        None,
        "xe",
    )
    assert "DRM driver" in notes(found)["0000:00:05.0"]


def test_software_rdma_has_no_function(tmp_path: Path) -> None:
    rdma = {"sys/devices/virtual/infiniband/rxe0/ports/1/state": "4: ACTIVE"}
    (tmp_path / "sys/class/infiniband").mkdir(parents=True)
    (tmp_path / "sys/class/infiniband/rxe0").symlink_to("../../devices/virtual/infiniband/rxe0")
    (device,) = machine(tmp_path, rdma).rdma_devices
    assert (device.name, device.bdf, [(p.number, p.state) for p in device.ports]) == (
        "rxe0",
        None,
        [(1, "ACTIVE")],
    )


def test_an_infiniband_interface_has_the_kind_ipoib(tmp_path: Path) -> None:
    """Netlink says so of parents, too (linux drivers/infiniband/ulp/ipoib): kubernetes-sigs/dranet#51 has a slice."""
    base = "sys/devices/virtual/net/ibp1s0"
    (tmp_path / "sys/class/net").mkdir(parents=True)
    (tmp_path / "sys/class/net/ibp1s0").symlink_to("../../devices/virtual/net/ibp1s0")
    (interface,) = machine(tmp_path, {f"{base}/type": "32"}).net_interfaces
    assert (interface.encapsulation, interface.kind) == ("infiniband", "ipoib")


def test_gpus_outside_pci_are_noted(tmp_path: Path) -> None:
    """NVIDIA/k8s-device-plugin#1963 (Tegra), and a guest of Windows."""
    board = machine(tmp_path / "board", {"sys/bus/platform/devices/17000000.gpu/modalias": "x"})
    assert "no DRA driver publishes it" in notes(board)["17000000.gpu"]
    guest = machine(tmp_path / "guest", {"dev/dxg": ""})
    assert "no DRA driver publishes it" in notes(guest)["/dev/dxg"]
    plain = machine(tmp_path / "plain", {"sys/bus/platform/devices/serial8250/modalias": "x"})
    assert not {"17000000.gpu", "/dev/dxg", "serial8250"} & notes(plain).keys()


def test_nvme_over_fabrics_has_no_function(tmp_path: Path) -> None:
    base = "sys/devices/virtual/nvme-fabrics/ctl/nvme3"
    (tmp_path / "sys/class/nvme").mkdir(parents=True)
    (tmp_path / "sys/class/nvme/nvme3").symlink_to("../../devices/virtual/nvme-fabrics/ctl/nvme3")
    (controller,) = machine(tmp_path, {f"{base}/transport": "tcp"}).nvme_controllers
    assert (controller.bdf, controller.transport, controller.namespaces) == (None, "tcp", ())


def test_old_kernels_have_namespaces_below_the_function(tmp_path: Path) -> None:
    pci = [{"path": "pci0000:00/0000:00:02.0", "is": "nvme", "block": ["nvme0n1"]}]
    found = machine(tmp_path, pci=pci)
    assert [(c.name, c.bdf, [s.name for s in c.namespaces]) for c in found.nvme_controllers] == [
        ("nvme0", "0000:00:02.0", ["nvme0n1"])
    ]


@pytest.mark.parametrize(
    ("product", "extra", "kind"),
    [
        ("bmc-vga", {}, "other"),
        ("nvswitch", {}, "other"),
        ("gaudi3", {}, "accelerator"),
        ("tpu-v5e", {}, "accelerator"),
        ("mi300x", {}, "gpu"),
        ("cx7", {"vendor": "0x10de", "class": "0x040300"}, "other"),  # a GPU's audio function
        (
            "cx7",
            {"vendor": "0x1e52", "device": "0xb140", "class": "0x120000"},
            "accelerator",
        ),  # Tenstorrent
        (
            "cx7",
            {"vendor": "0x10ee", "device": "0x5005", "class": "0x120000"},
            "accelerator",
        ),  # an FPGA
        (
            "cx7",
            {"vendor": "0x1d0f", "device": "0x7264", "class": "0x088000"},
            "accelerator",
        ),  # Inferentia2
        ("cx7", {"class": "0x060401"}, "bridge"),
        ("cx7", {"class": "0x060100"}, "bridge"),
        ("cx7", {"class": "0x0c0600"}, "rdma"),
        ("cx7", {"class": "0x00ff00", "rdma": {"erdma_0": {}}}, "rdma"),
    ],
)
def test_kinds(product: str, extra: dict[str, Any], kind: str, tmp_path: Path) -> None:
    found = machine(tmp_path, pci=[{"path": "pci0000:00/0000:00:05.0", "is": product, **extra}])
    assert found.pci_devices[0].kind == kind


def test_a_card_with_many_virtual_functions_is_read_and_drawn_in_a_line(tmp_path: Path) -> None:
    from dractl.report.canvas import Canvas
    from dractl.report.machine import tree as machine_tree

    vfs = [{"bdf": f"0000:3b:{n // 8 + 1:02x}.{n % 8}", "is": "cx7-vf"} for n in range(120)]
    pci = [
        {"path": "pci0000:3a/0000:3a:00.0/0000:3b:00.0", "is": "cx7", "totalVfs": 127, "vfs": vfs}
    ]
    found = machine(tmp_path, pci=pci)
    assert len(found.pci_devices) == 122
    assert snapshot.to_json(found)["affinity"] == []
    lines = machine_tree.render(found, Canvas(120)).splitlines()
    (line,) = (line for line in lines if "0000:3b:01.0" in line)
    assert "0000:3b:01.0-3b:0f.7" in line
    assert "120×" in line


KVM: dict[str, Any] = {
    "virtual": True,
    "pci": [
        {"path": f"pci0000:00/0000:00:{number:02x}.0", "is": kind, **more}
        for number, kind, more in (
            (0, "uncore", {}),
            (3, "virtio-net", {"net": {"eth0": {"below": "virtio0"}}}),
            (5, "h100", {"driver": ""}),
            (6, "h100", {"driver": ""}),
        )
    ],
}


def test_the_flat_tree_of_a_guest_is_reported(tmp_path: Path) -> None:
    """NVIDIA/nccl-tests#256: a KVM guest with eight GPUs and NICs on one root."""
    assert "not where they are in the host" in notes(machine(tmp_path, **KVM))["pci0000:00"]


def test_a_host_or_a_guest_with_a_tree_is_as_it_shows(tmp_path: Path) -> None:
    assert "pci0000:00" not in notes(machine(tmp_path / "host", **{**KVM, "virtual": False}))
    roots = [{**one, "path": one["path"].replace("0000:00:06", "0000:20:06")} for one in KVM["pci"]]
    roots[-1]["path"] = roots[-1]["path"].replace("pci0000:00", "pci0000:20")
    assert "pci0000:00" not in notes(machine(tmp_path / "tree", **{**KVM, "pci": roots}))


@pytest.mark.parametrize(("name", "count"), [("amdgpu_xcp.1", 1), ("amdgpu_xcp_1", 0)])
def test_partitions_named_with_a_dot_by_older_kernels_are_read(
    tmp_path: Path, name: str, count: int
) -> None:
    """ROCm/k8s-device-plugin#157: the driver looks for amdgpu_xcp_N."""
    found = machine(tmp_path, {f"sys/devices/platform/{name}/drm/card3/dev": "226:3\n"})
    said = [message for message in notes(found).values() if "gpu.amd.com" in message]
    assert len(said) == count
