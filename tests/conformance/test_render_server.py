"""A real API server takes rendered objects as they are: nothing is dropped or added."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from dractl.drivers import Options, network, registry, render, rendering, reported
from dractl.machines import machine, names
from dractl.model.releases import COMPARED, Target
from dractl.probes import read
from dractl.topology import Machine, PciDevice, SrIov
from tests import sysfs_trees
from tests.oracle import cluster_module

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.conformance,
    pytest.mark.oracle,
    pytest.mark.live,
    pytest.mark.filterwarnings(
        "ignore::pytest.PytestUnraisableExceptionWarning"
    ),  # the oracle leaves its logs open
]

EXAMPLE = {"gpu.example.com": {"partitionsPerGPU": "4", "allowMultipleAllocations": "true"}}
GATES = {
    "DRAPartitionableDevices": True,
    "DRAConsumableCapacity": True,
    "DRAExtendedResource": True,
}


@pytest.fixture(
    scope="module",
    params=[(release, gates) for release in COMPARED for gates in (False, True)],
    ids=str,
)
def server(request: pytest.FixtureRequest, whole: Path) -> Iterator[tuple[Any, Target]]:
    release, with_gates = request.param
    oracle = cluster_module(whole)
    if not oracle.program(release).exists():
        pytest.skip(f"{oracle.program(release)} is not built")
    gates = {
        name: value
        for name, value in GATES.items()
        if with_gates and Target.of(release).enabled(name) != value
    }
    if with_gates and not gates:
        pytest.skip("all of these gates are on by default")
    with oracle.Cluster(release, feature_gates=gates, scheduler=False) as cluster:
        yield cluster, Target.of(release, gates)


def assert_accepted(
    cluster: Any, target: Target, node: Any, drivers: tuple[str, ...] = (), **settings: Any
) -> None:
    rendering = render(node, Options("node-1", target, **settings), drivers, device_classes=True)
    assert rendering.slices
    for item in rendering.objects:
        plural = "deviceclasses" if item["kind"] == "DeviceClass" else "resourceslices"
        path = f"/apis/resource.k8s.io/v1/{plural}?dryRun=All&fieldValidation=Strict"
        status, headers, body = cluster.request("POST", path, json.dumps(item))
        assert status == 201, (item["metadata"]["name"], body)
        # 1.34 prints a null for the devices of a slice that has none
        assert {name: value for name, value in body["spec"].items() if value is not None} == item[
            "spec"
        ]
        assert not [value for name, value in headers.items() if name.lower() == "warning"]


@pytest.mark.parametrize("spec", ["8xH100,8xnic,E810,nvme,cpus=64", "200xnic,numa=4,cpus=512"])
def test_drawn_up_machines(server: tuple[Any, Target], spec: str) -> None:
    assert_accepted(*server, machine(spec))


@pytest.mark.parametrize("version", ["0.1", "0.2", "0.3", "0.4", "0.5"])
def test_versions_of_the_nvidia_driver(server: tuple[Any, Target], version: str) -> None:
    assert_accepted(
        *server, machine("2xL40S"), ("gpu.nvidia.com",), versions={"gpu.nvidia.com": version}
    )


@pytest.mark.parametrize("mode", ["grouped", "individual"])
def test_cpus(server: tuple[Any, Target], mode: str) -> None:
    assert_accepted(
        *server,
        machine("2xnic,cpus=300,threads=1"),
        ("dra.cpu",),
        settings={"dra.cpu": {"mode": mode}},
    )


@pytest.mark.parametrize(
    ("spec", "driver", "version", "settings"),
    [
        ("129xnic,roots=64", "dra.net", "1.4", {}),
        ("2xnic,cpus=8", "dra.cpu", "0.2", {"exposePCIeRoots": "true"}),
        ("cpus=2", "gpu.example.com", "0.4", {"numDevices": "9", "partitionsPerGPU": "1"}),
        ("cpus=2", "gpu.example.com", "0.4", {"numDevices": "8", "partitionsPerGPU": "8"}),
        (
            "cpus=2",
            "gpu.example.com",
            "0.4",
            {"allowMultipleAllocations": "true", "partitionsPerGPU": "3"},
        ),
        ("cpus=2", "gpu.example.com", "0.4", EXAMPLE["gpu.example.com"]),
        ("MI300X", "gpu.amd.com", "0.1", {}),
        ("H100", "gpu.nvidia.com", "0.3", {"dynamicMIG": "true"}),
    ],
)
def test_unpublished_slice_is_refused_by_the_server(
    server: tuple[Any, Target],
    monkeypatch: pytest.MonkeyPatch,
    spec: str,
    driver: str,
    version: str,
    settings: dict[str, str],
) -> None:
    """The reason that dractl gives is the server's own."""
    cluster, target = server
    node = machine(spec)
    if driver == "gpu.nvidia.com":  # 0.3 makes an empty counter set of a GPU without MIG
        node = replace(
            node, gpus=tuple(replace(gpu, mig_mode=None, mig_profiles=()) for gpu in node.gpus)
        )
    options = Options("node-1", target, {driver: version}, {driver: settings})
    why = render(node, options, [driver]).unpublished.get(driver)
    monkeypatch.setattr(rendering, "_refusal", lambda *_: None)
    slices = render(node, options, [driver]).slices
    answers = []
    for item in slices:
        path = "/apis/resource.k8s.io/v1/resourceslices?dryRun=All"
        status, _, body = cluster.request("POST", path, json.dumps(item))
        if status != 201:
            answers.append(body["message"])
    if why is None:  # counters are dropped where their gate is off, and nothing is left to refuse
        assert answers == []
    else:
        assert any(
            why.partition("ResourceSlice: ")[2].partition(": ")[0] in answer for answer in answers
        ), (why, answers)


