"""gpu.amd.com, compute-domain.nvidia.com, gpu.example.com: expectations are those of the drivers' code."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dractl import machines as hardware
from dractl.drivers import Options, find, render
from dractl.errors import UsageError
from dractl.model.releases import Target
from dractl.topology import Gpu, Machine, NumaNode, PciDevice, SrIov
from dractl.topology.machine import Amdgpu, Fabric, Nvidia

BDF = "0000:05:00.0"
PCI = PciDevice(
    BDF, f"pci0000:00/0000:00:01.1/{BDF}", vendor="0x1002", device="0x74a1", kind="gpu", numa_node=0
)
MI300X = Gpu(
    bdf=BDF,
    vendor="0x1002",
    source="kfd",
    name="AMD Instinct MI300X OAM",
    memory_bytes=206141652992,
    driver_version="6.12.12.1",
    amd=Amdgpu(
        1,
        128,
        "spx",
        "nps1",
        1216,
        4,
        "1f2e3d4c5b6a7988",
        "1f2e3d4c5b6a7988",
        "ABC",
        gfx_version=90402,
    ),
)
MACHINE = Machine(pci_devices=(PCI,), numa_nodes=(NumaNode(0),), gpus=(MI300X,))


def options(release: str = "1.37", gates: dict[str, bool] | None = None, **rest) -> Options:
    return Options("node-1", Target.of(release, gates or {}), **rest)


def amd(machine: Machine = MACHINE, version: str | None = None):
    return find("gpu.amd.com").inventory(
        machine, options(versions={"gpu.amd.com": version} if version else {})
    )


def test_an_amd_gpu() -> None:
    assert amd().devices == (
        {
            "name": "gpu-1-128",
            "attributes": {
                "type": {"string": "amdgpu"},
                "productName": {"string": "AMD_Instinct_MI300X_OAM"},
                "driverVersion": {"version": "6.12.12"},
                "partitionProfile": {"string": "spx_nps1"},
                "numaNode": {"int": 0},
                "driverVersionFull": {"string": "6.12.12.1"},
                "deviceID": {"string": "0x74a1"},
                "resource.kubernetes.io/pciBusID": {"string": BDF},
                "resource.kubernetes.io/pcieRoot": {"string": "pci0000:00"},
            },
            "capacity": {
                "memory": {"value": "196592Mi"},
                "computeUnits": {"value": "304"},
                "simdUnits": {"value": "1216"},
            },
        },
    )


@pytest.mark.parametrize(
    ("gfx", "family"), [(90402, {"string": "AI"}), (90500, {"string": "AI"}), (None, None)]
)
def test_amds_family(gfx: int | None, family: dict[str, str] | None) -> None:
    """amdgpu_discovery.c amdgpu_discovery_set_ip_blocks; only the kernel knows it where KFD does not list the GPU."""
    found = amd(
        replace(MACHINE, gpus=(replace(MI300X, amd=replace(MI300X.amd, gfx_version=gfx)),)), "0.1"
    )
    assert found.devices[0]["attributes"].get("family") == family
    assert bool(found.notices) == (family is None)
    assert "family" not in amd(version="1.0.1").devices[0]["attributes"]


def test_amd_gpus_whose_root_is_unknown_have_no_bus_id() -> None:
    """discovery.go getPcieInfo returns neither attribute if it cannot compute the root, as in Hyper-V's guests."""
    elsewhere = replace(PCI, path=f"LNXSYSTM:00/VMBUS:00/pci0000:00/{BDF}", pcie_root=None)
    (device,) = amd(replace(MACHINE, pci_devices=(elsewhere,))).devices
    assert not [name for name in device["attributes"] if name.startswith("resource.kubernetes.io/")]


def test_amd_without_numa() -> None:
    """amdgpu.go leaves a GPU out whose numa_node it cannot read, a file of kernels with CONFIG_NUMA."""
    found = amd(replace(MACHINE, numa_nodes=()))
    assert found.devices == ()
    assert "NUMA" in found.left_out[BDF]


def test_amd_before_and_after() -> None:
    (old,) = amd(version="0.1").devices
    assert old["attributes"]["pciAddr"] == {"string": BDF}
    assert old["attributes"]["deviceID"] == {"string": "2246800662264969608"}
    assert "resource.kubernetes.io/pciBusID" not in old["attributes"]
    (new,) = amd(version="main").devices
    assert new["attributes"]["resource.kubernetes.io/numaNode"] == {"int": 0}


