"""Machines by name: every file can be read and rendered, and what cannot be is said with its line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main
from dractl.drivers import Options, names, render
from dractl.errors import InputError, UsageError
from dractl.machines import machine, names as machines
from dractl.machines.described import load
from dractl.machines.products import find, mig_layouts, products
from dractl.machines.spec import parse
from dractl.model.releases import Target
from dractl.topology.standard_attributes import publish_pcie_root

if TYPE_CHECKING:
    from pathlib import Path

NEWEST = Options("node-1", Target.of("1.37"))


@pytest.mark.parametrize("name", machines.every())
def test_every_machine_can_be_read_and_its_evidence_is_complete(name: str) -> None:
    layout = load(name)
    assert layout.title
    assert layout.evidence
    assert all(item.source for item in layout.evidence)
    node = machine(name)
    assert not render(node, NEWEST).unpublished
    assert len({function.bdf for function in node.pci_devices}) == len(node.pci_devices)
    said = [
        note.message.removeprefix("assumed: ")
        for note in node.notes
        if "MIG" not in note.message and not note.message.startswith("no document says")
    ]
    assert [message.partition(" (")[0] for message in said] == [
        item.of for item in layout.evidence if item.sure == "derived"
    ]


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("ND_H100_v5", "Standard_ND96isr_H100_v5"),
        ("nd96isr-h100-v5", "Standard_ND96isr_H100_v5"),
        ("DGX-H100", "dgx-h100"),
        ("hgx-b200", "dgx-b200"),
        ("P5.48XLARGE", "p5.48xlarge"),
        ("p5.48xl", "p5.48xlarge"),
        ("ml.p5.48xlarge", "p5.48xlarge"),
        ("A3_HighGPU_8g", "a3-highgpu-8g"),
    ],
)
def test_machines_have_other_names(alias: str, name: str) -> None:
    assert machines.canonical(alias) == name
    assert machine(alias) == machine(name)


@pytest.mark.parametrize(
    ("alias", "product"),
    [
        ("A100-80GB", "A100"),
        ("H100-80GB", "H100"),
        ("connectx7", "ConnectX-7"),
        ("h100_nvl", "H100-NVL"),
    ],
)
def test_products_have_other_names(alias: str, product: str) -> None:
    assert machine(alias) == machine(product)


def test_spellings_are_of_one_machine() -> None:
    """No two machines, and no machine and product, differ only in what spellings leave out."""
    for name in machines.every():
        assert machines.canonical(name) == name
        assert find(name) is None, name
    assert all(find(name) == product for name, product in products().items())


def test_a2_highgpu_8g_has_two_roots() -> None:
    """nvidia-smi of one: four GPUs on bus 00, four on bus 80."""
    found = machine("a2-highgpu-8g")
    assert [gpu.bdf for gpu in found.gpus] == [f"0000:00:0{n}.0" for n in (4, 5, 6, 7)] + [
        f"0000:80:0{n}.0" for n in range(4)
    ]
    assert {function.pcie_root for function in found.pci_devices} == {"pci0000:00", "pci0000:80"}


def test_a_single_superchip_is_on_no_fabric() -> None:
    """NVLink leaves a GB200's board, not a GH200's."""
    (alone,), (one, *_) = machine("GH200").gpus, machine("4xGB200").gpus
    assert (alone.addressing_mode, alone.fabric) == ("ATS", None)
    assert one.fabric is not None


def test_a_machine_takes_settings() -> None:
    node = machine("dgx-h100,cpus=224,mig=on,vfs=2")
    assert node.cpus.online == "0-223"
    assert {gpu.mig_mode for gpu in node.gpus} == {True}
    assert sum(interface.virtual_function for interface in node.net_interfaces) == 16


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("dgx-h10", "did you mean dgx-h100"),
        ("a3-high", "did you mean a3-highgpu-1g, a3-highgpu-2g or a3-highgpu-4g?"),
        ("p4d", "did you mean p4d.24xlarge or p4de.24xlarge?"),
        ("V100", "did you mean V100-32GB or V100-16GB?"),
        ("2xp5.48xlarge", "p5.48xlarge is a whole machine, which takes no count"),
        ("p5.48xlarge,dgx-h100", "two machines"),
        ("p5.48xlarge,nic", "nic cannot be added"),
        ("p5.48xlarge,roots=2", "has its own roots"),
        ("p5.48xlarge,colour=red", "unknown key 'colour'"),
        ("8xH100,numaa=2", "did you mean numa?"),
        ("H10O", "did you mean H100"),
        ("513xH100", "the count of H100 must be from 1 to 512, not 513"),
        ("0xnic", "the count of nic must be from 1 to 512"),
        ("H100,driver=new", "driver must be a version such as 580.65.06"),
        ("H100,memory=12Qi", "memory must be a quantity such as 512Gi"),
    ],
)
def test_unfitting_names_are_refused(spec: str, words: str) -> None:
    with pytest.raises(UsageError, match=words.replace("?", r"\?")):
        machine(spec)


def test_roots_below_vmbus_are_not_published() -> None:
    """kubernetes/kubernetes#134076: the drivers' library finds no root there."""
    node = machine("ND_H100_v5")
    assert {publish_pcie_root(node.pci[gpu.bdf]) for gpu in node.gpus if gpu.bdf} == {None}
    assert {node.pci[gpu.bdf].numa_node for gpu in node.gpus if gpu.bdf} == {0, 1}


