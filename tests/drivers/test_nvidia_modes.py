"""gpu.nvidia.com with PassthroughSupport and with --consumable-shares.

Expectations: kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/{nvlib,deviceinfo}.go,
consumable_shares_test.go, deviceinfo_test.go; NVIDIA/go-nvlib, pkg/nvpci.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from dractl import probes
from dractl.drivers import Inventory, Options, find
from dractl.errors import UsageError
from dractl.machines import machine as drawn
from dractl.model.releases import Target
from dractl.topology import Gpu, Host, Machine, MigDevice, MigProfile, NumaNode, PciDevice, SrIov
from dractl.topology.machine import Placement
from tests import sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path

NAME = "gpu.nvidia.com"
MIB, GIB = 1 << 20, 1 << 30


def inventory(machine: Machine, version: str, **settings: str) -> Inventory:
    return find(NAME).inventory(
        machine, Options("node-1", Target.of("1.37"), {NAME: version}, {NAME: settings})
    )


# --- passthrough -------------------------------------------------------------------------------------------------


def function(bdf: str, **facts: Any) -> PciDevice:
    known = {
        "class_code": "0x030200",
        "vendor": "0x10de",
        "device": "0x20b0",
        "numa_node": 0,
        "driver": "vfio-pci",
    }
    return PciDevice(bdf, f"pci0000:64/{bdf}", **{**known, **facts})


# An A100 40GB: 16 MiB of registers, 64 GiB and 32 MiB with 64-bit addresses.
A100 = function(
    "0000:65:00.0", bars=(16 * MIB, 64 * GIB, 32 * MIB), bars_64bit=(64 * GIB, 32 * MIB)
)
MACHINE = Machine(
    host=Host(iommu=True, iommufd=True),
    numa_nodes=(NumaNode(0, "0-7"),),
    pci_devices=(A100,),
    gpus=(Gpu("0000:65:00.0", "0x10de"),),
)


def test_a_gpu_for_passthrough() -> None:
    """The names and types are those of site/content/docs/reference/resourceslice-attributes.md, "VFIO passthrough";
    its example's device name, uuid and productName are not what the code writes.
    """
    assert inventory(MACHINE, "0.4.1", passthroughSupport="true").devices == (
        {
            "name": "gpu-vfio-0",
            "attributes": {
                "type": {"string": "vfio"},
                # uuid.NewSHA1(uuid.NameSpaceDNS, "0000:65:00.0"): a UUID of version 5
                "uuid": {"string": "8533fd84-02c8-5350-bd10-3cf08fc7bcd0"},
                "deviceID": {"string": "0x20b0"},
                "vendorID": {"string": "0x10de"},
                "productName": {"string": "GA100 [A100 SXM4 40GB]"},
                "iommuFDEnabled": {"bool": True},
                "resource.kubernetes.io/pciBusID": {"string": "0000:65:00.0"},
                "resource.kubernetes.io/pcieRoot": {"string": "pci0000:64"},
                "numa": {"int": 0},
            },
            "capacity": {"addressableMemory": {"value": "128Gi"}},
        },
    )


def test_its_numa_node_became_the_standard_one() -> None:
    """TestVfioDeviceIncludesStandardNumaNode; before, -1 was published as it is."""
    third = replace(MACHINE, pci_devices=(replace(A100, numa_node=3),))
    nowhere = replace(MACHINE, pci_devices=(replace(A100, numa_node=None),))
    standard = "resource.kubernetes.io/numaNode"
    for machine, version, name, value in (
        (third, "0.5", standard, {"int": 3}),
        (third, "0.5", "numa", None),
        (nowhere, "0.5", standard, None),
        (nowhere, "0.4", "numa", {"int": -1}),
    ):
        (device,) = inventory(machine, version, passthroughSupport="true").devices
        assert device["attributes"].get(name) == value


def test_every_gpu_is_numbered_by_its_address() -> None:
    """GetGPUs: VGA and 3D controllers that are no virtual functions; the number does not depend on the driver."""
    functions = (
        function("0000:17:00.0", class_code="0x030000", driver="nvidia"),
        function("0000:17:00.1", class_code="0x040300"),
        function("0000:65:00.0"),
        function("0000:65:00.4", sriov=SrIov(physical_function="0000:65:00.0", vf_index=0)),
        function("0000:66:00.0", vendor="0x1002"),
        function("0000:67:00.0", class_code="0x068000"),
        function("0000:ca:00.0", driver=None),
    )
    found = inventory(
        replace(MACHINE, pci_devices=functions, gpus=()), "0.4", passthroughSupport="true"
    )
    buses = {
        d["name"]: d["attributes"]["resource.kubernetes.io/pciBusID"]["string"]
        for d in found.devices
    }
    assert buses == {
        "gpu-vfio-0": "0000:17:00.0",
        "gpu-vfio-1": "0000:65:00.0",
        "gpu-vfio-2": "0000:ca:00.0",
    }


def test_passthrough_needs_a_kernel_with_numa() -> None:
    """nvpci getNvidiaDeviceByPciBusID reads numa_node, which kernels without CONFIG_NUMA lack."""
    found = inventory(replace(MACHINE, numa_nodes=()), "0.4", passthroughSupport="true")
    assert found.devices == ()
    assert "the kernel knows none" in (found.unpublished or "")


@pytest.mark.parametrize(
    ("version", "aliases", "starts"),
    [("0.5", False, False), ("0.5", None, True), ("0.4", False, True)],
)
def test_passthrough_needs_the_aliases_of_modules(
    version: str, aliases: bool | None, starts: bool
) -> None:
    """nvpassthrough FindBestVFIOVariant reads /lib/modules/RELEASE/modules.alias, since 0.5."""
    node = replace(MACHINE, host=replace(MACHINE.host, kernel="6.8.0", module_aliases=aliases))
    found = inventory(node, version, passthroughSupport="true")
    assert (found.unpublished is None) == starts
    assert starts or "/lib/modules/6.8.0/modules.alias" in str(found.unpublished)
    assert (
        inventory(replace(node, pci_devices=()), "0.5", passthroughSupport="true").unpublished
        is None
    )


def test_a_gpu_is_there_twice_until_one_of_them_is_prepared() -> None:
    found = inventory(drawn("2xH100"), "0.4", passthroughSupport="true")
    assert [device["name"] for device in found.devices] == [
        "gpu-0",
        "gpu-1",
        "gpu-vfio-0",
        "gpu-vfio-1",
    ]
    assert found.comments["gpu-vfio-0"] == (
        "unknown here: iommuFDEnabled; no 64-bit BAR is known here, so addressableMemory is 0"
    )


def test_passed_through_gpu_has_the_name_of_pci_ids() -> None:
    """go-nvlib pkg/pciids NewDB: a pci.ids that is installed wins over its own; the driver's image has none."""
    installed = replace(MACHINE, pci_devices=(replace(A100, installed_name="GA100[A100]"),))
    nobody = replace(MACHINE, pci_devices=(replace(A100, device="0xfffe"),))
    for machine, settings, name in (
        (installed, {}, "GA100[A100]"),
        (installed, {"pciIDs": "embedded"}, "GA100 [A100 SXM4 40GB]"),
        (nobody, {}, "UNKNOWN_DEVICE"),
    ):
        (device,) = inventory(machine, "0.4", passthroughSupport="true", **settings).devices
        assert device["attributes"]["productName"] == {"string": name}