@pytest.mark.parametrize(
    ("gpu", "word"),
    [
        (replace(MI300X, amd=None), "no card"),
        (
            replace(MI300X, amd=replace(MI300X.amd, memory_partition=None)),
            "only one of its two partition files",
        ),
        (
            replace(MI300X, source="pci", amd=replace(MI300X.amd, compute_partition="cpx")),
            "KFD does not list it",
        ),
    ],
)
def test_unpublished_amd_gpus_have_a_reason(gpu: Gpu, word: str) -> None:
    found = amd(replace(MACHINE, gpus=(gpu,)))
    assert found.devices == ()
    assert word in found.left_out[BDF]


@pytest.mark.parametrize(("version", "memory"), [("0.1", "80Gi"), ("1.0.1", "0")])
def test_amd_driver_publishes_defaults_for_missing_facts(version: str, memory: str) -> None:
    """deviceinfo.go GetDevice, discovery.go getMemoryBytes: numaNode -1, and numbers of its own without KFD."""
    without = replace(
        MI300X,
        source="pci",
        name="MI300X (rev1)",
        amd=replace(MI300X.amd, simd_count=None, simd_per_cu=None),
    )
    nowhere = replace(MACHINE.pci_devices[0], numa_node=None)
    (device,) = amd(replace(MACHINE, gpus=(without,), pci_devices=(nowhere,)), version).devices
    assert device["attributes"].get("numaNode") == (None if version == "0.1" else {"int": -1})
    assert device["attributes"]["productName"] == {"string": "MI300X_rev1"}
    assert device["capacity"] == {
        "memory": {"value": memory},
        "computeUnits": {"value": "0"},
        "simdUnits": {"value": "0"},
    }
    (unnamed,) = amd(replace(MACHINE, gpus=(replace(MI300X, name=None),))).devices
    assert unnamed["attributes"]["productName"] == {"string": ""}


FOUR_PARTS = "6.19.14.31400000"


@pytest.mark.parametrize(
    ("version", "driver"), [(FOUR_PARTS, "0.1"), (FOUR_PARTS, "v1.0.0"), (None, "0.1")]
)
def test_invalid_amd_driver_version_leaves_the_slice_unpublished(
    version: str | None, driver: str
) -> None:
    """Up to 1.0.0 the module's version is published as it is (ROCm/gpu-operator#609)."""
    node = replace(MACHINE, gpus=(replace(MI300X, driver_version=version),))
    asked = options(versions={"gpu.amd.com": driver})
    assert (
        "attributes[driverVersion].version"
        in render(node, asked, ["gpu.amd.com"]).unpublished["gpu.amd.com"]
    )
    assert not render(node, options(), ["gpu.amd.com"]).unpublished


def test_no_daemon_where_the_host_manages_imex() -> None:
    """driver.go, computeDomainPublishedDevices; the gate came with 0.5 (#1236)."""
    driver = "compute-domain.nvidia.com"
    chosen = Options(
        "node-1", Target.of("1.37"), {driver: "0.5"}, {driver: {"HostManagedIMEXDaemon": "true"}}
    )
    inventory = find(driver).inventory(hardware.machine("dgx-h100"), chosen)
    assert [device["name"] for device in inventory.devices] == ["channel-0"]


def test_compute_domains_are_rendered_for_every_node_with_nvidia_gpus() -> None:
    """The chart has the plugin on by default (values.yaml resources.computeDomains), with a fabric or without."""
    profile = find("compute-domain.nvidia.com")
    assert profile.present(Machine(gpus=(Gpu(bdf=BDF, vendor="0x10de"),)))
    assert not profile.present(Machine(gpus=(Gpu(bdf=BDF, vendor="0x1002"),)))
    (item,) = render(Machine(), options(), ["compute-domain.nvidia.com"]).slices
    assert item["spec"]["devices"] == [
        {"name": "channel-0", "attributes": {"type": {"string": "channel"}, "id": {"int": 0}}},
        {"name": "daemon-0", "attributes": {"type": {"string": "daemon"}, "id": {"int": 0}}},
    ]


CLUSTER = "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf"
HOPPER = Gpu(
    bdf=BDF, vendor="0x10de", source="nvml", health="ok", fabric=Fabric("completed", CLUSTER, 7)
)