def test_grace_machines_are_on_a_fabric_and_use_ats() -> None:
    found = render(machine("gb200-nvl72"), NEWEST, ["gpu.nvidia.com", "compute-domain.nvidia.com"])
    gpus = found.slices[0]["spec"]["devices"]
    assert {gpu["attributes"]["addressingMode"]["string"] for gpu in gpus} == {"ATS"}
    assert [gpu["capacity"]["memory"]["value"] for gpu in gpus] == ["189471Mi"] * 4
    assert [gpu["attributes"]["resource.kubernetes.io/pcieRoot"]["string"] for gpu in gpus] == [
        "pci0008:00",
        "pci0009:00",
        "pci0018:00",
        "pci0019:00",
    ]
    assert [device["name"] for device in found.slices[1]["spec"]["devices"]] == [
        "channel-0",
        "daemon-0",
    ]


@pytest.mark.parametrize(
    "name", [name for name, product in products().items() if product.facts.get("mig")]
)
def test_every_mig_layout_can_be_partitioned(name: str) -> None:
    options = Options(
        "node-1", Target.of("1.37"), settings={"gpu.nvidia.com": {"dynamicMIG": "true"}}
    )
    found = render(machine(f"{name},mig=on"), options, ["gpu.nvidia.com"])
    counters = found.slices[0]["spec"]["sharedCounters"][0]["counters"]
    layout = mig_layouts()[products()[name].facts["mig"]]
    devices = [device for item in found.slices for device in item["spec"].get("devices", ())]
    placements = sum(len(profile.placements) for profile in layout.profiles)
    partitions = [device for device in devices if device["attributes"]["type"]["string"] == "mig"]
    assert len(partitions) == placements
    assert sum(counter.startswith("memory-slice-") for counter in counters) == max(
        place.size for profile in layout.profiles for place in profile.placements
    )


