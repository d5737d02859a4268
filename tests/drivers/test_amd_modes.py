"""gpu.amd.com's partitions and vfio devices: expectations are those of the driver's code, by hand."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from dractl.drivers import Options, find, render
from dractl.errors import UsageError
from dractl.model.releases import Target
from dractl.probes import read
from dractl.topology import Gpu, Machine, NumaNode, PciDevice, SrIov
from dractl.topology.machine import Amdgpu, AmdPartition
from tests import sysfs_trees

NAME = "gpu.amd.com"
BDF = "0000:05:00.0"
PCI = PciDevice(
    BDF, f"pci0000:00/0000:00:01.1/{BDF}", vendor="0x1002", device="0x74a1", kind="gpu", numa_node=1
)
CPX = Gpu(
    bdf=BDF,
    vendor="0x1002",
    source="kfd",
    name="AMD Instinct MI300X OAM",
    memory_bytes=24 << 30,
    driver_version="6.12.12.31400000",
    amd=Amdgpu(
        card_index=1,
        render_minor=128,
        compute_partition="cpx",
        memory_partition="nps4",
        simd_count=152,
        simd_per_cu=4,
        kfd_id="00000000000000ff",
        source_version="ABC",
        partitions=(
            AmdPartition(2, 129, 152, 4, 24 << 30, "00000000000000ff"),
            AmdPartition(3, 130, 152, 4, None, "0000000000000001"),
        ),
    ),
)
SPX = replace(CPX, memory_bytes=192 << 30, amd=Amdgpu(1, 128, "spx", "nps1", 1216, 4))
MACHINE = Machine(pci_devices=(PCI,), numa_nodes=(NumaNode(0), NumaNode(1)), gpus=(CPX,))


def inventory(machine: Machine, version: str = "main", **settings: str) -> Any:
    options = Options("node-1", Target.of("1.37"), {NAME: version}, {NAME: settings})
    return find(NAME).inventory(machine, options)


def test_existing_partitions_are_published() -> None:
    first, second, third = inventory(MACHINE, "1.0.1").devices
    assert [one["name"] for one in (first, second, third)] == [
        "gpu-1-128",
        "gpu-2-129",
        "gpu-3-130",
    ]
    assert (
        first["attributes"]
        == second["attributes"]
        == {
            "type": {"string": "amdgpu-partition"},
            "productName": {"string": "AMD_Instinct_MI300X_OAM"},
            "partitionProfile": {"string": "cpx_nps4"},
            "driverVersion": {"version": "6.12.12"},
            "driverVersionFull": {"string": "6.12.12.31400000"},
            "deviceID": {"string": "0x74a1"},
            "numaNode": {"int": 1},
            "resource.kubernetes.io/pciBusID": {"string": BDF},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
        }
    )
    assert second["capacity"] == {
        "memory": {"value": "24Gi"},
        "computeUnits": {"value": "38"},
        "simdUnits": {"value": "152"},
    }
    assert third["capacity"]["memory"] == {"value": "0"}


def test_partitions_of_2025() -> None:
    """They are found by KFD's unique id, and memory that is unknown is 20Gi."""
    first, second = inventory(MACHINE, "0.1").devices
    assert [one["name"] for one in (first, second)] == ["gpu-1-128", "gpu-2-129"]
    attributes = second["attributes"]
    assert (attributes["parentPciAddr"], attributes["parentDeviceID"]) == (
        {"string": BDF},
        {"string": "255"},
    )
    assert attributes["driverSrcVersion"] == {"string": "ABC"}
    assert "pciAddr" not in attributes
    unknown = replace(MACHINE, gpus=(replace(CPX, memory_bytes=None),))
    assert inventory(unknown, "0.1").devices[0]["capacity"]["memory"] == {"value": "20Gi"}


def test_partitions_of_a_gpu_without_numa_node_are_skipped() -> None:
    nowhere = replace(MACHINE, pci_devices=(replace(PCI, numa_node=None),))
    assert [one["name"] for one in inventory(nowhere).devices] == ["gpu-1-128"]


