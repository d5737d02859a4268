"""dra.memory. Expectations are those of ffromani/dra-driver-memory's code and its own tests, named below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from dractl import probes
from dractl.drivers import Inventory, Options, find, render
from dractl.model.releases import Target
from dractl.topology import Host, Machine, NumaNode
from dractl.topology.machine import HugePages
from tests import sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path

GIB, MIB = 1 << 30, 1 << 20
# pkg/sysinfo/discover_amd64_test.go TestRefreshWithData, "single NUMA-node, with hugepages".
NODE = NumaNode(0, "0-7", 33332322304, "dram", (10,), (HugePages(2 * MIB, 2048), HugePages(GIB, 8)))
MACHINE = Machine(host=Host(page_bytes=4096), numa_nodes=(NODE,))


def inventory(machine: Machine) -> Inventory:
    return find("dra.memory").inventory(machine, Options("node-1", Target.of("1.37")))


def expected_device(name: str, size: str, page: str, least: str, *, huge: bool) -> dict:
    return {
        "name": name,
        "attributes": {
            "resource.kubernetes.io/numaNode": {"int": 0},
            "resource.kubernetes.io/pageSize": {"string": page},
            "resource.kubernetes.io/hugeTLB": {"bool": huge},
            "dra.cpu/numaNodeID": {"int": 0},
            "dra.net/numaNode": {"int": 0},
        },
        "capacity": {
            "size": {
                "value": size,
                "requestPolicy": {
                    "default": least,
                    "validRange": {"min": page, "max": size, "step": page},
                },
            }
        },
        "allowMultipleAllocations": True,
    }


def test_a_node_with_huge_pages() -> None:
    """Names are the driver's but for their ends, quantities what Go writes for the test's numbers of bytes."""
    assert inventory(MACHINE).devices == (
        expected_device("memory-0", "32551096Ki", "4Ki", "1Mi", huge=False),
        expected_device("hugepages-2mi-0", "4Gi", "2Mi", "2Mi", huge=True),
        expected_device("hugepages-1gi-0", "8Gi", "1Gi", "1Gi", huge=True),
    )


def test_each_kind_is_a_slice_of_its_own() -> None:
    """Its expectedSlices are three, of a device each."""
    two = replace(MACHINE, numa_nodes=(NODE, replace(NODE, id=1)))
    slices = render(two, Options("node-1", Target.of("1.37")), ["dra.memory"]).slices
    assert [[device["name"] for device in item["spec"]["devices"]] for item in slices] == [
        ["memory-0", "memory-1"],
        ["hugepages-2mi-0", "hugepages-2mi-1"],
        ["hugepages-1gi-0", "hugepages-1gi-1"],
    ]
    assert {item["spec"]["pool"]["resourceSliceCount"] for item in slices} == {3}


def test_without_huge_pages() -> None:
    """ "single NUMA-node, no hugepages": sizes that the kernel supports and has no page of are no devices."""
    bare = replace(NODE, huge_pages=(HugePages(2 * MIB, 0), HugePages(GIB, 0)))
    assert [
        device["name"] for device in inventory(replace(MACHINE, numa_nodes=(bare,))).devices
    ] == ["memory-0"]


@pytest.mark.parametrize(
    ("size", "name"),
    [(64 << 10, "64Ki"), (512 * MIB, "512Mi"), (16 * GIB, "16Gi"), (1 << 40, "1Ti")],
)
def test_page_sizes_are_written_in_the_largest_unit(size: int, name: str) -> None:
    """pkg/unitconv/unit.go SizeInBytesToMinimizedString."""
    node = replace(NODE, memory_bytes=0, huge_pages=(HugePages(size, 1),))
    (device,) = inventory(replace(MACHINE, numa_nodes=(node,))).devices
    assert device["name"] == f"hugepages-{name.lower()}-0"
    assert device["attributes"]["resource.kubernetes.io/pageSize"] == {"string": name}


def test_nodes_are_numbered_by_their_place(tmp_path: Path) -> None:
    """processMachine publishes the index in the list of nodes, which ghw reads in the order of the folders' names."""
    found = inventory(probes.read(sysfs_trees.build(sysfs_trees.describe("cxl"), tmp_path)))
    assert [
        device["attributes"]["resource.kubernetes.io/numaNode"]["int"] for device in found.devices
    ] == [0, 1, 2]
    assert list(found.comments) == ["memory-2"]
    assert found.comments["memory-2"].startswith("this is NUMA node 8;")
    many = inventory(
        replace(
            MACHINE,
            numa_nodes=tuple(NumaNode(n, memory_bytes=(n + 1) * MIB << 10) for n in range(12)),
        )
    )
    sizes = [device["capacity"]["size"]["value"] for device in many.devices]
    assert sizes == [f"{n + 1}Gi" for n in (0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9)]


def test_memory_without_cpus_is_published_and_empty_nodes_are_not(tmp_path: Path) -> None:
    """A GPU's memory, node 1 of Grace Hopper, is memory to the driver; nodes 2 to 8 are empty."""
    devices = inventory(
        probes.read(sysfs_trees.build(sysfs_trees.describe("grace-hopper"), tmp_path))
    ).devices
    assert [(device["name"], device["capacity"]["size"]["value"]) for device in devices] == [
        ("memory-0", "501000000Ki"),
        ("memory-1", "96Gi"),
    ]


def test_unknown_values_are_left_out() -> None:
    found = inventory(replace(MACHINE, host=Host()))
    memory, huge, _ = found.devices
    assert "resource.kubernetes.io/pageSize" not in memory["attributes"]
    assert memory["capacity"] == {"size": {"value": "32551096Ki"}}
    assert "requestPolicy" in huge["capacity"]["size"]
    assert "the size of pages is unknown" in found.comments["memory-0"]
    none = inventory(replace(MACHINE, numa_nodes=(NumaNode(0, "0-7"),)))
    assert none.devices == ()
    assert none.notices == ("dra.memory: the amount of memory of NUMA node 0 is unknown here",)


def test_page_size_is_read_from_the_processor(tmp_path: Path) -> None:
    top = sysfs_trees.build(sysfs_trees.describe("cxl"), tmp_path)
    assert probes.read(top).host.page_bytes == 4096
    (top / "proc/cpuinfo").write_text(
        "processor\t: 0\nFeatures\t: fp asimd\n"
    )  # arm64: 4, 16 or 64 KiB
    assert probes.read(top).host.page_bytes is None


def test_it_is_rendered_only_when_it_is_named() -> None:
    assert render(MACHINE, Options("node-1", Target.of("1.37"))).slices == ()


def test_its_device_classes() -> None:
    """hack/ci/install.tmpl.yaml."""
    classes = find("dra.memory").device_classes(Options("node-1", Target.of("1.37")))
    assert [item["metadata"]["name"] for item in classes] == [
        "dra.memory",
        "dra.hugepages-2m",
        "dra.hugepages-1g",
    ]
    (selector,) = classes[1]["spec"]["selectors"]
    assert selector["cel"]["expression"] == (
        'device.driver == "dra.memory" && device.attributes["resource.kubernetes.io"].pageSize == "2Mi" '
        '&& device.attributes["resource.kubernetes.io"].hugeTLB == true'
    )
