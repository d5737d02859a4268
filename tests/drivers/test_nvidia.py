"""gpu.nvidia.com. Expectations: the driver's code (cmd/gpu-kubelet-plugin) and slices shown in its issues."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dractl.drivers import Options, find, render
from dractl.errors import UsageError
from dractl.machines import machine as drawn
from dractl.model.releases import Target
from dractl.topology import Gpu, Machine, MigDevice, MigProfile, Nvidia, PciDevice
from dractl.topology.machine import Placement

BDF = "0000:1b:00.0"
PCI = PciDevice(
    BDF, f"pci0000:17/0000:17:01.0/{BDF}", vendor="0x10de", kind="gpu", driver="nvidia", numa_node=1
)
H100 = Gpu(
    bdf=BDF,
    vendor="0x10de",
    source="nvml",
    partial=False,
    health="ok",
    index=0,
    minor=3,
    uuid="GPU-1",
    name="NVIDIA H100 80GB HBM3",
    brand="Nvidia",
    architecture="Hopper",
    cuda_compute_capability="9.0",
    memory_bytes=85520809984,
    addressing_mode="HMM",
)
DRIVER = Nvidia(driver_version="580.65.06", cuda_driver_version="13.0")


def machine(*gpus: Gpu, pci: PciDevice = PCI, nvidia: Nvidia | None = DRIVER) -> Machine:
    return Machine(pci_devices=(pci,), gpus=gpus, nvidia=nvidia)


def inventory(node: Machine, version: str | None = None, **settings: str):
    versions = {"gpu.nvidia.com": version} if version else {}
    options = Options("node-1", Target.of("1.37"), versions, settings={"gpu.nvidia.com": settings})
    return find("gpu.nvidia.com").inventory(node, options)


def test_a_full_gpu() -> None:
    (device,) = inventory(machine(H100)).devices
    assert device == {
        "name": "gpu-3",  # the minor number, not NVML's index
        "attributes": {
            "type": {"string": "gpu"},
            "uuid": {"string": "GPU-1"},
            "productName": {"string": "NVIDIA H100 80GB HBM3"},
            "brand": {"string": "Nvidia"},
            "architecture": {"string": "Hopper"},
            "cudaComputeCapability": {"version": "9.0.0"},
            "driverVersion": {"version": "580.65.6"},  # semver forbids 06
            "cudaDriverVersion": {"version": "13.0.0"},
            "addressingMode": {"string": "HMM"},
            "resource.kubernetes.io/pciBusID": {"string": BDF},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:17"},
            "resource.kubernetes.io/numaNode": {"int": 1},
        },
        "capacity": {"memory": {"value": "81559Mi"}},
    }


@pytest.mark.parametrize(
    ("version", "there", "gone"),
    [
        (
            "v25.3.0",
            {"minor", "index", "pcieBusID"},
            {"addressingMode", "resource.kubernetes.io/pciBusID"},
        ),
        ("25.8.1", {"pcieBusID"}, {"minor", "index", "addressingMode"}),
        ("25.12.0", {"resource.kubernetes.io/pciBusID", "addressingMode"}, {"pcieBusID"}),
        ("0.4.1", {"resource.kubernetes.io/pciBusID"}, {"resource.kubernetes.io/numaNode"}),
        ("v0.5.0-dev", {"resource.kubernetes.io/numaNode"}, {"pcieBusID"}),
        ("0.9", {"resource.kubernetes.io/numaNode"}, set()),
    ],
)
def test_attributes_by_version(version: str, there: set[str], gone: set[str]) -> None:
    (device,) = inventory(machine(H100), version).devices
    names = set(device["attributes"])
    assert there <= names
    assert not gone & names


def test_the_bus_id_before_it_was_standardized() -> None:
    """go-nvlib v0.8.1 GetPCIBusID cuts NVML's domain to four digits, as in tests/data/slices/eks-t4.yaml."""
    (device,) = inventory(machine(H100), "25.8").devices
    assert device["attributes"]["pcieBusID"] == {"string": "0000:1b:00.0"}


@pytest.mark.parametrize("version", ["24.1", "latest", "", "1"])
def test_unknown_versions_are_refused(version: str) -> None:
    with pytest.raises(UsageError):
        find("gpu.nvidia.com").inventory(
            machine(H100), Options("n", Target.of("1.37"), {"gpu.nvidia.com": version})
        )