@pytest.mark.parametrize("layout", mig_layouts())
def test_mig_profiles_fit_their_gpu(layout: str) -> None:
    """Profiles are named by slices, and no instance has more than the largest."""
    profiles = mig_layouts()[layout].profiles
    largest = max(profiles, key=lambda profile: profile.slices)
    for profile in profiles:
        assert profile.name.startswith(f"{profile.slices}g.")
        for count, most in (
            (profile.memory_bytes, largest.memory_bytes),
            (profile.multiprocessors, largest.multiprocessors),
        ):
            assert count is None or most is None or count <= most
        assert all(
            place.start + place.size <= largest.placements[0].size for place in profile.placements
        )
        assert profile.decoders <= largest.decoders


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("title: a\ncolour: red\n", 2, "unknown key 'colour'"),
        ("rootz:\n- {devices: [H100]}\n", 1, "unknown key 'rootz'; did you mean roots?"),
        ("- H100\n", 1, "the document is a list, not a map of a machine's settings"),
        (
            "roots:\n- {devices: [1000xH100]}\n",
            2,
            "the count of H100 must be from 1 to 512, not 1000",
        ),
        (
            "title: a\nmemory: 12Qi\n",
            2,
            "memory must be a quantity such as 512Gi, from 1Mi to 1Pi, not '12Qi'",
        ),
        ("title: a\ngpuMemory: lots\n", 2, "gpuMemory must be a quantity"),
        ("title: a\ncuda: thirteen\n", 2, "cuda must be a version such as 13.0, not 'thirteen'"),
        (
            "title: a\nfabric: {cluster: nope, clique: 1}\n",
            2,
            "fabric must be a map with the keys cluster (a UUID) and clique",
        ),
        (
            "title: a\nfabric: {clique: x}\n",
            2,
            "fabric must be a map with the keys cluster (a UUID) and clique (a number)",
        ),
        ("title: a\ninstanceType: [1]\n", 2, "instanceType must be a string such as p5.48xlarge"),
        (
            "title: a\ncloud: awz\n",
            2,
            "cloud must be one of alibaba, aws, azure, coreweave, gce, oke, not 'awz'",
        ),
        (
            "roots:\n- {devices: {nic: [{interface: a b}]}}\n",
            2,
            "interface must be a name of at most 15 bytes",
        ),
        (
            "roots:\n- {devices: {nic: [{adress: '0000:53:00.0'}]}}\n",
            2,
            "unknown key 'adress'; did you mean address?",
        ),
        ("roots:\n- {devices: {H100: [{mtu: 9000}]}}\n", 2, "unknown key 'mtu'"),
        (
            "roots:\n- {devices: {nic: [{link: token-ring}]}}\n",
            2,
            "link must be ethernet or infiniband",
        ),
        (
            "reported:\n  tenstorrent.com:\n  - {name: tt-0, boardName: p151}\n",
            3,
            "boardName must be one of e75, e150",
        ),
        (
            "roots:\n- {numa: 0, devices: [H1000]}\n",
            2,
            "unknown machine or product 'H1000'; did you mean H100",
        ),
        (
            "roots:\n- {root: pci0, devices: [H100]}\n",
            2,
            "root must be a host bridge such as pci0000:44",
        ),
        (
            "roots:\n- {devices: {H100: ['53:00.0']}}\n",
            2,
            "an address must have the form 0000:53:00.0",
        ),
        (
            "roots:\n- {devices: {H100: many}}\n",
            2,
            "H100 must be a number of devices or a list of addresses",
        ),
        ("roots:\n- {numa: none, devices: []}\n", 2, "numa must be a NUMA node from 0 to 1023"),
        (
            "numa: 2\nroots:\n- {numa: 2, devices: []}\n",
            3,
            "numa must be from 0 to 1, as the machine's numa is 2",
        ),
        ("cpus: many\n", 1, "cpus must be a number from 1 to 4096"),
        ("addressingMode: ats\nroots: []\n", 1, "addressingMode must be one of ATS, HMM, None"),
        (
            "evidence:\n- {of: a, sure: maybe, source: b}\n",
            2,
            "sure must be recorded, documented, derived",
        ),
        ("roots:\n- {root: 'pci0000:10'}\n- {root: 'pci0000:10'}\n", 3, "described twice"),
        (
            "roots:\n- {devices: {H100: ['0000:01:00.0'], nic: ['0000:01:00.0']}}\n",
            2,
            "given to two devices",
        ),
    ],
)
def test_a_file_with_a_mistake_is_answered_with_its_line(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    path = tmp_path / "node.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        machine(str(path))
    assert words in caught.value.message
    assert (caught.value.place or "").startswith(f"{path}:{line}:")


def test_a_file_whose_whole_is_impossible_is_named(tmp_path: Path) -> None:
    path = tmp_path / "node.yaml"
    path.write_text("cpus: 4\nthreads: 3\n")
    with pytest.raises(InputError, match="4 CPUs do not make whole cores of 3 threads") as caught:
        machine(str(path))
    assert caught.value.place == str(path)


def test_list_marks_derived_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "--list-hardware"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (p4,) = (line for line in lines if line.startswith("p4d.24xlarge "))
    assert "derived" not in p4
    (dgx,) = (line for line in lines if line.startswith("dgx-h100 "))
    assert dgx.endswith("(derived: PCIe roots)")
    (edge,) = (line for line in lines if line.startswith("a3-edgegpu-8g "))
    assert edge.endswith("(wiring unknown)")
    assert main(["render", "--list-hardware", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {item["name"] for item in found["machines"]} == set(machines.every())
    (p4,) = (item for item in found["machines"] if item["name"] == "p4d.24xlarge")
    assert p4["labels"]["karpenter.k8s.aws/instance-gpu-name"] == "a100"


def test_devices_of_unknown_wiring_have_no_root_and_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "node.yaml"
    path.write_text("roots:\n- {wiring: unknown, devices: {H100: 2}}\n")
    node = machine(str(path))
    assert [device.pcie_root for device in node.pci_devices] == [None, None]
    found = render(node, NEWEST)
    (devices,) = (
        item["spec"]["devices"]
        for item in found.slices
        if item["spec"]["driver"] == "gpu.nvidia.com"
    )
    assert len(devices) == 2
    for device in devices:
        assert not {name for name in device["attributes"] if "pcieRoot" in name or "numa" in name}
    note = "no document says where its 2 devices are"
    assert main(["render", "--hardware", str(path), "--driver", "gpu.nvidia.com"]) == 0
    assert note in capsys.readouterr().err
    assert main(["fit", "--hardware", str(path), "gpu=2"]) == 0
    captured = capsys.readouterr()
    assert note in captured.out + captured.err


def test_a_driver_that_needs_the_root_starts_on_unknown_wiring() -> None:
    """A root that no document names is not absent, as it is where 25.3 does not start."""
    options = Options("node-1", Target.of("1.34"), {"gpu.nvidia.com": "25.3"})
    found = render(machine("BM.GPU.L40S.4"), options, ["gpu.nvidia.com"])
    assert [len(item["spec"]["devices"]) for item in found.slices] == [4]


def test_obstacles_to_alignment_are_not_listed_of_unknown_wiring(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "node.yaml"
    path.write_text("roots:\n- {wiring: unknown, devices: {H100: 2, ConnectX-7: 2}}\n")
    assert main(["discover", "--hardware", str(path)]) == 0
    assert "claims cannot match" not in capsys.readouterr().out


def test_nics_of_unknown_wiring_keep_their_interfaces(tmp_path: Path) -> None:
    path = tmp_path / "node.yaml"
    nics = "[{interface: gpu0rdma0}, {interface: eth0, uplink: true}]"
    path.write_text(f"roots:\n- {{wiring: unknown, devices: {{ConnectX-7: {nics}}}}}\n")
    (dranet,) = (
        item["spec"]["devices"]
        for item in render(machine(str(path)), NEWEST).slices
        if item["spec"]["driver"] == "dra.net"
    )
    assert [device["attributes"]["dra.net/ifName"] for device in dranet] == [
        {"string": "gpu0rdma0"}
    ]


@pytest.mark.parametrize(
    ("root", "words"),
    [
        ("{wiring: guessed, devices: [H100]}", "wiring must be unknown, or left out"),
        ("{wiring: unknown, numa: 0, devices: [H100]}", "unknown has no numa"),
        ('{wiring: unknown, root: "pci0000:10", devices: [H100]}', "unknown has no root"),
    ],
)
def test_a_wiring_that_is_unknown_excludes_places(tmp_path: Path, root: str, words: str) -> None:
    path = tmp_path / "node.yaml"
    path.write_text(f"roots:\n- {root}\n")
    with pytest.raises(InputError, match=words):
        machine(str(path))


def test_derived_parts_are_reported_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "--hardware", "p5e.48xlarge", "--driver", "gpu.nvidia.com"]) == 0
    assert "p5e.48xlarge: assumed: addresses (numbered below each root)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("spec", "driver"), [("2xMI300X", "gpu.amd.com"), ("Max-1100,B580", "gpu.intel.com")]
)
def test_gpus_of_other_vendors(spec: str, driver: str) -> None:
    assert driver in names()
    found = render(machine(spec), NEWEST)
    assert [item["spec"]["driver"] for item in found.slices] == [driver]
    assert len(found.slices[0]["spec"]["devices"]) == 2


# kubernetes-sigs/dranet@v1.4.0, slices of live nodes: examples/aws_eks_examples/gpu-efa, oci_oke_examples/
# BM.GPU.GB200-v3.4 and BM.GPU.H100.8, azure_aks_examples/gb300 and mi300x.
PUBLISHED = {
    "p4d.24xlarge": {
        "pci-0000-20-01-0": {"dra.net/ifName": "ens65", "dra.net/mtu": 9001, "dra.net/rdma": False},
        "pci-0000-90-01-0": {"dra.net/ifName": "ens129", "dra.net/sriov": False},
        "pci-0000-a0-01-0": {"dra.net/ifName": "ens161", "dra.net/pciSubsystem": "ec20"},
        "pci-0000-a0-1b-0": {"dra.net/rdmaDevice": "rdmap160s27", "dra.net/pciSubsystem": "efa0"},
    },
    "BM.GPU.GB200-v3.4": {
        "pci-0000-03-00-0": {"dra.net/ifName": "rdma0", "dra.net/mtu": 9000, "dra.net/sriov": True},
        "pci-0012-03-00-1": {
            "dra.net/ifName": "rdma7",
            "dra.net/sriovVfs": 0,
            "dra.net/numaNode": 1,
        },
    },
    "BM.GPU.H100.8": {
        "pci-0000-0c-00-0": {"dra.net/ifName": "rdma0"},
        "pci-0000-d5-00-1": {"dra.net/ifName": "rdma15", "dra.net/rdma": True},
    },
    "Standard_ND128isr_GB300_v6": {
        "pci-0104-00-00-0": {
            "dra.net/pciSubsystem": "0240",
            "dra.net/ifName": None,
            "dra.net/numaNode": 1,
        }
    },
    "Standard_ND96isr_MI300X_v5": {
        "pci-0101-00-00-0": {
            "dra.net/pciSubsystem": "0101",
            "resource.kubernetes.io/pcieRoot": None,
        }
    },
    # NVIDIA DGX H100 user guide, table 6: the ports are InfiniBand's by default.
    "dgx-h100": {
        "pci-0000-18-00-0": {"dra.net/ifName": "ibp24s0", "dra.net/encapsulation": "infiniband"},
        "pci-0000-dc-00-0": {"dra.net/ifName": "ibp220s0", "dra.net/type": "ipoib"},
    },
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_rendered_nics_match_live_nodes(name: str) -> None:
    (item,) = render(machine(name), NEWEST, ["dra.net"]).slices
    found = {device["name"]: device["attributes"] for device in item["spec"]["devices"]}
    for device, wanted in PUBLISHED[name].items():
        shown = {key: next(iter(found[device].get(key, {"": None}).values())) for key in wanted}
        assert shown == wanted, device


def test_a_node_whose_only_interface_is_its_uplink_offers_none() -> None:
    assert render(machine("ct5lp-hightpu-4t"), NEWEST, ["dra.net"]).slices == ()


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ("A100-40GB,mig=3g.20gb+2x2g.10gb", ["gpu-0-mig-3g20gb-9-0", "gpu-0-mig-2g10gb-14-4"]),
        ("A100-40GB,mig=7x1g.5gb", [f"gpu-0-mig-1g5gb-19-{start}" for start in range(7)]),
        ("A100-40GB,mig=1g.5gb+me", ["gpu-0-mig-1g5gb-me-20-0"]),
    ],
)
def test_mig_devices_by_name(spec: str, names: list[str]) -> None:
    options = Options("n", Target.of("1.37"))
    if "2x2g" in spec:
        with pytest.raises(UsageError, match=r"has no room for 2g\.10gb beside 3g\.20gb, 2g\.10gb"):
            machine(spec)
        spec = spec.replace("2x", "")
    (item,) = render(machine(spec), options, ["gpu.nvidia.com"]).slices
    assert [device["name"] for device in item["spec"]["devices"]] == names
    uuids = [device["attributes"]["uuid"]["string"] for device in item["spec"]["devices"]]
    assert len(set(uuids)) == len(names)