@pytest.mark.parametrize(
    ("gpus", "nvidia", "version", "settings", "reason"),
    [
        ((HOPPER, HOPPER), Nvidia("580.65.06"), "0.4", {}, None),
        ((replace(HOPPER, health="lost"),), Nvidia("580.65.06"), "0.1", {}, "is lost"),
        ((HOPPER,), Nvidia(failure="DRIVER_NOT_LOADED"), "0.4", {}, "kernel driver is not loaded"),
        # validateDriverVersionForIMEXDaemonsWithDNSNames
        ((HOPPER,), Nvidia("570.158.01"), "0.4", {}, None),
        ((HOPPER,), Nvidia("570.124.06"), "0.2", {}, "570.124.06 is older than 570.158.01"),
        ((HOPPER,), Nvidia("570.124.06"), "0.4", {"IMEXDaemonsWithDNSNames": "false"}, None),
        ((HOPPER,), Nvidia("570.124.06"), "0.1", {}, None),
        # getCliqueIDStrict, and getCliqueIDLegacy without the gate or before it
        (
            (replace(HOPPER, fabric=Fabric("in-progress")),),
            None,
            "0.3",
            {},
            "not registered with its NVLink fabric",
        ),
        ((replace(HOPPER, fabric=Fabric("in-progress")),), None, "0.2", {}, None),
        (
            (replace(HOPPER, fabric=Fabric("not-started")),),
            None,
            "0.4",
            {"CrashOnNVLinkFabricErrors": "false"},
            None,
        ),
        (
            (HOPPER, replace(HOPPER, fabric=Fabric("completed", CLUSTER, 8))),
            None,
            "0.4",
            {},
            "several NVLink cliques",
        ),
        (
            (HOPPER, replace(HOPPER, fabric=Fabric("completed", "b", 7))),
            None,
            "0.1",
            {},
            "several NVLink clusters",
        ),
        (
            (HOPPER, replace(HOPPER, fabric=Fabric("completed"))),
            None,
            "0.4",
            {},
            None,
        ),  # HGX: a cluster of zeros
    ],
)
def test_where_compute_domains_do_not_start(
    gpus: tuple[Gpu, ...],
    nvidia: Nvidia | None,
    version: str,
    settings: dict[str, str],
    reason: str | None,
) -> None:
    name = "compute-domain.nvidia.com"
    asked = options(versions={name: version}, settings={name: settings})
    found = render(Machine(gpus=gpus, nvidia=nvidia), asked, [name])
    assert (found.unpublished == {}) if reason is None else (reason in found.unpublished[name])
    assert bool(found.slices) is (reason is None)


def example(release: str = "1.37", gates: dict[str, bool] | None = None, **settings: str):
    found = render(
        Machine(),
        options(release, gates, settings={"gpu.example.com": settings}),
        ["gpu.example.com"],
    )
    return [item["spec"] for item in found.slices]


def test_the_example_driver() -> None:
    (spec,) = example()
    assert [device["name"] for device in spec["devices"]] == [
        f"gpu-{number}" for number in range(8)
    ]
    assert spec["devices"][3] == {
        "name": "gpu-3",
        "attributes": {
            "index": {"int": 3},
            "model": {"string": "LATEST-GPU-MODEL"},
            "driverVersion": {"version": "1.0.0"},
        },
        "capacity": {"memory": {"value": "80Gi"}, "compute": {"value": "100"}},
        "allowMultipleAllocations": False,
    }
    assert not find("gpu.example.com").present(MACHINE)


def test_partitions_with_counters() -> None:
    counters, devices = example(numDevices="2", partitionsPerGPU="4")
    assert "devices" not in counters
    assert counters["sharedCounters"][1] == {
        "name": "gpu-1-counters",
        "counters": {"memory": {"value": "80Gi"}, "compute": {"value": "100"}},
    }
    assert {spec["pool"]["resourceSliceCount"] for spec in (counters, devices)} == {2}
    part = devices["devices"][1]
    assert part["name"] == "gpu-0-partition-1"
    assert part["consumesCounters"] == [
        {
            "counterSet": "gpu-0-counters",
            "counters": {"memory": {"value": "20Gi"}, "compute": {"value": "25"}},
        }
    ]
    assert len(devices["devices"]) == 10


def test_counters_and_limits() -> None:
    """gpu.go EnumerateDevices: one slice of counter sets and one of devices, however many there are."""
    specs = example(numDevices="8", partitionsPerGPU="4")
    assert [len(spec.get("sharedCounters", ())) for spec in specs] == [8, 0]
    assert [len(spec.get("devices", ())) for spec in specs] == [0, 40]