def test_regions_of_memory_are_read_off_a_tree(tmp_path: Path) -> None:
    machine = probes.read(sysfs_trees.build(sysfs_trees.describe("plx-8gpu"), tmp_path))
    assert machine.pci["0000:19:00.0"].bars_64bit == (128 * GIB,)
    by_bus = {
        device["attributes"]["resource.kubernetes.io/pciBusID"]["string"]: device.get("capacity")
        for device in inventory(machine, "0.4", passthroughSupport="true").devices
        if device["name"].startswith("gpu-vfio")
    }
    assert len(by_bus) == 8
    assert by_bus["0000:19:00.0"] == {"addressableMemory": {"value": "128Gi"}}


def test_versions_and_nodes_without_passthrough() -> None:
    """enumerateGpuPciDevices of v25.12.0 looks for parents in a map that it has just made, and so finds none."""
    early = inventory(MACHINE, "25.12.0", passthroughSupport="true")
    assert early.devices == ()
    assert any("finds no vfio device" in notice for notice in early.notices)
    plain = inventory(MACHINE, "0.4")
    assert plain.devices == ()
    assert plain.left_out == {
        "0000:65:00.0": "bound to vfio-pci, not to nvidia: the driver does not see this GPU"
    }
    # cmd/gpu-kubelet-plugin/vfio-device.go: "IOMMU is not enabled in the kernel"
    off = inventory(
        replace(drawn("H100"), host=Host(iommu=False)), "0.4", passthroughSupport="true"
    )
    assert off.devices == ()
    assert (
        off.unpublished
        == "it does not start: passthroughSupport needs an IOMMU, and none is enabled"
    )