def test_unknown_values_are_absent() -> None:
    bare = replace(H100, memory_bytes=None, addressing_mode=None)
    pci = replace(PCI, path=f"LNXSYSTM:00/VMBUS:00/pci0001:00/{BDF}", numa_node=None)
    (device,) = inventory(machine(bare, pci=pci, nvidia=None), "0.5").devices
    assert "capacity" not in device  # GB10: NVML reports no memory
    assert not {
        "addressingMode",
        "driverVersion",
        "resource.kubernetes.io/numaNode",
        "resource.kubernetes.io/pcieRoot",  # Hyper-V: the drivers' helper library fails
    } & set(device["attributes"])


def test_a_gpu_known_from_pci_alone_is_partial() -> None:
    found = inventory(machine(Gpu(bdf=BDF, vendor="0x10de"), nvidia=None))
    (device,) = found.devices
    assert device == {
        "name": "gpu-0",
        "attributes": {
            "type": {"string": "gpu"},
            "resource.kubernetes.io/pciBusID": {"string": BDF},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:17"},
            "resource.kubernetes.io/numaNode": {"int": 1},
        },
    }
    assert "minor number" in found.comments["gpu-0"]
    assert any("known from PCI alone" in notice for notice in found.notices)


def test_gpu_unlisted_by_nvml_is_not_published() -> None:
    other = "0000:1c:00.0"
    node = Machine(
        pci_devices=(PCI, replace(PCI, bdf=other, path=f"pci0000:17/{other}")),
        gpus=(replace(H100, minor=0), Gpu(bdf=other, vendor="0x10de")),
        nvidia=DRIVER,
    )
    found = inventory(node)
    assert [device["name"] for device in found.devices] == ["gpu-0"]
    assert found.left_out == {other: "NVML does not list this GPU"}


@pytest.mark.parametrize(
    ("gpu", "nvidia", "version", "reason"),
    [
        (replace(H100, health="lost"), DRIVER, "0.4", f"GPU {BDF} is lost"),
        (replace(H100, health="reset-required"), DRIVER, "0.4", "RESET_REQUIRED"),
        (H100, replace(DRIVER, unreachable=1), "0.4", "1 GPU is out of NVML's reach"),
        (replace(H100, uuid=None), DRIVER, "0.4", "no UUID"),
        (replace(H100, minor=None), DRIVER, "0.4", "no minor number"),
        (replace(H100, brand=None), DRIVER, "0.4", "no brand that the driver knows"),
        (replace(H100, architecture=None), DRIVER, "0.4", "no architecture that the driver knows"),
        (
            replace(H100, architecture="Rubin"),
            DRIVER,
            "0.4",
            "Rubin, is newer than this version of the driver",
        ),
        (replace(H100, memory_bytes=None), DRIVER, "0.3", "versions before 0.4 need"),
        (replace(H100, bdf="10000:01:00.0"), DRIVER, "0.4", "more than four digits"),
        (H100, replace(DRIVER, driver_version=None), "0.4", "the driver version"),
        (replace(H100, bdf="0000:ee:00.0"), DRIVER, "0.1", "the PCIe root"),
        (
            replace(H100, refused="memory (NO_PERMISSION)"),
            DRIVER,
            "0.4",
            f"GPU {BDF}: memory (NO_PERMISSION)",
        ),
        (
            replace(H100, mig_mode=True, mig_refused="GPU instance (X)"),
            DRIVER,
            "0.4",
            "MIG devices of GPU",
        ),
        (
            H100,
            Nvidia(failure="DRIVER_NOT_LOADED"),
            "0.4",
            "the NVIDIA kernel driver is not loaded",
        ),
        (H100, Nvidia(failure="LIB_RM_VERSION_MISMATCH"), "0.4", "have different versions"),
    ],
)
def test_one_refused_fact_ends_the_driver(
    gpu: Gpu, nvidia: Nvidia, version: str, reason: str
) -> None:
    """Errors of getGpuInfo and VisitDevices end the enumeration, and with it the driver."""
    found = inventory(
        machine(gpu, replace(H100, bdf="0000:1d:00.0", minor=5), nvidia=nvidia), version
    )
    assert found.devices == ()
    assert found.unpublished is not None
    assert found.unpublished.startswith("it does not start: ")
    assert reason in found.unpublished


@pytest.mark.parametrize(("gpu", "version"), [("Rubin", "0.5"), ("Hopper", "0.4")])
def test_gpus_of_known_architectures_are_published(gpu: str, version: str) -> None:
    assert len(inventory(machine(replace(H100, architecture=gpu)), version).devices) == 1


def test_gpu_absent_from_sysfs_is_published_without_a_root() -> None:
    """nvlib.go: pciBusID is NVML's own, pcieRoot is left out with a warning."""
    (device,) = inventory(Machine(gpus=(H100,), nvidia=DRIVER)).devices
    assert device["attributes"]["resource.kubernetes.io/pciBusID"] == {"string": BDF}
    assert "resource.kubernetes.io/pcieRoot" not in device["attributes"]


