"""The alignment of what is allocated, in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft202012Validator

from dractl.cli.main import main
from dractl.machines import machine
from dractl.topology import snapshot
from tests.alignment.machines import allocated_claim, cluster
from tests.explain.cluster import pod
from tests.sysfs_trees import build, describe

NICS = [f"pci-0000-{bus}-00-0" for bus in ("18", "40", "4f", "5e", "9a", "c0", "ce", "dc")]
GPUS = [f"gpu-{n}" for n in range(8)]


@pytest.fixture
def dump(tmp_path: Path) -> str:
    """Two pods: one with each NIC beside its GPU, the other with one of two beside its GPU."""
    objects = [
        allocated_claim("good", "n", "good", gpu=GPUS[:2], nic=NICS[:2]),
        allocated_claim("half", "n", "half", gpu=GPUS[2:4], nic=[NICS[2], NICS[4]]),
    ]
    for name in ("good", "half"):
        entry = {"name": "devices", "resourceClaimName": name}
        objects.append(pod(name, entry, spec={"nodeName": "n"}, status={"phase": "Running"}))
    state = cluster("dgx-h100", *objects)
    items = [value for kind in state.kinds for value in state.objects(kind).values()]
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main([*words, "--isolated"]) == 0
    return capsys.readouterr().out


def conforms(value: Any, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", name]) == 0
    Draft202012Validator(json.loads(capsys.readouterr().out)).validate(value)


def test_the_worst_is_first_in_text_and_json(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "devices", "-f", dump, "--alignment").splitlines()
    assert lines[0] == "1 of 2 allocations are the best that their nodes can give"
    order = [line.split("pod ")[1].split()[0] for line in lines if "pod " in line]
    assert order == ["ml/half", "ml/good"]
    assert any("1 root, 1 SYS (best 2 root)" in line for line in lines)
    value = json.loads(run(capsys, "devices", "-f", dump, "-o", "json"))
    conforms(value, "devices", capsys)
    assert [(use["pod"], use["share"]) for use in value["alignments"]] == [
        ("ml/half", pytest.approx(2 / 3)),
        ("ml/good", 1),
    ]


def test_metrics_pages_pictures_and_wide_rows(
    dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = run(capsys, "devices", "-f", dump, "-o", "openmetrics")
    assert (
        'dractl_alignment_share{node="n",pod="ml/half",claims="ml/half",kinds="gpu-nic"} 0.5'
        in metrics
    )
    assert 'kinds="gpu-nic",level="SYS"} 1' in metrics
    assert metrics.endswith("# EOF\n")
    assert "1 of 2 allocations are the best" in run(capsys, "devices", "-f", dump, "-o", "html")
    picture = ElementTree.fromstring(run(capsys, "devices", "-f", dump, "--alignment", "-o", "svg"))
    texts = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "50 % of the best: 1 root, 1 SYS" in texts
    rows = [line.split() for line in run(capsys, "devices", "-f", dump, "-o", "wide").splitlines()]
    aligned = {row[1]: row[-1] for row in rows if len(row) > 2}
    assert (aligned["gpu.nvidia.com/n/gpu-0"], aligned["gpu.nvidia.com/n/gpu-2"]) == ("100%", "66%")
    assert aligned["gpu.nvidia.com/n/gpu-7"] == "-"
    assert main(["devices", "-f", dump, "-o", "svg", "--isolated"]) == 2
    assert "--alignment" in capsys.readouterr().err


def test_formats_that_have_the_alignment_anyhow_do_not_change(
    dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for output in ("html", "json", "openmetrics"):
        page = run(capsys, "devices", "-f", dump, "-o", output)
        assert "ml/half" in page
        assert run(capsys, "devices", "-f", dump, "--alignment", "-o", output) == page


@pytest.mark.parametrize("output", ["csv", "name"])
def test_a_format_without_alignment_is_refused(
    output: str, dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["devices", "-f", dump, "--alignment", "-o", output, "--isolated"]) == 2
    error = capsys.readouterr().err
    assert f"-o {output} has no alignment" in error
    assert "html" in error


@pytest.mark.parametrize("width", ["80", "120"])
def test_explain_tells_of_a_placed_pod(
    width: str, dump: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    out = run(capsys, "explain", "pod/half", "-n", "ml", "-f", dump)
    assert all(len(line) <= int(width) for line in out.splitlines())
    said = " ".join(out.split())
    assert "GPU and NIC 1 of 2 pairs as near as the best: 1 root, 1 SYS" in said
    assert "best now, as on the free node: 2 root" in said
    assert (
        "to get it: split gpu and nic into 2 requests each, paired by matchAttribute resource.kubernetes.io/pcieRoot"
        in said
    )
    assert "gpu-3 pci-0000-9a-00-0 SYS" in said
    value = json.loads(run(capsys, "explain", "claim/half", "-n", "ml", "-f", dump, "-o", "json"))
    conforms(value, "explain", capsys)
    found = {tuple(one["kinds"]): one for one in value["alignment"]}["gpu", "nic"]
    assert (found["levels"], found["bestFree"], found["share"]) == (
        {"root": 1, "SYS": 1},
        {"root": 2},
        [0.5, 0.5],
    )
    assert "GPU and NIC" in run(capsys, "explain", "pod/half", "-n", "ml", "-f", dump, "-o", "html")


def test_a_snapshot_of_the_node_tells_more_than_its_slices(
    dump: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dumped = json.loads(Path(dump).read_text())
    for item in dumped["items"]:
        if item["kind"] == "ResourceSlice":
            item["metadata"]["name"] += "-x7k2q"  # as drivers name them, not as dractl does
    Path(dump).write_text(json.dumps(dumped))
    hardware = machine("dgx-h100")
    named = snapshot.to_json(hardware) | {"host": {"name": "n"}}
    (tmp_path / "n.json").write_text(json.dumps(named))
    words = (
        "explain",
        "claim/half",
        "-n",
        "ml",
        "-f",
        dump,
        "--devices",
        str(tmp_path / "n.json"),
        "-o",
        "json",
    )
    found = {tuple(one["kinds"]): one for one in json.loads(run(capsys, *words))["alignment"]}[
        "gpu", "nic"
    ]
    assert found["levels"] == {"root": 1, "SYS": 1}
    assert {pair["source"] for pair in found["pairs"]} == {"snapshot"}
    assert found["bestFree"] == {"root": 2}


def test_switches_are_known_from_a_snapshot_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The devices of a machine with PLX switches, as drivers would publish them: a pair on one switch, one across."""
    build(describe("plx-8gpu"), tmp_path / "tree")
    assert (
        main(
            [
                "discover",
                "--root",
                str(tmp_path / "tree"),
                "--save",
                str(tmp_path / "node.json"),
                "-q",
            ]
        )
        == 0
    )
    capsys.readouterr()
    assert (
        main(["devices", "--devices", str(tmp_path / "node.json"), "-o", "json", "--isolated"]) == 0
    )
    devices = json.loads(capsys.readouterr().out)["devices"]
    gpus, nics = (
        [one for one in devices if one["driver"] == driver and one["pcieRoot"]]
        for driver in ("gpu.nvidia.com", "dra.net")
    )
    gpu = gpus[0]
    beside = next(one for one in nics if one["pcieRoot"] == gpu["pcieRoot"])
    far = next(
        one
        for one in nics
        if one["numaNode"] != gpu["numaNode"] and one["pcieRoot"] != gpu["pcieRoot"]
    )
    for nic, levels in ((beside, {"PIX", "PXB", "PHB"}), (far, {"SYS", "NODE"})):
        value = allocated_claim("c", gpu["pool"], gpu=[gpu["device"]], nic=[nic["device"]])
        (tmp_path / "claim.json").write_text(json.dumps(value))
        words = (
            "-f",
            str(tmp_path / "claim.json"),
            "--devices",
            str(tmp_path / "node.json"),
            "-o",
            "json",
        )
        (found,) = json.loads(run(capsys, "explain", "claim/c", "-n", "ml", *words))["alignment"]
        assert set(found["levels"]) <= levels
        assert found["bestFree"] is not None