@pytest.mark.parametrize(
    ("release", "settings", "message"),
    [
        ("1.37", {"numDevices": "9", "partitionsPerGPU": "1"}, "spec.sharedCounters: Too many: 9"),
        ("1.37", {"numDevices": "8", "partitionsPerGPU": "8"}, "spec.devices: Too many: 72"),
        (
            "1.34",
            {"numDevices": "1", "partitionsPerGPU": "1"},
            "counterSet",
        ),  # counters and devices are apart
        # seen with kube-apiserver 1.37: requestPolicy.validRange.step: value is not a multiple of a given step (1Gi)
        (
            "1.37",
            {"allowMultipleAllocations": "true", "partitionsPerGPU": "3"},
            "multiple of a given step (1Gi)",
        ),
    ],
)
def test_invalid_slice_of_the_example_driver_is_unpublished(
    release: str, settings: dict[str, str], message: str
) -> None:
    target = Target.of(release, {"DRAPartitionableDevices": True, "DRAConsumableCapacity": True})
    options = Options("node-1", target, settings={"gpu.example.com": settings})
    found = render(Machine(), options, ["gpu.example.com"])
    assert found.slices == ()
    assert message in found.unpublished["gpu.example.com"]


def test_binding_conditions() -> None:
    device = example(numDevices="1", bindingConditions="true")[0]["devices"][0]
    assert device["bindingConditions"] == ["BindingConditions"]
    assert device["bindingFailureConditions"] == ["BindingFailureConditions"]


def test_shared_capacity() -> None:
    device = example(numDevices="1", allowMultipleAllocations="true")[0]["devices"][0]
    assert device["allowMultipleAllocations"] is True
    assert device["capacity"]["memory"]["requestPolicy"] == {
        "default": "80Gi",
        "validRange": {"min": "1Gi", "step": "1Gi", "max": "80Gi"},
    }