@pytest.mark.parametrize(("version", "extended"), [("0.2", None), ("0.3", "nvidia.com/gpu")])
def test_the_extended_resource_came_with_25_12(version: str, extended: str | None) -> None:
    options = Options("n", Target.of("1.37"), {"gpu.nvidia.com": version})
    gpu, *_ = find("gpu.nvidia.com").device_classes(options)
    assert gpu["spec"].get("extendedResourceName") == extended


@pytest.mark.parametrize(
    ("gpu", "pci", "word"),
    [
        (Gpu(bdf=BDF, vendor="0x10de"), replace(PCI, driver="vfio-pci"), "vfio-pci"),
        (replace(H100, mig_mode=True), PCI, "MIG"),
    ],
)
def test_unpublished_gpus_have_a_reason(gpu: Gpu, pci: PciDevice, word: str) -> None:
    found = inventory(machine(gpu, pci=pci))
    assert found.devices == ()
    assert word in found.left_out[BDF]


def test_display_adapters_of_dgx_stations_and_other_vendors_are_left_out() -> None:
    amd = Gpu(bdf="0000:03:00.0", vendor="0x1002")
    assert inventory(machine(replace(H100, name="NVIDIA DGX Display"), amd)).devices == ()
    assert not find("gpu.nvidia.com").present(Machine(gpus=(amd,)))


PROFILES = (
    MigProfile(19, "1g.5gb", 1, 4864 << 20, 14, 1, 0, 0, 0, 0),
    MigProfile(20, "1g.5gb+me", 1, 4864 << 20, 14, 1, 1, 0, 1, 1),
)


def test_mig_devices() -> None:
    gpu = replace(
        H100,
        minor=0,
        mig_mode=True,
        mig_profiles=PROFILES,
        mig_devices=(
            MigDevice("MIG-a", "1g.5gb", 19, Placement(0, 1), 7, 0),
            MigDevice("MIG-b", "1g.5gb+me", 20, Placement(3, 1), 8, 0),
        ),
    )
    first, second = inventory(machine(gpu)).devices
    assert (first["name"], second["name"]) == ("gpu-0-mig-1g5gb-19-0", "gpu-0-mig-1g5gb-me-20-3")
    assert first["attributes"]["type"] == {"string": "mig"}
    assert first["attributes"]["parentUUID"] == {"string": "GPU-1"}
    assert first["attributes"]["profile"] == {"string": "1g.5gb"}
    assert second["capacity"] == {
        "multiprocessors": {"value": "14"},
        "copyEngines": {"value": "1"},
        "decoders": {"value": "1"},
        "encoders": {"value": "0"},
        "jpegEngines": {"value": "1"},
        "ofaEngines": {"value": "1"},
        "memory": {"value": "4864Mi"},
        "memorySlice3": {"value": "1"},
    }
    older, _ = inventory(machine(gpu), "25.8").devices
    assert older["name"] == "gpu-0-mig-19-0-1"


def test_device_classes() -> None:
    classes = find("gpu.nvidia.com").device_classes(Options("n", Target.of("1.37")))
    assert [item["metadata"]["name"] for item in classes] == [
        "gpu.nvidia.com",
        "mig.nvidia.com",
        "vfio.gpu.nvidia.com",
    ]
    assert classes[0]["spec"] == {
        "selectors": [
            {
                "cel": {
                    "expression": "device.driver == 'gpu.nvidia.com' && "
                    "device.attributes['gpu.nvidia.com'].type == 'gpu'"
                }
            }
        ],
        "extendedResourceName": "nvidia.com/gpu",
    }


# --- DynamicMIG --------------------------------------------------------------------------------------------------

DYNAMIC = {"gpu.nvidia.com": {"dynamicMIG": "true"}}


def dynamic(spec: str, release: str = "1.37", gates: dict[str, bool] | None = None):
    target = Target.of(release, gates or {})
    return render(drawn(spec), Options("node-1", target, settings=DYNAMIC), ["gpu.nvidia.com"])