def test_the_example_driver_with_counters(server: tuple[Any, Target]) -> None:
    if server[1].release == "1.34" and server[1].enabled("DRAPartitionableDevices"):
        pytest.skip("1.34 refuses counter sets apart from their devices: see what is not published")
    assert_accepted(*server, machine("cpus=2"), ("gpu.example.com",), settings=EXAMPLE)


@pytest.mark.parametrize(
    "archive",
    [
        "2pa-pcidomain32bits.tar.bz2",
        "32intel64-2p8co2t+8ve.tar.bz2",
        "40intel64-2g2n4c+pcilocality.tar.bz2",
    ],
)
def test_gathered_machines(server: tuple[Any, Target], whole: Path, archive: str) -> None:
    assert_accepted(*server, read(whole / "machines" / archive))


def test_partitions_of_mig(server: tuple[Any, Target]) -> None:
    settings = {"gpu.nvidia.com": {"dynamicMIG": "true"}}
    assert_accepted(*server, machine("3xA100-40GB,mig=on"), ("gpu.nvidia.com",), settings=settings)


@pytest.mark.parametrize(
    "driver", ["sriovnetwork.k8snetworkplumbingwg.io", "dra.memory", "dra.nvme"]
)
def test_explicitly_named_drivers_are_accepted(
    server: tuple[Any, Target], driver: str, tmp_path: Path
) -> None:
    assert_accepted(
        *server, machine("2xnic,E810,4xnvme,numa=2,cpus=8,memory=512Gi,vfs=40"), (driver,)
    )
    name = {"dra.memory": "cxl", "dra.nvme": "plx-8gpu"}.get(driver, "sriov")
    assert_accepted(
        *server, read(sysfs_trees.build(sysfs_trees.describe(name), tmp_path)), (driver,)
    )


def test_a_virtual_function_whose_root_is_unknown(server: tuple[Any, Target]) -> None:
    """The driver publishes an empty pcieRoot."""
    node = machine("nic,vfs=2")
    functions = tuple(replace(pci, path=f"LNXSYSTM:00/x/{pci.path}") for pci in node.pci_devices)
    assert_accepted(
        *server, replace(node, pci_devices=functions), ("sriovnetwork.k8snetworkplumbingwg.io",)
    )


@pytest.mark.parametrize("shares", ["memory", "unlimited", "4"])
def test_shared_and_passed_through_gpus_are_accepted(
    server: tuple[Any, Target], shares: str, tmp_path: Path
) -> None:
    options: dict[str, Any] = {
        "versions": {"gpu.nvidia.com": "0.5"},
        "settings": {"gpu.nvidia.com": {"passthroughSupport": "true", "consumableShares": shares}},
    }
    assert_accepted(*server, machine("2xH100,L40S"), ("gpu.nvidia.com",), **options)
    assert_accepted(
        *server,
        read(sysfs_trees.build(sysfs_trees.describe("plx-8gpu"), tmp_path)),
        ("gpu.nvidia.com",),
        **options,
    )


def test_shared_partitions(server: tuple[Any, Target]) -> None:
    settings = {"gpu.nvidia.com": {"dynamicMIG": "true", "consumableShares": "2"}}
    options: dict[str, Any] = {"versions": {"gpu.nvidia.com": "0.5"}, "settings": settings}
    assert_accepted(*server, machine("A100-40GB,mig=on"), ("gpu.nvidia.com",), **options)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("trn2.48xlarge", {}),
        ("ct6e-standard-8t", {}),
        ("BM.GPU.GB200-v3.4", {"dra.net": {"rackId": "rack-7"}}),
        ("ND_H100_v5", {}),
        ("a3-megagpu-8g", {"dra.net": {"block": "b1", "subBlock": "s1", "host": "h1"}}),
        ("p6-b200.48xlarge", {"gpu.nvidia.com": {"dynamicMIG": "true"}}),
        ("4xMI300X,2xMax-1100,2xE810,vfs=4", {}),
    ],
)
def test_described_machines(
    server: tuple[Any, Target], name: str, settings: dict[str, dict[str, str]]
) -> None:
    assert_accepted(*server, machine(name), settings=settings)


def test_every_machine_with_a_name(server: tuple[Any, Target]) -> None:
    for name in names.every():
        assert_accepted(*server, machine(name))


