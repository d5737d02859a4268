"""``dractl render`` as a user calls it."""

from __future__ import annotations

import json
import re
import tarfile
from typing import TYPE_CHECKING

import pytest
import yaml

from dractl.cli.commands.render import Driver
from dractl.cli.main import main
from dractl.drivers import by_default, names
from dractl.manifests import load
from tests import sysfs_trees

if TYPE_CHECKING:
    from pathlib import Path

ARCHIVES = [
    "2pa-pcidomain32bits.tar.bz2",
    "32intel64-2p8co2t+8ve.tar.bz2",
    "40intel64-2g2n4c+pcilocality.tar.bz2",
]


@pytest.fixture(autouse=True)
def no_node_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NODE_NAME", raising=False)


def run(*arguments: object) -> int:
    return main(["render", *map(str, arguments)])


def rendered_slices(capsys: pytest.CaptureFixture[str]) -> list[dict]:
    return list(yaml.safe_load_all(capsys.readouterr().out))


def devices(objects: list[dict], driver: str) -> dict[str, dict]:
    return {
        device["name"]: device
        for item in objects
        if item["kind"] == "ResourceSlice" and item["spec"]["driver"] == driver
        for device in item["spec"]["devices"]
    }


@pytest.mark.parametrize("release", ["1.34", "1.37"])
@pytest.mark.parametrize("archive", ARCHIVES)
def test_rendered_slices_are_clean(
    archive: str, release: str, whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "slices.yaml"
    assert (
        run(
            "--from",
            whole / "machines" / archive,
            "--device-classes",
            "--kubernetes-version",
            release,
            "--output-file",
            out,
        )
        == 0
    )
    capsys.readouterr()
    assert (
        main(["lint", "--isolated", "-o", "json", "--kubernetes-version", release, str(out)]) == 0
    )
    assert json.loads(capsys.readouterr().out)["findings"] == []


def roots_of(archive: Path) -> dict[str, str]:
    """Each PCI function's root as the archive's own links say it: the first folder below devices/."""
    with tarfile.open(archive) as tar:
        links = {m.name: m.linkname for m in tar if m.issym() and "/bus/pci/devices/" in m.name}
    return {
        name.rpartition("/")[2]: target.partition("devices/")[2].split("/")[0]
        for name, target in links.items()
    }


@pytest.mark.parametrize("archive", ARCHIVES)
def test_a_gathered_machine_gives_the_roots_of_its_own_links(
    archive: str, whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--from", whole / "machines" / archive, "--driver", "dra.net") == 0
    nics = devices(rendered_slices(capsys), "dra.net")
    roots = roots_of(whole / "machines" / archive)
    physical = {
        name: d["attributes"] for name, d in nics.items() if "dra.net/pciAddress" in d["attributes"]
    }
    assert physical
    for attributes in physical.values():
        bdf = attributes["dra.net/pciAddress"]["string"]
        published = attributes.get("resource.kubernetes.io/pcieRoot", {}).get("string")
        # deviceattribute/pci.go knows domains of four digits only
        assert published == (roots[bdf] if len(bdf) == len("0000:00:00.0") else None)


def test_cpus_by_numa_node(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--from", whole / "machines" / ARCHIVES[1], "--driver", "dra.cpu") == 0
    cpus = devices(rendered_slices(capsys), "dra.cpu")
    # sys/devices/system/node/node0/cpulist is 0-7,16-23, node1's 8-15,24-31
    assert {name: d["capacity"]["dra.cpu/cpu"]["value"] for name, d in cpus.items()} == {
        "cpudevnuma000": "16",
        "cpudevnuma001": "16",
    }


def test_yaml_and_json_hold_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--hardware", "2xH100,nic,cpus=8", "--device-classes") == 0
    objects = rendered_slices(capsys)
    assert run("--hardware", "2xH100,nic,cpus=8", "--device-classes", "-o", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["apiVersion"], found["kind"]) == ("v1", "List")
    assert found["items"] == objects
    assert [item["metadata"]["name"] for item in objects if item["kind"] == "ResourceSlice"] == [
        "00000-gpu.nvidia.com-node-1",
        "00000-compute-domain.nvidia.com-node-1",
        "00000-dra.net-node-1",
        "00000-dra.cpu-node-1",
    ]


def test_texts_survive_the_way_the_api_server_reads_yaml(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """PyYAML would write these bare, and Go would read numbers and booleans."""
    from dractl.report.objects import to_yaml

    texts = [
        "1e50",
        "n",
        "y",
        "off",
        "0o17",
        "0b1",
        "1_0",
        "010",
        ".5",
        "~",
        "null",
        "0x1f",
        "",
        "a: b",
        "- x",
        "é",
        "<<",
    ]
    found = load(["-"], stdin=to_yaml([{"kind": "K", "texts": texts}]).encode()).documents[0]
    assert found.value["texts"] == texts


def test_the_nodes_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def name(*arguments: object) -> str:
        assert run("--driver", "dra.cpu", *arguments) == 0
        return rendered_slices(capsys)[0]["spec"]["nodeName"]

    assert name("--hardware", "cpus=4") == "node-1"
    assert name("--hardware", "cpus=4", "--node-name", "worker") == "worker"
    monkeypatch.setenv("NODE_NAME", "from-env")
    assert name("--hardware", "cpus=4") == "from-env"
    snapshot = tmp_path / "snapshot.json"
    assert (
        main(
            [
                "discover",
                "--save",
                str(snapshot),
                "--with-identity",
                "-q",
                "--output-file",
                str(tmp_path / "x"),
            ]
        )
        == 0
    )
    described = json.loads(snapshot.read_text())
    described["host"]["name"] = "Gathered.Example"
    snapshot.write_text(json.dumps(described))
    assert name("--from", snapshot) == "gathered.example"


def test_several_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("--driver", "gpu.nvidia.com", "--node-name", "gpu")
    assert run("--hardware", "H100", "--nodes", 3, *names, "--device-classes") == 0
    objects = rendered_slices(capsys)
    slices = [item for item in objects if item["kind"] == "ResourceSlice"]
    assert [item["spec"]["nodeName"] for item in slices] == ["gpu-1", "gpu-2", "gpu-3"]
    assert len({item["spec"]["devices"][0]["attributes"]["uuid"]["string"] for item in slices}) == 3
    assert sum(item["kind"] == "DeviceClass" for item in objects) == 3


def test_each_machine_is_a_node(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--hardware", "dgx-h100,p5.48xlarge", "--driver", "gpu.nvidia.com") == 0
    slices = [item for item in rendered_slices(capsys) if item["kind"] == "ResourceSlice"]
    assert len({item["spec"]["nodeName"] for item in slices}) == 2


def test_partial_gpus_are_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = sysfs_trees.build(sysfs_trees.describe("plx-8gpu"), tmp_path)
    assert run("--root", top, "--driver", "gpu.nvidia.com") == 0
    captured = capsys.readouterr()
    assert "# gpu-0: 0000:19:00.0: partial, known from PCI alone." in captured.out
    assert "known from PCI alone" in captured.err
    found = devices(list(yaml.safe_load_all(captured.out)), "gpu.nvidia.com")
    assert found["gpu-0"]["attributes"]["resource.kubernetes.io/pcieRoot"] == {
        "string": "pci0000:15"
    }
    assert "capacity" not in found["gpu-0"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--kubernetes-version", "1.33"], 3, "1.34 and later"),
        (["--kubernetes-version", "1.99x"], 2, ""),
        (["--driver", "gpu.nvdia.com"], 2, "did you mean gpu.nvidia.com"),
        (["--driver-version", "0.4"], 2, "missing driver name"),
        (["--driver-version", "gpu.nvidia.com=x"], 2, "is not a version"),
        (["--driver-option", "dra.cpu:groupby=socket"], 2, "has no option 'groupby'"),
        (["--driver-option", "groupBy=socket"], 2, "DRIVER:NAME=VALUE"),
        (["--node-name", "Not_A_Name"], 2, "not a valid node name"),
        (["-o", "xml"], 2, "yaml, json"),
        (["--from", "nowhere.json"], 2, "each name a machine"),
        (["--nodes", "2", "--diff", "x.yaml"], 2, "--diff compares one node, and 2 are rendered"),
        (["--diff", "nowhere.yaml"], 3, "no such file"),
    ],
)
def test_wrong_usage(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--hardware", "H100,cpus=4", *arguments) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "names no machine"),
        (" , ", "names no machine"),
        ("numa=2", "describes nothing"),
        ("2xL40S,nic,mig=on", "the MIG profiles of L40S are not known"),
        ("nic,mig=on", "a machine without a GPU"),
    ],
)
def test_invalid_hardware_description_is_refused(
    spec: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--hardware", spec) == 2
    assert message in capsys.readouterr().err


def test_nothing_to_publish_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--hardware", "nvme") == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no hardware found for any driver that is rendered by default" in captured.err


def test_help_lists_drivers_outside_the_default() -> None:
    (option,) = Driver.__metadata__  # type: ignore[attr-defined]
    assert {name for name in names() if name in option.help} == set(names()) - set(by_default())


def test_driver_options_and_versions(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(
            "--hardware",
            "H100,cpus=4",
            "--driver-option",
            "dra.cpu:groupBy=machine",
            "--driver-version",
            "dra.cpu=main",
        )
        == 0
    )
    assert list(devices(rendered_slices(capsys), "dra.cpu")) == ["cpudevmachine"]
    assert run("--hardware", "H100", "--driver", "gpu.nvidia.com", "--driver-version", "0.5") == 0
    (gpu,) = devices(rendered_slices(capsys), "gpu.nvidia.com").values()
    assert gpu["attributes"]["resource.kubernetes.io/numaNode"] == {"int": 0}


def test_diff(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    published = tmp_path / "published.yaml"
    assert run("--hardware", "2xH100,nic", "--output-file", published) == 0
    assert run("--hardware", "2xH100,nic", "--diff", published) == 0
    assert "are the same" in capsys.readouterr().out
    published.write_text(
        re.sub("version: 580.65.6", "version: 570.0.0", published.read_text(), count=1)
    )
    assert run("--hardware", "2xH100,nic", "--diff", published) == 1
    assert capsys.readouterr().out.splitlines() == [
        "  gpu.nvidia.com/node-1/gpu-0",
        '-   attributes.driverVersion.version: "570.0.0"',
        '+   attributes.driverVersion.version: "580.65.6"',
    ]
    assert run("--hardware", "2xH100,nic", "--diff", published, "-o", "json") == 1
    assert json.loads(capsys.readouterr().out)["differences"] == [
        {
            "driver": "gpu.nvidia.com",
            "device": "gpu-0",
            "path": "attributes.driverVersion.version",
            "published": "570.0.0",
            "rendered": "580.65.6",
        }
    ]
    assert run("--hardware", "H100", "--node-name", "other", "--diff", published) == 3
    assert "there are slices of node-1" in capsys.readouterr().err


def test_diff_with_a_cluster_asks_kubectl(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("--hardware", "H100", "-o", "json", "--output-file", tmp_path / "slices.json") == 0
    kubectl = tmp_path / "kubectl"
    kubectl.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\ncat {tmp_path}/slices.json\n')
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert run("--hardware", "H100", "--diff", "cluster") == 0
    assert (tmp_path / "asked").read_text().startswith("get resourceslices.resource.k8s.io ")
    kubectl.write_text("#!/bin/sh\necho 'connection refused' >&2\nexit 1\n")
    capsys.readouterr()
    assert run("--hardware", "H100", "--diff", "cluster") == 3
    assert "connection refused" in capsys.readouterr().err


def test_diff_renders_for_the_release_of_the_published_slices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kubernetes 1.34 drops allowMultipleAllocations, whose gate is off there by default."""
    shared = ("--driver-option", "gpu.nvidia.com:consumableShares=4", "--hardware", "H100")
    dump = tmp_path / "dump.json"
    assert run(*shared, "--kubernetes-version", "1.34", "-o", "json", "--output-file", dump) == 0
    assert run(*shared, "--kubernetes-version", "1.37", "--diff", dump) == 1
    kubectl = tmp_path / "kubectl"
    version = json.dumps({"serverVersion": {"major": "1", "minor": "34", "gitVersion": "v1.34.3"}})
    kubectl.write_text(
        f"#!/bin/sh\nif [ \"$1\" = version ]; then echo '{version}'; else cat {dump}; fi\n"
    )
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    capsys.readouterr()
    assert run(*shared, "--diff", "cluster") == 0
    assert "rendered for Kubernetes 1.34 (from the cluster)" in capsys.readouterr().err
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
    node["status"] = {"nodeInfo": {"kubeletVersion": "v1.34.3"}}
    objects = json.loads(dump.read_text())["items"]
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*objects, node]}))
    assert run(*shared, "--diff", dump) == 0
    assert "rendered for Kubernetes 1.34 (from kubelets)" in capsys.readouterr().err


NAMED = "sriovnetwork.k8snetworkplumbingwg.io,dra.memory,dra.nvme"


@pytest.mark.parametrize("release", ["1.34", "1.37"])
@pytest.mark.parametrize(
    "source", [*ARCHIVES, "4xH100,2xnic,E810,4xnvme,memory=512Gi,vfs=4", "sriov", "plx-8gpu"]
)
def test_explicitly_named_drivers_are_clean_too(
    source: str,
    release: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if source in ARCHIVES:
        where: list[object] = ["--from", request.getfixturevalue("whole") / "machines" / source]
    elif source in sysfs_trees.NAMES:
        where = ["--sysfs-root", sysfs_trees.build(sysfs_trees.describe(source), tmp_path / "root")]
    else:
        where = ["--hardware", source]
    out = tmp_path / "slices.yaml"
    options = [
        "--driver",
        NAMED,
        "--device-classes",
        "--kubernetes-version",
        release,
        "--output-file",
        out,
    ]
    assert run(*where, *options) == 0
    capsys.readouterr()
    assert (
        main(["lint", "--isolated", "-o", "json", "--kubernetes-version", release, str(out)]) == 0
    )
    assert json.loads(capsys.readouterr().out)["findings"] == []


def test_slices_of_explicitly_named_drivers_are_no_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    published = tmp_path / "published.yaml"
    assert (
        run("--hardware", "nic,nvme", "--driver", "dra.net,dra.nvme", "--output-file", published)
        == 0
    )
    assert run("--hardware", "nic,nvme", "--diff", published) == 0
    assert run("--hardware", "nic,nvme", "--driver", "dra.net,dra.nvme", "--diff", published) == 0
    assert run("--hardware", "nic", "--driver", "dra.net,dra.nvme", "--diff", published) == 1
    capsys.readouterr()


def test_driver_without_devices_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """Its slices would be refused; those of the other drivers are printed all the same."""
    assert (
        run(
            "--hardware",
            "129xnic,roots=64,cpus=8",
            "--driver",
            "dra.net,dra.cpu",
            "--node-name",
            "n",
        )
        == 1
    )
    captured = capsys.readouterr()
    assert (
        "error: dra.net publishes nothing: the API server refuses its ResourceSlice: spec.devices"
        in captured.err
    )
    assert "driver: dra.cpu" in captured.out
    assert "driver: dra.net" not in captured.out
