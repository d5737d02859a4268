"""``--hardware`` and ``--add``: a list of machines, in one value or several, means the same in every command."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

LIST = ("--hardware", "dgx-h100*4,p5.48xlarge*2")
REPEATED = ("--hardware", "dgx-h100*4", "--hardware", "p5.48xlarge*2")
HOPPER = 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus, namespace: ml}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 9}}]}}
"""
NODES = {
    *(f"dgx-h100-{number}" for number in range(1, 5)),
    *(f"p5.48xlarge-{number}" for number in range(1, 3)),
}


def run(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main([words[0], "--isolated", *words[1:]]) == code
    return capsys.readouterr().out


@pytest.mark.parametrize("hardware", [LIST, REPEATED])
def test_fit_places_on_as_many_nodes_as_are_named(
    hardware: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    answer = json.loads(run(capsys, "fit", "gpu=2,nic=1", *hardware, "-o", "json"))
    assert {node["name"]: node["fits"] for node in answer["nodes"]} == dict.fromkeys(NODES, 4)


@pytest.mark.parametrize(
    "added", [("--add", "dgx-h100,p5.48xlarge*2"), ("--add", "dgx-h100", "--add", "p5.48xlarge*2")]
)
def test_added_nodes_are_a_list_too(
    added: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("fit", "gpu=8", "--hardware", "dgx-h100", *added, "-o", "json")
    answer = json.loads(run(capsys, *words))
    names = {"dgx-h100-1", "dgx-h100-2", "p5.48xlarge-1", "p5.48xlarge-2"}
    assert {node["name"] for node in answer["nodes"]} == names


@pytest.mark.parametrize("hardware", [LIST, REPEATED])
def test_devices_and_render_have_the_devices_of_these_nodes(
    hardware: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    driver = ("--driver", "gpu.nvidia.com")
    names = run(capsys, "devices", *hardware, *driver, "-o", "name").split()
    assert Counter(name.split("/")[1] for name in names) == dict.fromkeys(NODES, 8)
    rendered = json.loads(run(capsys, "render", *hardware, *driver, "-o", "json"))
    slices = {item["spec"]["nodeName"]: item["spec"]["devices"] for item in rendered["items"]}
    assert {node: len(devices) for node, devices in slices.items()} == dict.fromkeys(NODES, 8)
    uuids = {device["attributes"]["uuid"]["string"] for d in slices.values() for device in d}
    assert len(uuids) == 8 * len(NODES)


def test_rendered_classes_stand_once_and_the_node_name_is_numbered(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ("--device-classes", "--node-name", "rack", "--driver", "gpu.nvidia.com", "-o", "json")
    rendered = json.loads(run(capsys, "render", *LIST, *words))
    kinds = Counter((item["kind"], item["metadata"]["name"]) for item in rendered["items"])
    assert kinds["DeviceClass", "gpu.nvidia.com"] == 1
    nodes = [item["spec"]["nodeName"] for item in rendered["items"] if "nodeName" in item["spec"]]
    assert nodes == [f"rack-{number}" for number in range(1, 7)]


@pytest.mark.parametrize("hardware", [LIST, REPEATED])
def test_each_machine_is_asked_once_where_equal_ones_answer_the_same(
    hardware: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No node has nine GPUs: ``explain`` compares two machines, ``lint`` tries both, ``cel`` all devices of both."""
    claim = tmp_path / "claim.yaml"
    claim.write_text(CLAIM)
    answer = json.loads(run(capsys, "explain", str(claim), *hardware, "-o", "json", code=1))
    (subject,) = answer["subjects"]
    assert [one["machine"] for one in subject["machines"]] == ["dgx-h100", "p5.48xlarge"]
    words = ("lint", str(claim), *hardware, "--select", "DRA756", "-o", "json")
    (finding,) = json.loads(run(capsys, *words, code=1))["findings"]
    assert finding["code"] == "DRA756"
    verdict = json.loads(run(capsys, "cel", HOPPER, *hardware, "-o", "json"))
    assert verdict["summary"]["true"] == 16


def test_upgrade_judges_the_driver_on_all_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    """numaNode is published from 0.5 on, of eight GPUs of each node (drivers/gpu.nvidia.com.json)."""
    words = ("--from", "1.36", "--to", "1.37", "--driver-version", "gpu.nvidia.com=25.12..0.5")
    hardware = ("--hardware", "dgx-h100*2,p5.48xlarge")
    out = " ".join(run(capsys, "upgrade", "-v", *words, *hardware).split())
    assert "Node/dgx-h100-1, Node/dgx-h100-2, Node/p5.48xlarge: attribute" in out
    assert "resource.kubernetes.io/numaNode is published (24 devices)" in out


@pytest.mark.parametrize(
    ("hardware", "message"),
    [
        (LIST, "--hardware names 2 machines (dgx-h100*4, p5.48xlarge*2)"),
        (REPEATED, "--hardware names 2 machines (dgx-h100*4, p5.48xlarge*2)"),
        (("--hardware", "dgx-h100*4"), "--hardware dgx-h100*4 means 4 equal machines"),
    ],
)
def test_discover_shows_one_machine_and_says_why(
    hardware: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["discover", "--isolated", *hardware]) == 2
    assert f"error: {message}, and discover shows how one is wired" in capsys.readouterr().err


def test_a_comparison_with_published_slices_is_of_one_node(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["render", "--isolated", *LIST, "--diff", "-"]) == 2
    assert "--diff compares one node, and 6 are rendered" in capsys.readouterr().err
    assert main(["render", "--isolated", *LIST, "--nodes", "3"]) == 2
    assert "both give a number of nodes" in capsys.readouterr().err


def test_a_machine_file_is_a_machine_in_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = tmp_path / "lab.yaml"
    lab.write_text("roots:\n- {devices: [2xH100, nic]}\n- {devices: [H100, 2xnic]}\n")
    assert "6 copies fit" in run(capsys, "fit", "gpu=1", "--hardware", f"{lab}*2")
    assert "lab-2" in run(capsys, "devices", "--hardware", f"{lab}*2")
    run(capsys, "discover", "--hardware", str(lab))
    (tmp_path / "slices.yaml").write_text(run(capsys, "render", "--hardware", str(lab)))
    slices = str(tmp_path / "slices.yaml")
    words = ("fit", "gpu=1", "--hardware", str(lab), "--add", f"{slices}*2")
    assert "9 copies fit" in run(capsys, *words)