@pytest.mark.parametrize(
    "settings",
    [
        {"numDevices": "x"},
        {"numDevices": "9999"},
        {"allowMultipleAllocations": "yes"},
        {"partitionsPerGPU": "-1"},
    ],
)
def test_settings_of_the_example_driver(settings: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        example(**settings)


FLEX = PciDevice(
    "0000:3a:00.0",
    "pci0000:38/0000:38:01.0/0000:3a:00.0",
    class_code="0x038000",
    vendor="0x8086",
    device="0x56c0",
    driver="i915",
    kind="gpu",
    names=("card1", "renderD128"),
    sriov=SrIov(total_vfs=31, drivers_autoprobe=True),
)


def intel(*functions: PciDevice, **settings: str):
    asked = options(settings={"gpu.intel.com": settings})
    return find("gpu.intel.com").inventory(Machine(pci_devices=functions), asked).devices


def test_an_intel_gpu() -> None:
    assert intel(FLEX) == (
        {
            "name": "0000-3a-00-0-0x56c0",
            "attributes": {
                "model": {"string": "Flex 170"},
                "family": {"string": "Data Center Flex"},
                "driver": {"string": "i915"},
                "sriov": {"bool": True},
                "type": {"string": "gpu"},
                "pciId": {"string": "0x56c0"},
                "pciAddress": {"string": "0000:3a:00.0"},
                "pciRoot": {"string": "38"},
                "health": {"string": "Unknown"},
                "resource.kubernetes.io/pciBusID": {"string": "0000:3a:00.0"},
                "resource.kubernetes.io/pcieRoot": {"string": "pci0000:38"},
            },
            "capacity": {"millicores": {"value": "1k"}},
        },
    )


def test_intel_gpus_without_graphics_driver() -> None:
    (unbound,) = intel(replace(FLEX, driver=None))
    assert "taints" not in unbound
    (unbound,) = intel(replace(FLEX, driver=None), manageBinding="false")
    assert unbound["taints"] == [{"key": "UnboundUnmanaged", "effect": "NoSchedule"}]
    assert unbound["capacity"]["memory"] == {"value": "0"}
    passthrough = replace(FLEX, driver="vfio-pci", names=(), vfio=("vfio0",), iommu_group=7)
    (passed,) = intel(passthrough)
    assert "taints" not in passed
    assert passed["capacity"]["memory"] == {"value": "0"}
    assert intel(replace(passthrough, vfio=())) == ()  # kernels before 6.6
    assert intel(replace(passthrough, vfio=("vfio0", "vfio1"))) == ()
    assert intel(replace(passthrough, iommu_group=None)) == ()
    assert intel(replace(FLEX, names=("renderD128",))) == ()  # bound, but without card
    assert intel(replace(FLEX, driver="vfio-pci", device="0x1234")) == ()
    (unknown,) = intel(
        replace(FLEX, driver="xe", device="0x1234", path="LNXSYSTM:00/x/0000:3a:00.0")
    )
    assert unknown["attributes"]["model"] == {"string": "Unknown"}
    assert unknown["attributes"]["resource.kubernetes.io/pcieRoot"] == {
        "string": ""
    }  # so does the driver
    (virtual,) = intel(replace(FLEX, sriov=SrIov(physical_function="0000:3a:00.0")))
    assert (virtual["attributes"]["type"], virtual["attributes"]["sriov"]) == (
        {"string": "vf"},
        {"bool": False},
    )


def test_nics_of_the_example_driver() -> None:
    """internal/profiles/net/net.go."""
    asked = options(settings={"net.example.com": {"numDevices": "2"}})
    first, second = find("net.example.com").inventory(Machine(), asked).devices
    assert (first["name"], second["name"]) == ("nic-0", "nic-1")
    assert second["attributes"] == {
        "index": {"int": 1},
        "model": {"string": "LATEST-NET-MODEL"},
        "driverVersion": {"version": "1.0.0"},
    }
    assert second["capacity"]["vfs"] == {
        "value": "100",
        "requestPolicy": {"default": "1", "validValues": ["1"]},
    }
    assert second["capacity"]["egressBandwidth"]["requestPolicy"]["validRange"]["min"] == "100M"


@pytest.mark.parametrize(
    ("version", "release", "field"),
    [
        ("0.4", "1.36", "nodeAllocatableResourceMappings"),
        ("0.4", "1.37", None),
        ("0.5", "1.36", None),
        ("0.5", "1.37", "nodeAllocatableResources"),
    ],
)
def test_cpus_of_the_example_driver(version: str, release: str, field: str | None) -> None:
    """internal/profiles/cpu/cpu.go of v0.4.0 maps by the field of 1.36, v0.5.0 by that of 1.37 (#262): under a
    gate that is off by default.
    """
    target = Target.of(release, {"DRANodeAllocatableResources": True})
    asked = Options("node-1", target, {"cpu.example.com": version})
    (item,) = render(Machine(), asked, ["cpu.example.com"]).slices
    device = item["spec"]["devices"][7]
    assert device["name"] == "numa-7"
    assert device["attributes"] == {"numaNodeID": {"int": 7}}
    key = "cpu.example.com/cpu"
    assert device["capacity"] == {key: {"value": "4"}}
    mappings = {
        "nodeAllocatableResourceMappings": {"cpu": {"capacityKey": key}},
        "nodeAllocatableResources": {
            "cpu": {"mapping": {"capacityKey": key, "capacityMultiplier": "1"}}
        },
    }
    for name, mapping in mappings.items():
        assert device.get(name) == (mapping if name == field else None)


@pytest.mark.parametrize("number", ["-1", "513", "x", "\u0663", "9" * 5000])
def test_numbers_of_example_devices(number: str) -> None:
    asked = options(settings={"net.example.com": {"numDevices": number}})
    with pytest.raises(UsageError, match="numDevices must be a number from 0 to 512"):
        find("net.example.com").inventory(Machine(), asked)


def test_intel_gpus_of_0_10() -> None:
    """gpu-v0.10.1: GPUs bound to i915 or xe alone, without type, and models that it knows."""
    asked = options(versions={"gpu.intel.com": "0.10"})
    newer = replace(
        FLEX, bdf="0000:3b:00.0", device="0xe20b", driver="xe", path="LNXSYSTM:00/x/0000:3b:00.0"
    )
    unbound = replace(FLEX, bdf="0000:3c:00.0", driver=None)
    arc = replace(FLEX, bdf="0000:3d:00.0", device="0x56b1")
    found = find("gpu.intel.com").inventory(Machine(pci_devices=(FLEX, newer, unbound, arc)), asked)
    flex, unknown, pro = (device["attributes"] for device in found.devices)
    assert (pro["model"], pro["family"]) == (
        {"string": "A40/A50"},
        {"string": "Arc Pro"},
    )  # ModelDetails
    assert "type" not in flex
    assert (flex["model"], flex["pciRoot"]) == ({"string": "Flex 170"}, {"string": "38"})
    assert (unknown["model"], unknown["pciRoot"]) == ({"string": "Unknown"}, {"string": "00"})
    assert unknown["resource.kubernetes.io/pcieRoot"] == {"string": "LNXSYSTM:00"}
    assert list(found.left_out) == ["0000:3c:00.0"]
    (only,) = find("gpu.intel.com").device_classes(asked)
    assert only["metadata"]["name"] == "gpu.intel.com"


def test_other_hardware_than_intel_gpus_needs_no_reason() -> None:
    """Only GPUs that the driver does not publish have a reason for it."""
    other = replace(FLEX, bdf="0000:3e:00.0", vendor="0x10de", driver="nvidia")
    nic = replace(FLEX, bdf="0000:3f:00.0", class_code="0x020000", kind="network", driver="ice")
    found = find("gpu.intel.com").inventory(Machine(pci_devices=(FLEX, other, nic)), options())
    assert len(found.devices) == 1
    assert found.left_out == {}
