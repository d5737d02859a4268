"""EC2's machines against what Karpenter publishes of them, device by device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dractl.drivers import Options, render
from dractl.machines import machine, names
from dractl.model import Quantity
from dractl.model.releases import Target

TYPES: dict[str, Any] = json.loads(Path("tests/data/karpenter.json").read_text())["types"]
EFA = {"dra.net/pciVendor": "Amazon.com, Inc.", "dra.net/pciDevice": "Elastic Fabric Adapter (EFA)"}


def devices(name: str, driver: str, spec: str = "", **settings: str) -> list[dict[str, Any]]:
    options = Options("node-1", Target.of("1.37"), settings={driver: settings})
    return [
        device
        for item in render(machine(name + spec), options, [driver]).slices
        for device in item["spec"].get("devices", ())
    ]


def values(device: dict[str, Any]) -> dict[str, Any]:
    return {name: next(iter(value.values())) for name, value in device["attributes"].items()}


def size(device: dict[str, Any]) -> int:
    return Quantity.parse(device["capacity"]["memory"]["value"]).value()


def test_all_53_types_are_there() -> None:
    assert len(TYPES) == 53
    assert set(TYPES) <= set(names.every())


@pytest.mark.parametrize("name", TYPES)
def test_gpus(name: str) -> None:
    wanted = TYPES[name]["gpu"]
    found = devices(name, "gpu.nvidia.com")
    assert [device["name"] for device in found] == [
        f"gpu-{number}" for number in range(len(wanted["pcieRoots"]))
    ]
    for device, root in zip(found, wanted["pcieRoots"], strict=True):
        shown = values(device)
        assert shown["resource.kubernetes.io/pcieRoot"] == root
        assert shown["type"] == "gpu"
        same = ("productName", "architecture", "brand", "cudaComputeCapability")
        assert {key: shown[key] for key in same} == {key: wanted[key] for key in same}


@pytest.mark.parametrize("name", TYPES)
def test_memory_is_of_the_whole_gpu_or_its_largest_instance(name: str) -> None:
    """Nodes that Karpenter read with DynamicMIG show what the largest MIG profile has, and not NVML's total."""
    wanted = Quantity.parse(TYPES[name]["gpu"]["memory"]).value()
    whole = {size(device) for device in devices(name, "gpu.nvidia.com")}
    if whole != {wanted}:
        node = machine(name)
        largest = {
            max((p.memory_bytes or 0 for p in gpu.mig_profiles), default=0) for gpu in node.gpus
        }
        # The 40 GB A100 has 128 MiB less in the layout of an older driver.
        assert largest == {wanted} or wanted - max(largest) == 128 << 20


@pytest.mark.parametrize("name", [name for name in TYPES if "efa" in TYPES[name]])
def test_elastic_fabric_adapters(name: str) -> None:
    wanted = TYPES[name]["efa"]
    found = [
        shown for shown in map(values, devices(name, "dra.net")) if EFA.items() <= shown.items()
    ]
    assert {(shown["dra.net/pciSubsystem"], shown["dra.net/rdma"]) for shown in found} == {
        (wanted["pciSubsystem"], wanted["rdma"])
    }
    places = sorted(
        (shown["resource.kubernetes.io/pcieRoot"], shown.get("dra.net/numaNode", -1))
        for shown in found
    )
    assert places == sorted(
        (root, -1 if node is None else node) for root, node in wanted["devices"]
    )


@pytest.mark.parametrize("name", [name for name in TYPES if "efa" not in TYPES[name]])
def test_types_without_elastic_fabric_adapters(name: str) -> None:
    assert devices(name, "dra.net") == []


# aws/karpenter-provider-aws, tables captured from live nodes: PCI addresses, which its newer table leaves out.
P5_EFA = [
    "4f 50 51 52",
    "60 61 62 63",
    "71 72 73 74",
    "82 83 84 85",
    "93 94 95 96",
    "a4 a5 a6 a7",
    "b5 b6 b7 b8",
]
ADDRESSES = {
    "p5.48xlarge": ["53", "64", "75", "86", "97", "a8", "b9", "ca"],
    "p6-b200.48xlarge": ["51", "52", "62", "63", "75", "76", "86", "87"],
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_addresses_and_nodes_of_gpus(name: str) -> None:
    found = [
        values(device) for device in devices(name, "gpu.nvidia.com", consumableShares="disabled")
    ]
    assert [shown["resource.kubernetes.io/pciBusID"] for shown in found] == [
        f"0000:{bus}:00.0" for bus in ADDRESSES[name]
    ]
    assert {shown["addressingMode"] for shown in found} == {"HMM"}
    nodes = {function.bdf: function.numa_node for function in machine(name).pci_devices}
    assert [nodes[shown["resource.kubernetes.io/pciBusID"]] for shown in found] == [0] * 4 + [1] * 4


def test_the_network_of_p5() -> None:
    found = {
        shown["dra.net/pciAddress"]: shown
        for shown in map(values, devices("p5.48xlarge", "dra.net"))
    }
    buses = " ".join([*P5_EFA, "c6 c7 c8 c9"]).split()
    assert sorted(found) == sorted(["0000:48:00.0", *(f"0000:{bus}:00.0" for bus in buses)])
    ena = found["0000:48:00.0"]
    assert ena["dra.net/pciDevice"] == "Elastic Network Adapter (ENA)"
    assert (ena["dra.net/pciSubsystem"], ena["dra.net/rdma"], ena["dra.net/type"]) == (
        "ec20",
        False,
        "device",
    )
    assert all("dra.net/type" not in shown for shown in found.values() if shown["dra.net/rdma"])


def test_the_rdma_devices_of_p4d() -> None:
    """kubernetes-sigs/dranet examples/aws_eks_examples/gpu-efa/resourceslice-dranet.yaml."""
    found = [
        shown.get("dra.net/rdmaDevice") for shown in map(values, devices("p4d.24xlarge", "dra.net"))
    ]
    assert [name for name in found if name] == [
        "rdmap16s27",
        "rdmap32s27",
        "rdmap144s27",
        "rdmap160s27",
    ]