@pytest.mark.parametrize(
    "text", ["mig=9x1g.5gb", "mig=1g", "mig=", "mig=1g.5gb++1g.5gb", "mig=" + "1g.5gb+" * 1000]
)
def test_invalid_mig_layout_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        machine(f"A100-40GB,{text}")


def test_addressing_modes() -> None:
    """HMM with open kernel modules, which are the default; none where NVML has no such fact (Volta); None on GKE."""
    found = {}
    for name in (
        "T4",
        "V100-32GB",
        "L4-6Q",
        "GH200",
        "T4,addressingMode=None",
        "a3-ultragpu-8g",
        "g4dn.xlarge",
    ):
        found[name] = machine(name).gpus[0].addressing_mode
    assert found == {
        "T4": "HMM",
        "V100-32GB": None,
        "L4-6Q": "None",
        "GH200": "ATS",
        "T4,addressingMode=None": "None",
        "a3-ultragpu-8g": "None",
        "g4dn.xlarge": "HMM",
    }


def test_an_amd_gpu_has_a_driver_version_in_every_release_of_the_driver() -> None:
    for version in ("0.1", "1.0.0", "1.0.1"):
        rendering = render(
            machine("MI300X"),
            Options("n", Target.of("1.37"), {"gpu.amd.com": version}),
            ["gpu.amd.com"],
        )
        (item,) = rendering.slices
        assert item["spec"]["devices"][0]["attributes"]["driverVersion"] == {"version": "6.12.12"}