def test_partitions_of_an_a100_in_mig_mode() -> None:
    found = dynamic("2xA100-40GB,mig=on")
    counters, first, second = (item["spec"] for item in found.slices)
    assert [item["name"] for item in counters["sharedCounters"]] == [
        "gpu-0-counter-set",
        "gpu-1-counter-set",
    ]
    # KEP 4815's example of an A100 40GB: the sum of a GPU is the most that any profile has
    amounts = {
        name: item["value"] for name, item in counters["sharedCounters"][0]["counters"].items()
    }
    assert amounts == {
        "multiprocessors": "98",
        "copy-engines": "7",
        "decoders": "5",
        "encoders": "0",
        "jpeg-engines": "1",
        "ofa-engines": "1",
        "memory": "40192Mi",
        **{f"memory-slice-{number}": "1" for number in range(8)},
    }
    names = [device["name"] for device in first["devices"]]
    assert len(names) == 7 + 7 + 4 + 3 + 2 + 1 + 1
    assert names == sorted(names)
    assert not [
        name for name in names if name == "gpu-0"
    ]  # an Ampere GPU in MIG mode is not whole any more
    assert {device["name"].split("-")[1] for device in second["devices"]} == {"1"}
    part = next(device for device in first["devices"] if device["name"] == "gpu-0-mig-3g20gb-9-4")
    assert "uuid" not in part["attributes"]
    assert part["attributes"]["profile"] == {"string": "3g.20gb"}
    assert part["capacity"]["memory"] == {"value": "19968Mi"}
    assert not [name for name in part["capacity"] if name.startswith("memorySlice")]
    (use,) = part["consumesCounters"]
    assert use["counterSet"] == "gpu-0-counter-set"
    assert [name for name in use["counters"] if "slice" in name] == [
        f"memory-slice-{number}" for number in range(4, 8)
    ]


def test_partitions_publish_nothing_in_place_of_unknown_counts() -> None:
    """No source has memory and multiprocessors of an H20's instances (mig.json)."""
    counters, node = (item["spec"] for item in dynamic("H20,mig=on").slices)
    (counter_set,) = counters["sharedCounters"]
    assert {"memory", "multiprocessors"}.isdisjoint(counter_set["counters"])
    assert counter_set["counters"]["decoders"] == {"value": "7"}
    part = next(one for one in node["devices"] if one["name"] == "gpu-0-mig-1g12gb-19-0")
    assert set(part["capacity"]) == {
        *("copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines")
    }


def test_partitions_consume_the_counters_of_their_gpu() -> None:
    """Validation of a ResourceSlice refuses a device that consumes a counter its set lacks. A
    GB200's 3g.93gb has no known memory, and a GH200 144GB's whole GPU has none.
    """
    for product in ("GB200", "GH200-144GB", "B300"):
        counters, node = (item["spec"] for item in dynamic(f"{product},mig=on").slices)
        (counter_set,) = counters["sharedCounters"]
        for device in node["devices"]:
            (use,) = device["consumesCounters"]
            assert set(use["counters"]) <= set(counter_set["counters"])


def test_dynamic_mig_of_a_gpu_without_profiles() -> None:
    """partitions.go PartSharedCounterSets: such a GPU is whole and has no counters."""
    gpu = replace(H100, minor=0, mig_mode=True, mig_profiles=())
    options = Options("node-1", Target.of("1.37"), {"gpu.nvidia.com": "0.5"}, DYNAMIC)
    found = find("gpu.nvidia.com").inventory(machine(gpu), options)
    assert [(one["name"], "consumesCounters" in one) for one in found.devices] == [("gpu-0", False)]
    assert found.counter_sets == ()


def test_dynamic_mig_panics_on_a_vgpu_with_mig_devices() -> None:
    """partitions.go PartGetDevice panics on a MigStaticDeviceType, which only a vGPU has with the gate on."""
    mig = MigDevice("MIG-1", "3g.40gb", PROFILES[0].id, Placement(0, 1), 1, 0)
    gpu = replace(
        H100, mig_mode=True, mig_profiles=PROFILES[:1], mig_devices=(mig,), virtualization="vgpu"
    )
    on = Options("node-1", Target.of("1.37"), {"gpu.nvidia.com": "0.5"}, DYNAMIC)
    assert "panic" in str(find("gpu.nvidia.com").inventory(machine(gpu), on).unpublished)
    assert inventory(machine(gpu)).unpublished is None


def test_hopper_keeps_the_whole_gpu_beside_its_partitions() -> None:
    gpu = replace(
        H100,
        minor=0,
        mig_mode=False,
        mig_profiles=(replace(PROFILES[0], placements=(Placement(0, 1),)),),
    )
    options = Options("node-1", Target.of("1.37"), settings=DYNAMIC)
    found = find("gpu.nvidia.com").inventory(machine(gpu), options)
    whole, part = found.devices
    assert (whole["name"], part["name"]) == ("gpu-0", "gpu-0-mig-1g5gb-19-0")
    assert whole["capacity"]["memory"] == {
        "value": "4864Mi"
    }  # the largest profile's, not the GPU's
    assert whole["consumesCounters"][0]["counters"] == found.counter_sets[0]["counters"]