# --- shares ------------------------------------------------------------------------------------------------------

FULL = Gpu(
    "0000:65:00.0",
    "0x10de",
    "nvml",
    minor=0,
    uuid="GPU-1",
    name="NVIDIA T4",
    brand="Tesla",
    architecture="Turing",
    cuda_compute_capability="7.5",
    memory_bytes=16 * GIB,
)


def device_with_sharing(gpu: Gpu, **settings: str) -> dict[str, Any]:
    (device,) = inventory(Machine(gpus=(gpu,)), "0.5", **settings).devices
    return device


@pytest.mark.parametrize(
    ("shares", "memory", "size", "default", "least", "count"),
    [
        ("unlimited", 16 * GIB, "16Gi", "0", "0", None),
        ("unlimited", 10 * MIB + 500, "10Mi", "0", "0", None),  # "unaligned memory rounds down max"
        ("memory", 16 * GIB, "16Gi", "16Gi", "1Mi", None),
        ("4", 16 * GIB, "16Gi", "0", "0", "4"),
    ],
)
def test_shares(
    shares: str, memory: int, size: str, default: str, least: str, count: str | None
) -> None:
    """TestApplyConsumableShares."""
    device = device_with_sharing(replace(FULL, memory_bytes=memory), consumableShares=shares)
    assert device["allowMultipleAllocations"] is True
    policy = {"default": default, "validRange": {"min": least, "max": size, "step": "1Mi"}}
    assert device["capacity"]["memory"] == {"value": size, "requestPolicy": policy}
    if count is None:
        assert "shares" not in device["capacity"]
    else:
        policy = {"default": "1", "validRange": {"min": "1", "max": count, "step": "1"}}
        assert device["capacity"]["shares"] == {"value": count, "requestPolicy": policy}


@pytest.mark.parametrize("settings", [{}, {"consumableShares": "disabled"}])
def test_without_shares(settings: dict[str, str]) -> None:
    device = device_with_sharing(FULL, **settings)
    assert "allowMultipleAllocations" not in device
    assert device["capacity"] == {"memory": {"value": "16Gi"}}


def test_a_gpu_without_memory_of_its_own_has_no_shares() -> None:
    """applyConsumableShares ends where there is no capacity memory."""
    device = device_with_sharing(replace(FULL, memory_bytes=None), consumableShares="4")
    assert device["allowMultipleAllocations"] is True
    assert "capacity" not in device


def test_mig_devices_are_shared_and_vfio_devices_are_not() -> None:
    profile = MigProfile(19, "1g.5gb", 1, 4864 * MIB, 14, 1, 0, 0, 0, 0)
    mig = MigDevice("MIG-1", "1g.5gb", 19, Placement(0, 1), 7, 0)
    gpu = replace(FULL, mig_mode=True, mig_profiles=(profile,), mig_devices=(mig,))
    machine = replace(MACHINE, gpus=(gpu,))
    slice_, vfio = inventory(
        machine, "0.5", consumableShares="2", passthroughSupport="true"
    ).devices
    assert slice_["allowMultipleAllocations"] is True
    assert slice_["capacity"]["shares"]["value"] == "2"
    assert slice_["capacity"]["memorySlice0"] == {"value": "1"}
    assert "allowMultipleAllocations" not in vfio


@pytest.mark.parametrize(
    ("version", "settings"),
    [
        ("0.5", {"consumableShares": "0"}),  # main_test.go: "0", "-2" and "invalid" are refused
        ("0.5", {"consumableShares": "-2"}),
        ("0.5", {"consumableShares": "invalid"}),
        ("0.4", {"consumableShares": "4"}),
        ("0.5", {"passthroughSupport": "yes"}),
        ("0.2", {"passthroughSupport": "true"}),
        ("0.5", {"passthroughSupport": "true", "dynamicMIG": "true"}),  # ValidateFeatureGates
    ],
)
def test_settings_refused_by_the_driver_are_refused(version: str, settings: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        inventory(MACHINE, version, **settings)