def test_dynamic_mig_says_how_to_describe_mig_mode() -> None:
    options = Options("n", Target.of("1.37"), settings={"gpu.nvidia.com": {"dynamicMIG": "true"}})
    assert any(
        "mig=on" in notice
        for notice in render(machine("a2-highgpu-1g"), options, ["gpu.nvidia.com"]).notices
    )
    assert not any(
        "mig=on" in notice for notice in render(machine("T4"), options, ["gpu.nvidia.com"]).notices
    )


def test_memory_of_an_intel_gpu() -> None:
    """intel/intel-resource-drivers-for-kubernetes@1da939f doc/gpu/USAGE.md: B60, 24480Mi."""
    (item,) = render(machine("B60"), Options("n", Target.of("1.37")), ["gpu.intel.com"]).slices
    assert item["spec"]["devices"][0]["capacity"]["memory"] == {"value": "24480Mi"}


def test_virtual_functions_of_an_oracle_machine() -> None:
    """kubernetes-sigs/dranet examples/oci_oke_examples/BM.GPU.GB300.4/README.md: pods claim the VF of each NIC."""
    rendering = render(
        machine("BM.GPU.GB300.4"), Options("n", Target.of("1.37"), {"dra.net": "main"}), ["dra.net"]
    )
    devices = {
        one["name"]: one["attributes"]
        for item in rendering.slices
        for one in item["spec"]["devices"]
    }
    found = devices["pci-0000-03-00-4"]
    assert found["dra.net/isSriovVf"] == {"bool": True}
    assert found["dra.net/ifName"] == {"string": "rdma_vf_rail0"}
    assert found["oke.dra.net/shape"] == {"string": "BM.GPU.GB300.4"}
    assert [
        devices[f"pci-{root}-03-00-4"]["dra.net/numaNode"]["int"]
        for root in ("0002", "0010", "0012")
    ] == [0, 1, 1]
    assert "dra.net/isSriovVf" not in devices["pci-0000-03-00-0"]


@pytest.mark.parametrize(
    ("line", "roots"), [("cpus=8", 1), ("nic", 1), ("8xH100,4xnic", 8), ("8xH100,roots=2", 2)]
)
def test_a_line_has_as_many_roots_as_it_has_of_one_product(line: str, roots: int) -> None:
    assert len(parse(line).roots) == roots


def test_key_unknown_to_a_whole_machine_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--hardware: unknown key 'cpu'; did you mean cpus\?"):
        parse("p5.48xlarge,cpu=8")


def test_a_numa_node_is_at_distance_10_from_itself() -> None:
    """ACPI 6.5, 5.2.17 System Locality Distance Information Table: 10 is normalized to local access."""
    nodes = machine("dgx-h100").numa_nodes
    assert [item.distances for item in nodes] == [(10, 21), (21, 10)]
