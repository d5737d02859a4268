"""dra.nvme. Expectations are those of johnahull/dra-driver-nvme: pkg/nvme, cmd/nvme-kubeletplugin, its README."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from dractl import probes
from dractl.drivers import Inventory, Options, find, render
from dractl.model.releases import Target
from dractl.topology import Machine, NumaNode, PciDevice
from dractl.topology.machine import Cpus, NvmeController, NvmeNamespace, Package
from tests import sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path

BDF = "0000:3b:00.0"
FUNCTION = PciDevice(
    BDF, f"pci0000:36/0000:36:01.0/{BDF}", class_code="0x010802", driver="nvme", numa_node=1
)
DISK = NvmeNamespace("nvme0n1", 1920383410176, in_use=False, mounted=False)
CONTROLLER = NvmeController(
    "nvme0",
    BDF,
    "pcie",
    "SAMSUNG MZQL21T9HCJR-00A07",
    "GDC5602Q",
    namespaces=(DISK,),
    serial="S64GNE0R (1)",
)
# Two sockets, CPUs numbered in turn, as many servers have it: node 1's first CPU is 1.
MACHINE = Machine(
    cpus=Cpus(packages=(Package(0, "0,2"), Package(1, "1,3"))),
    numa_nodes=(NumaNode(0, "0,2"), NumaNode(1, "1,3")),
    pci_devices=(FUNCTION,),
    nvme_controllers=(CONTROLLER,),
)


def inventory(machine: Machine) -> Inventory:
    return find("dra.nvme").inventory(machine, Options("node-1", Target.of("1.37")))


def with_disk(*disks: NvmeNamespace) -> Machine:
    return replace(MACHINE, nvme_controllers=(replace(CONTROLLER, namespaces=disks),))


def test_a_controller() -> None:
    """cmd/nvme-kubeletplugin/deviceinfo.go GetDevice; texts as TestSanitize has them; places as in the README."""
    found = inventory(MACHINE)
    assert found.devices == (
        {
            "name": "nvme0",
            "attributes": {
                "dra.nvme/model": {"string": "SAMSUNG_MZQL21T9HCJR-00A07"},
                "dra.nvme/serial": {"string": "S64GNE0R_1"},
                "dra.nvme/firmwareRev": {"string": "GDC5602Q"},
                "dra.nvme/transport": {"string": "pcie"},
                "dra.nvme/numaNode": {"int": 1},
                "resource.kubernetes.io/numaNode": {"int": 1},
                "resource.kubernetes.io/cpuSocketID": {"int": 1},
                "resource.kubernetes.io/pciBusID": {"string": BDF},
                "resource.kubernetes.io/pcieRoot": {"string": "pci0000:36"},
            },
            "capacity": {"dra.nvme/size": {"value": "1875374424Ki"}},
        },
    )
    assert (found.comments, found.notices) == ({}, ())


def test_size_is_the_sum_of_all_namespaces() -> None:
    disks = (replace(DISK, size_bytes=1 << 40), replace(DISK, name="nvme0n2", size_bytes=1 << 39))
    assert inventory(with_disk(*disks)).devices[0]["capacity"] == {
        "dra.nvme/size": {"value": "1536Gi"}
    }


def test_values_absent_from_a_snapshot_are_named_and_left_out() -> None:
    found = inventory(replace(MACHINE, cpus=Cpus()).drop_identity())
    assert "dra.nvme/serial" not in found.devices[0]["attributes"]
    assert found.comments == {
        "nvme0": "unknown here: dra.nvme/serial, resource.kubernetes.io/cpuSocketID"
    }
    sized = inventory(with_disk(replace(DISK, size_bytes=None)))
    assert "capacity" not in sized.devices[0]
    assert sized.comments == {"nvme0": "unknown here: dra.nvme/size"}


def test_a_node_without_cpus_counts_as_socket_0() -> None:
    """getSocketIDForNUMA returns 0 for an empty cpulist."""
    facts = inventory(replace(MACHINE, numa_nodes=(NumaNode(0, "0-3"), NumaNode(1)))).devices[0][
        "attributes"
    ]
    assert facts["resource.kubernetes.io/cpuSocketID"] == {"int": 0}


@pytest.mark.parametrize(
    ("disk", "published"),
    [
        (replace(DISK, in_use=True, mounted=True), False),
        (replace(DISK, in_use=True, held=("nvme0n1p3",)), False),
        (
            replace(DISK, in_use=True, held=("nvme0n1",)),
            True,
        ),  # holders of partitions are all that it looks for
        (
            replace(DISK, in_use=True, mounted=None),
            False,
        ),  # a snapshot from before the two were told apart
        (replace(DISK, in_use=None, mounted=None), True),
    ],
)
def test_disks_in_use(disk: NvmeNamespace, published: bool) -> None:
    """pkg/nvme/nvme.go hasMountedNamespace."""
    found = inventory(with_disk(disk))
    assert bool(found.devices) is published
    assert len(found.notices) + len(found.left_out) == 1


@pytest.mark.parametrize(
    ("function", "controller", "why"),
    [
        (replace(FUNCTION, numa_node=None), CONTROLLER, "no NUMA node"),
        (FUNCTION, replace(CONTROLLER, namespaces=()), "no namespace"),
        # With multipath nvme1's disk can be nvme0's: the driver looks for /sys/block/nvme1n*.
        (
            FUNCTION,
            replace(CONTROLLER, name="nvme1"),
            "no namespace whose name begins with its own",
        ),
        (FUNCTION, replace(CONTROLLER, bdf=None, transport="tcp"), "no PCI function"),
        (
            replace(FUNCTION, path=f"LNXSYSTM:00/x/pci0001:00/{BDF}"),
            CONTROLLER,
            "where the drivers' helper library",
        ),
    ],
)
def test_unpublished_controllers_have_a_reason(
    function: PciDevice, controller: NvmeController, why: str
) -> None:
    found = inventory(replace(MACHINE, pci_devices=(function,), nvme_controllers=(controller,)))
    assert found.devices == ()
    assert why in [*found.left_out.values(), *found.notices][0]


def test_a_disk_whose_name_another_mounted_one_begins_with() -> None:
    """hasMountedNamespace looks for nvme0n1 anywhere in /proc/mounts, and finds it in nvme0n10."""
    assert inventory(with_disk(DISK, replace(DISK, name="nvme0n2", mounted=False))).devices
    assert not inventory(with_disk(DISK, replace(DISK, name="nvme0n10", mounted=True))).devices


def test_controllers_behind_vmd_are_not_published(tmp_path: Path) -> None:
    """GetPCIBusIDAttribute refuses their domain of five digits, and enumerateDevices goes on without them."""
    found = inventory(probes.read(sysfs_trees.build(sysfs_trees.describe("vmd"), tmp_path)))
    assert found.devices == ()
    assert found.left_out
    assert all("more than four digits" in why for why in found.left_out.values())


def test_disks_are_read_off_a_tree(tmp_path: Path) -> None:
    top = sysfs_trees.build(sysfs_trees.describe("plx-8gpu"), tmp_path)
    (top / "proc/self/mounts").write_text("/dev/nvme1n1p2 /data xfs rw 0 0\n")
    switch = "pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:04.0/0000:1c:00.0"
    for base in (f"{switch}/nvme/nvme0/nvme0n1", "virtual/nvme-subsystem/nvme-subsys1/nvme1n1"):
        disk = top / "sys/devices" / base
        (disk / f"{disk.name}p2").mkdir()
        (disk / "holders/md0").mkdir(parents=True)
    first, second = (controller.namespaces[0] for controller in probes.read(top).nvme_controllers)
    assert (first.mounted, first.held, first.in_use) == (False, ("nvme0n1",), True)
    assert (second.mounted, second.held, second.in_use) == (True, ("nvme1n1",), True)


def test_it_is_rendered_only_when_it_is_named() -> None:
    assert all(
        item["spec"]["driver"] != "dra.nvme"
        for item in render(MACHINE, Options("n", Target.of("1.37"))).slices
    )


def test_its_device_classes() -> None:
    """deploy/deviceclass.yaml."""
    plain, vfio = find("dra.nvme").device_classes(Options("node-1", Target.of("1.37")))
    assert [item["metadata"]["name"] for item in (plain, vfio)] == ["dra.nvme", "dra.nvme-vfio"]
    assert plain["spec"] == {"selectors": [{"cel": {"expression": 'device.driver == "dra.nvme"'}}]}
    parameters = {"apiVersion": "nvme.dra.io/v1alpha1", "kind": "NvmeConfig", "mode": "vfio"}
    assert vfio["spec"] == {
        **plain["spec"],
        "config": [{"opaque": {"driver": "dra.nvme", "parameters": parameters}}],
    }