def test_every_driver_in_every_version_on_every_machine(
    server: tuple[Any, Target], tmp_path: Path
) -> None:
    """Objects that are the same but for the machine are sent once."""
    cluster, target = server
    nodes = [machine(name) for name in names.every()]
    nodes += [
        read(sysfs_trees.build(sysfs_trees.describe(name), tmp_path / name))
        for name in sysfs_trees.NAMES
    ]
    sent: set[str] = set()
    for node, driver in product(nodes, registry.names()):
        for version in registry.find(driver).catalogue.versions:
            options = Options("node-1", target, {driver: version})
            for item in render(node, options, [driver], device_classes=True).objects:
                text = json.dumps(item, sort_keys=True)
                if text not in sent:
                    sent.add(text)
                    plural = "deviceclasses" if item["kind"] == "DeviceClass" else "resourceslices"
                    path = f"/apis/resource.k8s.io/v1/{plural}?dryRun=All&fieldValidation=Strict"
                    status, _, body = cluster.request("POST", path, text)
                    assert status == 201, (driver, version, item["metadata"]["name"], body)
                    # 1.34 prints a null for the devices of a slice that has none
                    stored = {
                        name: value for name, value in body["spec"].items() if value is not None
                    }
                    assert stored == item["spec"]
    assert len(sent) > len(nodes)


def test_gpus_shared_by_hami_are_accepted(server: tuple[Any, Target]) -> None:
    assert_accepted(*server, machine("dgx-h100"), ("hami-core-gpu.project-hami.io",))


@pytest.mark.parametrize(
    ("driver", "item"),
    [
        (
            "npu.rebellions.ai",
            {
                "name": "rbln0",
                "sid": "",
                "productName": "RBLN-CA25",
                "capacity": {"memory": "16Gi"},
            },
        ),
        (
            "dra.hygon.com",
            {"name": "hcu-0000-05-00-0", "capacity": {"cores": 80, "memory": "64Gi"}},
        ),
        (
            "tenstorrent.com",
            {"name": "tt-0", "chipID": 0, "boardName": "p150", "capacity": {"memory": "32Gi"}},
        ),
        ("dra.rockchip.com", {"name": "npu-0", "type": "npu", "capacity": {"shares": 8}}),
        ("dra.rockchip.com", {"name": "npu-0", "type": "npu", "capacity": {"shares": 1}}),
        ("ascend.project-hami.io", {"name": "npu-0-0", "index": 0, "model": "910B3"}),
        (
            "ovsdpdk.k8snetworkplumbingwg.io",
            {"name": "br-dpdk0", "ovsdpdk.k8snetworkplumbingwg.io/mtu": 9000},
        ),
        ("npu.furiosa.ai", {"name": "npu0", "uuid": "A7E4"}),
        ("composite.dra.example.io", {"name": "gpu-0--nic-0", "composite/compositionName": "pair"}),
    ],
)
def test_agent_devices_are_accepted(
    server: tuple[Any, Target], driver: str, item: dict[str, Any]
) -> None:
    assert_accepted(*server, Machine(reported=(reported.device(driver, item),)), (driver,))


def test_accelerators(server: tuple[Any, Target]) -> None:
    card = PciDevice(
        "0000:6b:00.0", "pci0000:6b/0000:6b:00.0", driver="4xxx", qat_services="sym;asym"
    )
    function = PciDevice(
        "0000:6b:00.1", "pci0000:6b/0000:6b:00.1", sriov=SrIov(physical_function=card.bdf)
    )
    gaudi = PciDevice(
        "0000:19:00.0", "pci0000:17/0000:19:00.0", device="0x1020", driver="habanalabs"
    )
    spyre = PciDevice(
        "0000:1a:00.0",
        "x/0000:1a:00.0",
        "0x120000",
        vendor="0x1014",
        device="0x06a7",
        driver="vfio-pci",
    )
    assert_accepted(*server, Machine(pci_devices=(card, function, gaudi, spyre)))


def test_network_devices(server: tuple[Any, Target], tmp_path: Path) -> None:
    cluster, target = server
    single = (
        "---\n{driver: camera.example.com, pool: b, devices: [{name: b, allNodes: true}, {name: c, "
        "nodeSelector: {d: e}}]}\n"
    )
    (tmp_path / "pools.yaml").write_text(
        "{driver: camera.example.com, pool: a, allNodes: true, devices: [{name: b, attributes: {zoom: 4}}]}\n"
        "---\n{driver: gpu.nvidia.com, pool: a-fabric1, nodeSelector: {example.com/a: 'true'}, devices: [{name: a-0, "
        "bindsToNode: true, bindingConditions: [Ready], bindingFailureConditions: [Failed]}]}\n"
        + (single if target.enabled("DRAPartitionableDevices") else "")
    )
    for item in network.read(str(tmp_path / "pools.yaml"), target).slices:
        path = "/apis/resource.k8s.io/v1/resourceslices?dryRun=All&fieldValidation=Strict"
        status, _, body = cluster.request("POST", path, json.dumps(item))
        assert status == 201, body
        # 1.34 prints a null for the devices of a slice that has none
        assert {name: value for name, value in body["spec"].items() if value is not None} == item[
            "spec"
        ]
