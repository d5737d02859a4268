"""dra.cpu. Expectations are those of the driver's code (pkg/device/builder.go) on small machines."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dractl.drivers import Options, find
from dractl.errors import UsageError
from dractl.model.releases import Target
from dractl.topology import Core, Cpus, Host, Machine, PciDevice
from dractl.topology.machine import CacheGroup, PcieRoot

# Two sockets of two cores with two threads: 0,4 1,5 | 2,6 3,7.
CORES = tuple(
    Core(package=core // 2, id=core % 2, cpus=f"{core},{core + 4}", numa_node=core // 2)
    for core in range(4)
)
MACHINE = Machine(
    cpus=Cpus(
        online="0-7", smt=True, cores=CORES, l3=(CacheGroup(0, "0-1,4-5"), CacheGroup(1, "2-3,6-7"))
    ),
    pci_devices=(
        PciDevice(
            "0000:17:00.0", "pci0000:17/0000:17:00.0", pcie_root="pci0000:17", local_cpus="0-1,4-5"
        ),
        PciDevice(
            "0000:65:00.0", "pci0000:65/0000:65:00.0", pcie_root="pci0000:65", local_cpus="2-3,6-7"
        ),
        PciDevice(
            "10000:e1:00.0",
            "pci0000:65/0000:65:05.5/pci10000:e0/x",
            pcie_root="pci10000:e0",
            local_cpus="2-3,6-7",
        ),
    ),
)


def devices(version: str | None = None, machine: Machine = MACHINE, **settings: str):
    options = Options(
        "node-1",
        Target.of("1.37"),
        {"dra.cpu": version} if version else {},
        {"dra.cpu": settings} if settings else {},
    )
    return find("dra.cpu").inventory(machine, options).devices


def test_one_device_a_numa_node() -> None:
    first, second = devices()
    assert first == {
        "name": "cpudevnuma000",
        "attributes": {
            "dra.cpu/numCPUs": {"int": 4},
            "dra.cpu/smtEnabled": {"bool": True},
            "dra.cpu/socketID": {"int": 0},
            "dra.cpu/numaNodeID": {"int": 0},
            "dra.net/numaNode": {"int": 0},
        },
        "capacity": {"dra.cpu/cpu": {"value": "4"}},
        "allowMultipleAllocations": True,
    }
    assert second["name"] == "cpudevnuma001"
    assert second["attributes"]["dra.cpu/socketID"] == {"int": 1}


def test_the_standard_numa_attribute_came_after_0_2() -> None:
    assert "resource.kubernetes.io/numaNode" not in devices("0.2.0")[0]["attributes"]
    assert devices("main")[1]["attributes"]["resource.kubernetes.io/numaNode"] == {"int": 1}


def test_other_groups() -> None:
    assert [
        (d["name"], d["capacity"]["dra.cpu/cpu"]["value"]) for d in devices(groupBy="socket")
    ] == [("cpudevsocket000", "4"), ("cpudevsocket001", "4")]
    (whole,) = devices(groupBy="machine")
    assert whole["name"] == "cpudevmachine"
    assert set(whole["attributes"]) == {"dra.cpu/numCPUs", "dra.cpu/smtEnabled"}


def test_reserved_cpus_are_not_published() -> None:
    first, second = devices(reservedCPUs="0,4-5")
    assert first["attributes"]["dra.cpu/numCPUs"] == {"int": 1}
    assert second["capacity"] == {"dra.cpu/cpu": {"value": "4"}}
    assert [d["name"] for d in devices(reservedCPUs="0-1,4-5")] == ["cpudevnuma001"]


def test_one_device_a_cpu_siblings_together() -> None:
    found = devices(mode="individual")
    assert [d["attributes"]["dra.cpu/cpuID"]["int"] for d in found] == [0, 4, 1, 5, 2, 6, 3, 7]
    assert found[3] == {
        "name": "cpudev003",
        "attributes": {
            "dra.cpu/cpuID": {"int": 5},
            "dra.cpu/coreID": {"int": 1},
            "dra.cpu/socketID": {"int": 0},
            "dra.cpu/cacheL3ID": {"int": 0},
            "dra.cpu/coreType": {"string": "standard"},
            "dra.cpu/smtEnabled": {"bool": True},
            "dra.cpu/numaNodeID": {"int": 0},
            "dra.net/numaNode": {"int": 0},
        },
    }
    left = devices(mode="individual", reservedCPUs="4")
    assert [d["attributes"]["dra.cpu/cpuID"]["int"] for d in left] == [0, 1, 5, 2, 6, 3, 7]


def test_pcie_roots_near_the_cpus_are_a_list_without_nested_roots() -> None:
    roots = [
        d["attributes"]["resource.kubernetes.io/pcieRoot"] for d in devices(exposePCIeRoots="true")
    ]
    assert roots == [{"strings": ["pci0000:17"]}, {"strings": ["pci0000:65"]}]


@pytest.mark.parametrize(
    "settings",
    [{"groupBy": "core"}, {"mode": "x"}, {"reservedCPUs": "1-"}, {"exposePCIeRoots": "yes"}],
)
def test_unknown_settings_of_the_driver_are_refused(settings: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        devices(**settings)


def test_thousands_of_cpus_are_written_as_go_writes_them() -> None:
    many = Machine(cpus=Cpus(smt=False, cores=tuple(Core(0, n, str(n), 0) for n in range(2000))))
    assert devices(machine=many)[0]["capacity"]["dra.cpu/cpu"] == {"value": "2k"}


def machine_with_cpus(**facts) -> Machine:
    return replace(MACHINE, cpus=replace(MACHINE.cpus, **facts))


def test_a_cpu_without_l3_has_cache_minus_1() -> None:
    """cpuinfo.go GetCPUInfos: UncoreCacheID is -1 until an L3 cache is found."""
    assert devices(machine=machine_with_cpus(l3=()), mode="individual")[0]["attributes"][
        "dra.cpu/cacheL3ID"
    ] == {"int": -1}


@pytest.mark.parametrize(
    "cpus",
    [
        {"cores": (replace(CORES[0], package=-1), *CORES[1:])},  # POWER LPARs
        {"cores": (replace(CORES[0], numa_node=None), *CORES[1:])},
        {"cores": (replace(CORES[0], id=-1), *CORES[1:])},
        {"uncached": "0,4"},
    ],
)
def test_cpus_of_incomplete_topology_are_skipped(cpus: dict[str, object]) -> None:
    """populateTopologyInfo; the machine as one group is all online CPUs all the same (builder.go)."""
    machine = machine_with_cpus(**cpus)
    assert {d["attributes"]["dra.cpu/cpuID"]["int"] for d in devices(machine=machine, mode="individual")} == {
        1, 2, 3, 5, 6, 7,
    }  # fmt: skip
    assert devices(machine=machine)[0]["attributes"]["dra.cpu/numCPUs"] == {"int": 2}
    assert devices(machine=machine, groupBy="machine")[0]["attributes"]["dra.cpu/numCPUs"] == {
        "int": 8
    }


def test_the_machine_is_published_without_any_cpu() -> None:
    (device,) = devices(groupBy="machine", reservedCPUs="0-7")
    assert device["capacity"]["dra.cpu/cpu"] == {"value": "0"}
    assert devices(reservedCPUs="0-7") == ()


def test_threads_are_paired_by_package_cluster_and_core_id() -> None:
    """populateCpuSiblings knows pairs; where core_id repeats in a package, or with SMT4, CPUs stand alone."""

    def order(*cores: Core) -> list[int]:
        machine = machine_with_cpus(online="0-3", cores=cores, l3=())
        return [
            d["attributes"]["dra.cpu/cpuID"]["int"]
            for d in devices(machine=machine, mode="individual")
        ]

    assert order(Core(0, 0, "0,2", 0), Core(0, 1, "1,3", 0)) == [0, 2, 1, 3]
    assert order(Core(0, 0, "0-3", 0)) == [0, 1, 2, 3]  # SMT4
    assert order(
        Core(0, 0, "0", 0), Core(0, 1, "1", 0), Core(0, 0, "2", 1), Core(0, 1, "3", 1)
    ) == [0, 2, 1, 3]
    apart = (
        Core(0, 0, "0", 0, cluster=0),
        Core(0, 1, "1", 0),
        Core(0, 0, "2", 1, cluster=1),
        Core(0, 2, "3", 1),
    )
    assert order(*apart) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("control", "smt"), [("on", True), ("OFF", False), ("notsupported", False), ("odd", True)]
)
def test_smt_control(control: str, smt: bool) -> None:
    """IsSMTEnabled: for another word there are more CPUs than cores, or not."""
    found = devices(machine=machine_with_cpus(smt=None, smt_control=control))
    assert found[0]["attributes"]["dra.cpu/smtEnabled"] == {"bool": smt}


def test_roots_are_those_below_sys_devices() -> None:
    """pkg/pcie: cpulistaffinity of every root, with functions or not; on amd64 only; the driver needs all of them."""
    roots = (PcieRoot("pci0000:17", "0-1,4-5"), PcieRoot("pci0000:fe", "0-7"))
    machine = replace(MACHINE, pcie_roots=roots)
    first, second = devices(machine=machine, exposePCIeRoots="true")
    name = "resource.kubernetes.io/pcieRoot"
    assert first["attributes"][name] == {"strings": ["pci0000:17", "pci0000:fe"]}
    assert second["attributes"][name] == {"strings": ["pci0000:fe"]}
    arm = replace(machine, host=Host(architecture="aarch64"))
    assert name not in devices(machine=arm, exposePCIeRoots="true")[0]["attributes"]
    unreadable = replace(machine, pcie_roots=(*roots, PcieRoot("pci0000:ff")))
    options = Options("n", Target.of("1.37"), {}, {"dra.cpu": {"exposePCIeRoots": "true"}})
    assert "pci0000:ff/pci_bus/0000:ff" in str(
        find("dra.cpu").inventory(unreadable, options).unpublished
    )
    assert (
        find("dra.cpu").inventory(unreadable, Options("n", Target.of("1.37"))).unpublished is None
    )


def test_cpus_are_mapped_to_allocatable_resources_of_the_node() -> None:
    """builder.go groupedCPUNodeAllocatable, individualCPUNodeAllocatable (KEP 5517)."""
    setting = {"publishNodeAllocatableResourceMapping": "true"}
    group = devices("main", **setting)[0]["nodeAllocatableResources"]
    assert group == {"cpu": {"mapping": {"capacityKey": "dra.cpu/cpu", "capacityMultiplier": "1"}}}
    single = devices("main", mode="individual", **setting)[0]["nodeAllocatableResources"]
    assert single == {"cpu": {"mapping": {"deviceMultiplier": "1"}}}


@pytest.mark.parametrize(
    ("version", "settings"),
    [
        ("0.1", {"groupBy": "machine"}),
        ("0.1", {"exposePCIeRoots": "true"}),
        ("0.2", {"publishNodeAllocatableResourceMapping": "true"}),
    ],
)
def test_options_of_other_versions_are_refused(version: str, settings: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="came"):
        devices(version, **settings)
