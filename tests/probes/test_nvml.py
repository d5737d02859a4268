"""NVML through pynvml's own ctypes path, against the tests' library."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.probes.nvml import profile_name
from dractl.topology import snapshot
from dractl.topology.levels import nearest
from dractl.topology.machine import Fabric, Gpu, Machine
from tests import nvml, sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path

# In NVML's order, which need not be that of the addresses.
BUS_IDS = "0000:19:00.0,0000:1a:00.0,0000:3b:00.0,0000:3c:00.0,0000:9b:00.0,0000:9c:00.0,0000:bb:00.0,0000:bc:00.0"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return nvml.build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sysfs_trees.build(sysfs_trees.describe("plx-8gpu"), tmp_path_factory.mktemp("tree"))


def by_bdf(machine: Machine) -> dict[str | None, Gpu]:
    return {g.bdf: g for g in machine.gpus}


def about(machine: Machine, subject: str) -> str:
    return " ".join(note.message for note in machine.notes if note.about == subject)


def test_eight_gpus(tree: Path, library: Path) -> None:
    machine = nvml.probe(tree, library, bus_ids=BUS_IDS)
    assert [g.bdf for g in machine.gpus] == BUS_IDS.split(",")
    assert machine.nvidia is not None
    assert (machine.nvidia.driver_version, machine.nvidia.cuda_driver_version) == (
        "580.65.06",
        "13.0",
    )
    gpu = machine.gpus[1]
    assert (gpu.index, gpu.minor, gpu.uuid) == (1, 6, "GPU-00000000-0000-0000-0000-000000000001")
    assert (gpu.name, gpu.brand, gpu.architecture) == ("NVIDIA H100 80GB HBM3", "Nvidia", "Hopper")
    assert (gpu.cuda_compute_capability, gpu.memory_bytes) == ("9.0", 81559 << 20)
    assert (gpu.addressing_mode, gpu.ecc, gpu.module_id, gpu.memory_numa_node) == (
        "HMM",
        True,
        2,
        None,
    )
    assert (gpu.source, gpu.partial, gpu.health, gpu.mig_mode) == ("nvml", False, "ok", None)
    assert not about(machine, "nvml")


def test_nvmls_own_distances_stand_beside_those_of_sysfs(tree: Path, library: Path) -> None:
    machine = nvml.probe(tree, library, bus_ids=BUS_IDS)
    told = {(x.a, x.b): x.level for x in machine.links if x.kind == "pcie"}
    assert told["0000:19:00.0", "0000:1a:00.0"] == "PIX"
    assert told["0000:19:00.0", "0000:3b:00.0"] == "SYS"  # sysfs: NODE
    pairs = [
        (p["level"], p["source"])
        for p in snapshot.to_json(machine)["affinity"]
        if (p["a"], p["b"]) == ("0000:19:00.0", "0000:3b:00.0")
    ]
    assert pairs == [("NODE", "sysfs"), ("SYS", "nvml")]


def test_nvlinks_to_switches(tree: Path, library: Path) -> None:
    machine = nvml.probe(tree, library, bus_ids=BUS_IDS, links="switch")
    assert nearest(machine)["0000:19:00.0", "0000:bc:00.0"] == "NV18"
    cluster = "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf"
    assert machine.gpus[0].fabric == Fabric("completed", cluster, 7)


def test_gpus_with_twice_as_many_nvlinks(tree: Path, library: Path) -> None:
    machine = nvml.probe(tree, library, bus_ids=BUS_IDS, links="switch36")
    assert nearest(machine)["0000:19:00.0", "0000:bc:00.0"] == "NV36"


def test_nvlinks_between_gpus(tree: Path, library: Path) -> None:
    """A ring: two links to the next GPU, two to the one before."""
    machine = nvml.probe(tree, library, bus_ids=BUS_IDS, links="mesh")
    best = nearest(machine)
    assert best["0000:19:00.0", "0000:1a:00.0"] == "NV2"
    assert best["0000:19:00.0", "0000:bc:00.0"] == "NV2"
    assert not best["0000:19:00.0", "0000:3b:00.0"].startswith("NV")


def test_mig_off_knows_the_profiles(tree: Path, library: Path) -> None:
    gpu = nvml.probe(tree, library, bus_ids=BUS_IDS, mig="off").gpus[0]
    assert (gpu.mig_mode, gpu.mig_devices) == (False, ())
    by_id = {p.id: p for p in gpu.mig_profiles}
    assert {i: p.name for i, p in by_id.items()} == {
        19: "1g.10gb",
        20: "1g.10gb+me",
        15: "1g.20gb",
        14: "2g.20gb",
        9: "3g.40gb",
        5: "4g.40gb",
        0: "7g.80gb",
    }
    assert [p.start for p in by_id[14].placements] == [0, 2, 4]
    assert (by_id[0].multiprocessors, by_id[0].memory_bytes) == (132, 81152 << 20)


def test_mig_on(tree: Path, library: Path) -> None:
    machine = nvml.probe(tree, library, bus_ids=BUS_IDS, mig="on")
    gpu = machine.gpus[0]
    assert gpu.mig_mode is True
    assert [
        (d.profile, d.profile_id, d.placement.start, d.placement.size) for d in gpu.mig_devices
    ] == [("3g.40gb", 9, 0, 4), ("1g.10gb", 19, 4, 1)]
    assert [d.compute_slices for d in gpu.mig_devices] == [3, 1]
    assert [d.uuid[:4] for d in gpu.mig_devices] == ["MIG-", "MIG-"]
    assert machine.gpus[1].mig_mode is False


def test_mig_on_without_devices_and_mig_pending_are_noted(tree: Path, library: Path) -> None:
    empty = nvml.probe(tree, library, bus_ids=BUS_IDS, mig="empty")
    assert "no MIG devices" in about(empty, "0000:19:00.0")
    pending = nvml.probe(tree, library, bus_ids=BUS_IDS, mig="pending")
    assert "becomes on when the GPU is reset" in about(pending, "0000:19:00.0")


def test_a_lost_gpu_hides_no_other(tree: Path, library: Path) -> None:
    machine = nvml.probe(tree, library, bus_ids=BUS_IDS, lost=3)
    gpus = by_bdf(machine)
    assert [b for b, g in gpus.items() if g.health == "ok"] == [
        b for b in BUS_IDS.split(",") if b != "0000:3c:00.0"
    ]
    # NVML does not say which one it lost; PCI still lists it.
    assert (gpus["0000:3c:00.0"].health, gpus["0000:3c:00.0"].source) == ("lost", "pci")
    assert "GPU_IS_LOST" in about(machine, "NVML GPU 3")


def test_a_gpu_lost_while_it_is_asked_hides_no_other(tree: Path, library: Path) -> None:
    machine = nvml.probe(tree, library, bus_ids=BUS_IDS, lost_late=5)
    gpus = by_bdf(machine)
    assert (gpus["0000:9c:00.0"].health, gpus["0000:9c:00.0"].partial) == ("lost", True)
    assert sum(g.health == "ok" for g in gpus.values()) == 7


@pytest.mark.parametrize(
    ("code", "message", "failure"),
    [
        (9, "kernel driver is not loaded", "DRIVER_NOT_LOADED"),
        (18, "different versions", "LIB_RM_VERSION_MISMATCH"),
        (4, "/dev/nvidia* are missing or not accessible", None),  # this process's fault, perhaps
        (999, "Unknown Error", None),
    ],
)
def test_nvml_failing_to_start_leaves_the_facts_of_pci(
    tree: Path, library: Path, code: int, message: str, failure: str | None
) -> None:
    machine = nvml.probe(tree, library, bus_ids=BUS_IDS, init=code)
    assert (machine.nvidia.failure if machine.nvidia else None) == failure
    assert not about(machine, "0000:19:00.0")
    assert message in about(machine, "nvml")
    assert [(g.bdf, g.partial, g.uuid) for g in machine.gpus] == [
        (b, True, None) for b in BUS_IDS.split(",")
    ]


def test_no_library(tree: Path) -> None:
    machine = nvml.probe(tree, None)
    assert "libnvidia-ml.so.1 is not installed" in about(machine, "nvml")
    assert len(machine.gpus) == 8
    assert all(g.partial for g in machine.gpus)


def test_a_machine_without_nvidia_gpus_says_nothing_about_nvml(tmp_path: Path) -> None:
    machine = nvml.probe(sysfs_trees.build(sysfs_trees.describe("vmd"), tmp_path), None)
    assert not about(machine, "nvml")


def test_unsupported_memory_is_absent_and_noted(tree: Path, library: Path) -> None:
    machine = nvml.probe(tree, library, bus_ids=BUS_IDS, refuse="nvmlDeviceGetMemoryInfo")
    assert machine.gpus[0].memory_bytes is None
    assert machine.gpus[0].partial is False  # nothing is wrong with it: GB10 is such a GPU
    assert "drivers publish no capacity" in about(machine, "0000:19:00.0")


def test_an_old_driver_lacks_functions(tree: Path, tmp_path: Path) -> None:
    old = nvml.build(tmp_path / "old", "-DOLD_DRIVER")
    machine = nvml.probe(tree, old, bus_ids=BUS_IDS)
    assert all(g.health == "ok" and g.addressing_mode is None for g in machine.gpus)
    assert "addressing mode" in about(machine, "nvml")


@pytest.mark.parametrize(
    "function", ["nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetMinorNumber"]
)
def test_a_refused_fact_is_absent_and_noted(tree: Path, library: Path, function: str) -> None:
    machine = nvml.probe(tree, library, bus_ids=BUS_IDS, refuse=function, refuse_with=4)
    assert all(g.partial for g in machine.gpus)
    assert "NO_PERMISSION" in about(machine, "0000:19:00.0")


@pytest.mark.parametrize(
    ("function", "code", "mig", "refused"),
    [
        # getGpuInfo takes NOT_SUPPORTED (3) for an answer, and no other error.
        ("nvmlDeviceGetMemoryInfo", 4, "off", ("memory (NO_PERMISSION)", None)),
        ("nvmlDeviceGetMemoryInfo", 3, "off", (None, None)),
        ("nvmlDeviceGetAddressingMode", 2, "off", ("addressing mode (INVALID_ARGUMENT)", None)),
        ("nvmlDeviceGetGpuInstanceProfileInfoV", 2, "off", (None, None)),
        ("nvmlDeviceGetGpuInstanceProfileInfoV", 999, "off", ("MIG profiles (UNKNOWN)", None)),
        # getMigDevices takes none.
        (
            "nvmlDeviceGetGpuInstanceId",
            3,
            "on",
            (None, "GPU instance of a MIG device (NOT_SUPPORTED)"),
        ),
        (
            "nvmlDeviceGetMaxMigDeviceCount",
            3,
            "on",
            (None, "number of MIG devices (NOT_SUPPORTED)"),
        ),
        ("nvmlGpuInstanceGetInfo", 3, "on", (None, "GPU instance (NOT_SUPPORTED)")),
    ],
)
def test_errors_fatal_to_the_driver_are_recorded(
    tree: Path,
    library: Path,
    function: str,
    code: int,
    mig: str,
    refused: tuple[str | None, str | None],
) -> None:
    machine = nvml.probe(tree, library, bus_ids=BUS_IDS, mig=mig, refuse=function, refuse_with=code)
    assert (machine.gpus[0].refused, machine.gpus[0].mig_refused) == refused


def test_brands_and_architectures_newer_than_dractl(tree: Path, library: Path) -> None:
    machine = nvml.probe(tree, library, bus_ids="0000:19:00.0", brand=42, architecture=42)
    assert (machine.gpus[0].brand, machine.gpus[0].architecture) == (None, None)
    assert "brand 42 is newer than dractl" in about(machine, "0000:19:00.0")


def test_memory_of_a_grace_gpu_is_a_numa_node(tmp_path: Path, library: Path) -> None:
    tree = sysfs_trees.build(sysfs_trees.describe("grace-hopper"), tmp_path)
    machine = nvml.probe(tree, library, bus_ids="0009:01:00.0", memory_node=1)
    assert machine.gpus[0].memory_numa_node == 1
    assert machine.pci["0009:01:00.0"].numa_node == 0
    assert {n.id: n.memory_kind for n in machine.numa_nodes}[1] == "gpu"


# What the drivers' documentation and KEP-4815 call the profiles of an A100 40GB (40536 MiB).
@pytest.mark.parametrize(
    ("slices", "mib", "name"),
    [
        (1, 4864, "1g.5gb"),
        (1, 9856, "1g.10gb"),
        (2, 9856, "2g.10gb"),
        (3, 19968, "3g.20gb"),
        (7, 40192, "7g.40gb"),
    ],
)
def test_profile_names(slices: int, mib: int, name: str) -> None:
    assert profile_name(slices, mib, 40536 << 20) == name