def test_an_a100_without_mig_mode_stays_whole() -> None:
    """generateSplitResourceSlices: the slice of counter sets is there, and empty; the GPU has a slice of its own."""
    found = dynamic("A100-40GB")
    counters, item = found.slices
    assert not {"devices", "sharedCounters"} & counters["spec"].keys()
    assert [device["name"] for device in item["spec"]["devices"]] == ["gpu-0"]
    assert "consumesCounters" not in item["spec"]["devices"][0]
    assert any("dynamicMIG changes nothing" in notice for notice in found.notices)


def test_a_vgpu_is_not_partitioned() -> None:
    gpu = replace(H100, mig_mode=False, mig_profiles=PROFILES[:1], virtualization="vgpu")
    found = find("gpu.nvidia.com").inventory(
        machine(gpu), Options("n", Target.of("1.37"), settings=DYNAMIC)
    )
    assert [device["name"] for device in found.devices] == ["gpu-3"]
    assert found.counter_sets == ()


def test_partitions_need_the_virtualization_mode_and_no_mig_device() -> None:
    """isDynamicMIGCapable ends where NVML refuses the mode; where it does not, nobody asks for MIG devices."""
    gpu = replace(
        H100, mig_mode=True, mig_profiles=PROFILES[:1], mig_refused="GPU instance (NOT_SUPPORTED)"
    )
    assert inventory(machine(gpu), "0.4", dynamicMIG="true").unpublished is None
    unknown = replace(gpu, virtualization="unknown")
    assert "virtualization mode" in (
        inventory(machine(unknown), "0.4", dynamicMIG="true").unpublished or ""
    )
    assert inventory(machine(replace(unknown, mig_mode=False)), "0.4").unpublished is None


def test_a_compute_instance_smaller_than_its_gpu_instance_ends_the_driver() -> None:
    """getMigDevices: only profiles whose compute instance is the whole GPU instance are known."""
    mig = MigDevice(
        "MIG-1", "3g.40gb", PROFILES[0].id, Placement(0, 1), 1, 0, compute_slices=PROFILES[0].slices
    )
    gpu = replace(H100, mig_mode=True, mig_profiles=PROFILES[:1], mig_devices=(mig,))
    assert inventory(machine(gpu)).unpublished is None
    part = replace(mig, compute_slices=PROFILES[0].slices + 1)
    assert "a compute instance of" in str(
        inventory(machine(replace(gpu, mig_devices=(part,)))).unpublished
    )


def test_counters_beside_their_devices_in_1_34() -> None:
    found = dynamic("2xA100-40GB,mig=on", "1.34", {"DRAPartitionableDevices": True})
    assert [len(item["spec"]["sharedCounters"]) for item in found.slices] == [1, 1]
    assert all(len(item["spec"]["devices"]) == 25 for item in found.slices)


@pytest.mark.parametrize(("setting", "version"), [("yes", "0.4"), ("true", "25.8")])
def test_impossible_dynamic_mig_is_refused(setting: str, version: str) -> None:
    options = Options(
        "n",
        Target.of("1.37"),
        {"gpu.nvidia.com": version},
        {"gpu.nvidia.com": {"dynamicMIG": setting}},
    )
    with pytest.raises(UsageError):
        find("gpu.nvidia.com").inventory(machine(H100), options)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v25.3.2", "25.3"),
        ("0.1", "25.3"),  # dractl's former name
        ("25.12.0", "25.12"),
        ("26.4.0-dev", "0.4"),
        ("0.4.1", "0.4"),
        ("v25.10.0", "25.8"),
        ("0.9", "0.5"),
    ],
)
@pytest.mark.parametrize("driver", ["gpu.nvidia.com", "compute-domain.nvidia.com"])
def test_names_of_a_version(driver: str, text: str, version: str) -> None:
    catalogue = find(driver).catalogue
    assert catalogue.versions[catalogue.index(text)] == version


def test_known_version_stands_in_for_an_unknown_one() -> None:
    catalogue = find("gpu.nvidia.com").catalogue
    given = ("v25.3.2", "0.1", "26.4", "main", None, "v25.10.0", "26.8", "0.9")
    assert [catalogue.stand_in(text) for text in given] == [None] * 5 + ["25.8", "0.4", "0.5"]


def test_a_tag_of_intel() -> None:
    catalogue = find("gpu.intel.com").catalogue
    assert catalogue.versions[catalogue.index("gpu-v0.10.1")] == "0.10"
