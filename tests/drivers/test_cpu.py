"""dra.cpu. Expectations are those of the driver's code (pkg/device/builder.go) on small machines."""

from __future__ import annotations

import pytest

from dractl.drivers import Options, find
from dractl.errors import UsageError
from dractl.model.releases import Target
from dractl.topology import Core, Cpus, Machine, PciDevice
from dractl.topology.machine import CacheGroup

# Two sockets of two cores with two threads: 0,4 1,5 | 2,6 3,7.
CORES = tuple(Core(package=core // 2, id=core % 2, cpus=f"{core},{core + 4}", numa_node=core // 2) for core in range(4))
MACHINE = Machine(
    cpus=Cpus(online="0-7", smt=True, cores=CORES, l3=(CacheGroup(0, "0-1,4-5"), CacheGroup(1, "2-3,6-7"))),
    pci_devices=(
        PciDevice("0000:17:00.0", "pci0000:17/0000:17:00.0", pcie_root="pci0000:17", local_cpus="0-1,4-5"),
        PciDevice("0000:65:00.0", "pci0000:65/0000:65:00.0", pcie_root="pci0000:65", local_cpus="2-3,6-7"),
        PciDevice(
            "10000:e1:00.0", "pci0000:65/0000:65:05.5/pci10000:e0/x", pcie_root="pci10000:e0", local_cpus="2-3,6-7"
        ),
    ),
)


def devices(version: str | None = None, machine: Machine = MACHINE, **settings: str):
    options = Options(
        "node-1", Target.of("1.37"), {"dra.cpu": version} if version else {}, {"dra.cpu": settings} if settings else {}
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
    assert [(d["name"], d["capacity"]["dra.cpu/cpu"]["value"]) for d in devices(groupBy="socket")] == [
        ("cpudevsocket000", "4"),
        ("cpudevsocket001", "4"),
    ]
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
    roots = [d["attributes"]["resource.kubernetes.io/pcieRoot"] for d in devices(exposePCIeRoots="true")]
    assert roots == [{"strings": ["pci0000:17"]}, {"strings": ["pci0000:65"]}]


@pytest.mark.parametrize(
    "settings", [{"groupBy": "core"}, {"mode": "x"}, {"reservedCPUs": "1-"}, {"exposePCIeRoots": "yes"}]
)
def test_settings_that_the_driver_does_not_have(settings: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        devices(**settings)


def test_thousands_of_cpus_are_written_as_go_writes_them() -> None:
    many = Machine(cpus=Cpus(smt=False, cores=tuple(Core(0, n, str(n), 0) for n in range(2000))))
    assert devices(machine=many)[0]["capacity"]["dra.cpu/cpu"] == {"value": "2k"}