def test_a_device_for_each_mode() -> None:
    node = replace(MACHINE, gpus=(SPX,))
    devices, counters = inventory(node, autoPartition="true").slices
    assert [one["name"] for one in devices.devices] == [
        "gpu-0-cpx-nps1",
        "gpu-0-cpx-nps4",
        "gpu-0-dpx-nps1",
        "gpu-0-dpx-nps2",
        "gpu-0-qpx-nps1",
        "gpu-0-spx-nps1",
    ]
    assert counters.counter_sets == (
        {"name": "gpu-0-mutex", "counters": {"partition-mode": {"value": "1"}}},
    )
    quarter, whole = devices.devices[4:]
    assert quarter["allowMultipleAllocations"] is True
    assert quarter["capacity"] == {
        "partitions": {"value": "4", "requestPolicy": {"default": "1", "validValues": ["1"]}},
        "memory": {"value": "192Gi", "requestPolicy": {"default": "48Gi", "validValues": ["48Gi"]}},
        "computeUnits": {"value": "304", "requestPolicy": {"default": "76", "validValues": ["76"]}},
        "simdUnits": {"value": "1216", "requestPolicy": {"default": "304", "validValues": ["304"]}},
    }
    assert quarter["attributes"]["type"] == {"string": "amdgpu-partition"}
    assert quarter["attributes"]["pciAddr"] == {"string": BDF}
    assert "partitionProfile" not in quarter["attributes"]
    assert "allowMultipleAllocations" not in whole
    assert whole["capacity"]["partitions"] == {"value": "1"}
    assert whole["attributes"]["type"] == {"string": "amdgpu"}
    assert whole["consumesCounters"] == [
        {"counterSet": "gpu-0-mutex", "counters": {"partition-mode": {"value": "1"}}}
    ]


def test_gpus_without_partitions_keep_their_device() -> None:
    plain = replace(SPX, amd=Amdgpu(0, 128))
    (found,) = inventory(replace(MACHINE, gpus=(plain,)), autoPartition="true").slices
    assert [one["name"] for one in found.devices] == ["gpu-0-128"]


def test_eleven_gpus_in_every_mode() -> None:
    """66 devices and 11 counter sets are more than the API server takes in a slice each."""
    many = [
        (replace(PCI, bdf=f"0000:{n:02x}:00.0"), replace(SPX, bdf=f"0000:{n:02x}:00.0"))
        for n in range(11)
    ]
    node = replace(
        MACHINE, pci_devices=tuple(pci for pci, _ in many), gpus=tuple(gpu for _, gpu in many)
    )
    assert len(inventory(node, autoPartition="true").slices) == 4
    options = Options(
        "node-1", Target.of("1.37"), {NAME: "main"}, {NAME: {"autoPartition": "true"}}
    )
    assert not render(node, options, [NAME]).unpublished


def test_functions_for_virtual_machines() -> None:
    def function(
        bdf: str, driver: str | None, group: int | None, parent: str | None = None
    ) -> PciDevice:
        sriov = SrIov(physical_function=parent) if parent else None
        return replace(PCI, bdf=bdf, driver=driver, iommu_group=group, sriov=sriov)

    functions = (
        function("0000:0a:00.0", "vfio-pci", 9),
        function("0000:0b:00.0", "vfio-pci", 10),
        function("0000:0c:00.0", "vfio-pci", None),
        function("0000:0d:00.0", "gim", 3),
        function("0000:0d:02.0", None, 2, "0000:0d:00.0"),
        function("0000:0d:02.1", "amdgpu", 1, "0000:0d:00.0"),
    )
    found = inventory(Machine(pci_devices=functions), vfioPassthrough="true").devices
    shown = [
        (one["name"], one["attributes"]["pciAddr"]["string"], one["attributes"]["isVF"]["bool"])
        for one in found
    ]
    assert shown == [  # groups are sorted as strings
        ("gpu-vfio-0", "0000:0b:00.0", False),
        ("gpu-vfio-1", "0000:0a:00.0", False),
        ("gpu-vfio-2", "0000:0d:02.0", True),
    ]
    assert found[0]["attributes"]["iommuGroup"] == {"string": "10"}
    assert "capacity" not in found[0]


@pytest.mark.parametrize("version", ["0.1", "1.0.1"])
def test_modes_are_of_no_release_yet(version: str) -> None:
    with pytest.raises(UsageError, match=r"came after 1\.0\.1"):
        inventory(MACHINE, version, autoPartition="true")


def test_partitions_in_sysfs(tmp_path: Any) -> None:
    """amdgpu makes a platform device for each partition that the GPU can have; KFD lists those of the current mode."""
    description = sysfs_trees.describe("mi300x")
    kfd = "sys/class/kfd/kfd/topology/nodes/3"
    description["files"] |= {
        f"{kfd}/properties": "simd_count 152\nsimd_per_cu 4\nlocation_id 9729\ndomain 0\ndrm_render_minor 130\n",
        f"{kfd}/mem_banks/0/properties": "size_in_bytes 25769803776\n",
        "sys/devices/platform/amdgpu_xcp_0/drm/card3/dev": "226:3\n",
        "sys/devices/platform/amdgpu_xcp_0/drm/renderD130/dev": "226:130\n",
        "sys/devices/platform/amdgpu_xcp_1/drm/card4/dev": "226:4\n",
        "sys/devices/platform/amdgpu_xcp_1/drm/renderD131/dev": "226:131\n",
    }
    machine = read(sysfs_trees.build(description, tmp_path))
    gpu = next(gpu for gpu in machine.gpus if gpu.bdf == "0000:26:00.0")
    assert gpu.amd is not None
    assert gpu.amd.partitions == (AmdPartition(3, 130, 152, 4, 24 << 30),)
