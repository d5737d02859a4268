"""NVCX complexes. Expectations: what rdma-core's ``rdma_topo topo`` prints for the same trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from dractl import probes
from dractl.topology import snapshot
from dractl.topology.complexes import Complex, complexes
from dractl.topology.levels import affinity, data_direct, nearest
from tests import sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.topology.machine import Machine


@pytest.fixture(scope="module")
def grace(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return probes.read(
        sysfs_trees.build(sysfs_trees.describe("data-direct"), tmp_path_factory.mktemp("grace"))
    )


def inline(tmp_path: Path, **nic: Any) -> Machine:
    """Root port, ConnectX switch, NIC; and a second ConnectX switch with the GPU below the first."""
    description = sysfs_trees.describe("single-root-vm")
    switch = {"vendor": "0x15b3", "device": "0x197c"}
    shared = "pci0000:10/0000:10:01.0/0000:11:00.0"
    description["ports"] = {
        f"0000:{bdf}": switch for bdf in ("11:00.0", "12:00.0", "12:01.0", "14:00.0", "15:00.0")
    }
    description["pci"] = [
        {"path": f"{shared}/0000:12:00.0/0000:13:00.0", "is": "cx8", **nic},
        {"path": f"{shared}/0000:12:01.0/0000:14:00.0/0000:15:00.0/0000:16:00.0", "is": "gb200"},
    ]
    return probes.read(sysfs_trees.build(description, tmp_path))


def test_a_nic_and_a_gpu_are_paired_by_the_data_direct_function(grace: Machine) -> None:
    """NIC 0000:03:00 has two physical functions."""
    assert complexes(grace) == (
        Complex("data-direct", "0009:06:00.0", ("0000:03:00.0", "0000:03:00.1"), "0009:03:00.0"),
        Complex("data-direct", "0019:06:00.0", ("0010:03:00.0",), "0019:03:00.0"),
    )


def test_the_path_through_data_direct_is_a_level_of_its_own(grace: Machine) -> None:
    pair = [a.level for a in affinity(grace) if {a.a, a.b} == {"0000:03:00.1", "0009:06:00.0"}]
    assert pair == ["NODE"]
    assert data_direct(grace)["0009:06:00.0", "0000:03:00.1"] == "PXB"
    assert nearest(grace)["0009:06:00.0", "0000:03:00.0"] == "PXB"
    assert nearest(grace)["0009:06:00.0", "0010:03:00.0"] == "SYS"


def test_an_unpaired_data_direct_function_is_in_no_complex(grace: Machine) -> None:
    devices = tuple(replace(d, data_direct_of=()) for d in grace.pci_devices)
    assert complexes(replace(grace, pci_devices=devices)) == ()


def test_a_nic_and_a_gpu_below_one_connectx_switch(tmp_path: Path) -> None:
    assert complexes(inline(tmp_path)) == (Complex("inline", "0000:16:00.0", ("0000:13:00.0",)),)


def test_a_switch_of_another_vendor_makes_no_complex(tmp_path: Path) -> None:
    machine = inline(tmp_path)
    devices = tuple(
        replace(d, vendor="0x10b5") if d.bdf == "0000:14:00.0" else d for d in machine.pci_devices
    )
    assert complexes(replace(machine, pci_devices=devices)) == ()


@pytest.mark.parametrize(
    "port", ["0009:00:00.0", "0009:01:00.0", "0009:02:00.0", "0009:02:01.0", "0009:05:00.0"]
)
def test_path_unknown_to_rdma_topo_makes_no_complex(grace: Machine, port: str) -> None:
    """It refuses the whole machine then; the other complex is as it was."""
    devices = tuple(replace(d, device="0x1234") if d.bdf == port else d for d in grace.pci_devices)
    assert [found.gpu for found in complexes(replace(grace, pci_devices=devices))] == [
        "0019:06:00.0"
    ]


def test_inline_complexes_count_only_without_data_direct(grace: Machine, tmp_path: Path) -> None:
    machine = inline(tmp_path)
    function = next(d for d in grace.pci_devices if d.bdf == "0009:03:00.0")
    assert (
        complexes(
            replace(
                machine, pci_devices=(*machine.pci_devices, replace(function, data_direct_of=()))
            )
        )
        == ()
    )


def test_a_gpu_at_a_root_port_makes_it_a_matter_of_numa_nodes(tmp_path: Path) -> None:
    """PCITopo.__detect_topo_type: NUMA-based."""
    machine = inline(tmp_path)
    gpu = next(d for d in machine.pci_devices if d.kind == "gpu")
    other = replace(gpu, bdf="0000:30:00.0", bridges=gpu.bridges[:1])
    assert complexes(replace(machine, pci_devices=(*machine.pci_devices, other))) == ()


def test_complexes_are_in_the_json_of_a_machine(grace: Machine) -> None:
    assert snapshot.to_json(grace)["complexes"][1] == {
        "kind": "data-direct",
        "gpu": "0019:06:00.0",
        "nics": ["0010:03:00.0"],
        "dataDirect": "0019:03:00.0",
    }
