"""``dractl cel``: verdict, places, and results on devices."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dractl.cli.main import main
from dractl.resources import data_dir

HOPPER = 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'

SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "gpu.example.com",
        "nodeName": "node-1",
        "pool": {"name": "node-1", "generation": 2, "resourceSliceCount": 1},
        "devices": [
            {"name": "a", "attributes": {"model": {"string": "A100"}, "uuid": {"string": "1"}}},
            {"name": "b", "attributes": {"model": {"string": "A100"}, "uuid": {"string": "2"}}},
            {"name": "c", "attributes": {"model": {"string": "H100"}}},
            {"name": "d"},
        ],
    },
}


@pytest.fixture
def devices(tmp_path: Path) -> str:
    old = json.loads(json.dumps(SLICE))
    old["metadata"]["name"] = "old"
    old["spec"]["pool"]["generation"] = 1
    path = tmp_path / "devices.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [old, SLICE]}))
    return str(path)


def evaluate_json(
    capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0
) -> dict[str, Any]:
    assert main(["cel", *arguments, "-o", "json", "--isolated", "-q"]) == code
    found = json.loads(capsys.readouterr().out)
    schema = json.loads((data_dir("schemas") / "dractl" / "cel-v1.json").read_bytes())
    assert [error.message for error in Draft202012Validator(schema).iter_errors(found)] == []
    assert isinstance(found, dict)
    return found


def test_an_accepted_expression(capsys: pytest.CaptureFixture[str]) -> None:
    found = evaluate_json(capsys, HOPPER)
    assert (found["admission"], found["type"], found["cost"]["limit"]) == ("ok", "bool", 1_000_000)
    assert found["reads"] == [
        {"kind": "attributes", "domain": "gpu.nvidia.com", "name": "architecture"}
    ]
    assert "results" not in found


def test_uncompilable_expression_has_its_positions(capsys: pytest.CaptureFixture[str]) -> None:
    found = evaluate_json(capsys, "true &&\n  devce.driver == 1", code=1)
    assert found["admission"] == "invalid"
    (issue,) = found["issues"]
    assert (issue["line"], issue["column"], issue["offset"]) == (2, 3, 10)
    assert main(["cel", "true &&\n  devce.driver == 1"]) == 1
    lines = capsys.readouterr().out.splitlines()
    line = next(n for n, text in enumerate(lines) if "devce.driver == 1" in text)
    assert lines[line + 1].index("^") == lines[line].index("devce")


@pytest.mark.parametrize(
    ("expression", "code", "said"),
    [
        (
            'device.attributes["gpu.nvidia.com"].architectur == "x"',
            "DRA713",
            "did you mean architecture?",
        ),
        (
            'device.attributes["gpu.nvidia.com"].memory == 1',
            "DRA713",
            'write device.capacity["gpu.nvidia.com"].memory',
        ),
        ('device.attributes["nvidia.com/gpu"].memory == 1', "DRA604", "no device has a domain"),
    ],
)
def test_cel_shows_findings_of_lint(
    expression: str, code: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cel", expression]) == 0
    shown = capsys.readouterr().out
    assert f"warning[{code}]" in shown
    assert said in shown
    main(["cel", expression, "-o", "json"])
    (remark,) = json.loads(capsys.readouterr().out)["remarks"]
    assert remark["code"] == code


def test_a_string_without_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cel", 'device.attributes["gpu.nvidia.com"].architecture == Hopper']) == 1
    assert (
        'help: put strings in quotes: "Hopper"; the only variable is device'
        in capsys.readouterr().out
    )


def test_cost_and_length_have_limits(capsys: pytest.CaptureFixture[str]) -> None:
    attributes = 'device.attributes["a.b"]'
    loop = f"{attributes}.all(k, {attributes}.all(j, {attributes}.all(l, {attributes}.all(m, k == j || l == m))))"
    found = evaluate_json(capsys, loop, code=1)
    assert found["admission"] == "tooComplex"
    assert found["cost"]["max"] > found["cost"]["limit"]
    assert found["evaluable"] is True
    assert evaluate_json(capsys, "true" + " " * 10_240, code=1)["admission"] == "tooLong"


def test_a_refused_expression_is_not_run_on_devices(
    devices: str, capsys: pytest.CaptureFixture[str]
) -> None:
    attributes = 'device.attributes["gpu.example.com"]'
    loop = f"{attributes}.all(k, {attributes}.all(j, {attributes}.all(l, {attributes}.all(m, k == j || l == m))))"
    found = evaluate_json(capsys, loop, "--devices", devices, code=1)
    assert found["admission"] == "tooComplex"
    assert "summary" not in found
    assert main(["cel", loop, "--devices", devices]) == 1
    assert "device" not in capsys.readouterr().out.partition("help:")[2]


def test_devices_are_grouped_by_the_deciding_part(
    devices: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = 'device.attributes["gpu.example.com"].model'
    found = evaluate_json(capsys, f'{model} == "A100"', "--devices", devices, code=1)
    assert found["summary"] == {"true": 2, "false": 1, "error": 1}
    true, false, error = found["results"]
    assert true["devices"] == ["gpu.example.com/node-1/a", "gpu.example.com/node-1/b"]
    assert false["saw"] == [{"name": "gpu.example.com/model", "value": '"H100"'}]
    assert (error["error"], error["decidedBy"]["text"]) == ("no such key: model", model)
    assert error["saw"] == [{"name": "gpu.example.com/model", "value": None}]


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ('"model" in device.attributes["gpu.example.com"]', 0),
        ('device.attributes["gpu.example.com"].?model.orValue("") == "B200"', 1),  # on none
        ('device.attributes["gpu.example.com"].model == "A100"', 1),  # an error on one
        ('device.driver == "gpu.example.com"', 0),
    ],
)
def test_exit_codes(
    expression: str, code: int, devices: str, capsys: pytest.CaptureFixture[str]
) -> None:
    evaluate_json(capsys, expression, "--devices", devices, code=code)


def test_described_machines(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluate_json(capsys, HOPPER, "--hardware", "2xH100,4xA100")["summary"]["true"] == 2
    found = evaluate_json(
        capsys,
        HOPPER,
        "--hardware",
        "dgx-h100",
        "--hardware",
        "dgx-a100",
        "--driver",
        "gpu.nvidia.com",
    )
    assert found["summary"] == {"true": 8, "false": 8, "error": 0}


def test_a_driver_alone_means_every_machine_known_by_name(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = evaluate_json(capsys, HOPPER, "--driver", "gpu.nvidia.com")
    pools = {device.split("/")[1] for group in found["results"] for device in group["devices"]}
    assert {"dgx-h100", "p5.48xlarge", "p4d.24xlarge"} <= pools


def test_devices_of_other_drivers_are_tried_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    found = evaluate_json(capsys, HOPPER, "--hardware", "dgx-h100")
    assert "dra.net" in found["untriedDrivers"]
    found = evaluate_json(capsys, HOPPER, "--hardware", "dgx-h100", "--driver", "all", code=1)
    assert found["summary"]["error"] > 0


def test_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"device.driver ==\n 'a\xff'\n")))
    assert (
        evaluate_json(capsys, "-")["expression"]
        == "device.driver ==\n 'a\N{REPLACEMENT CHARACTER}'"
    )


def test_releases_differ(capsys: pytest.CaptureFixture[str]) -> None:
    shared = "device.allowMultipleAllocations"
    assert evaluate_json(capsys, shared)["admission"] == "ok"
    assert (
        evaluate_json(capsys, shared, "--kubernetes-version", "1.34", code=1)["admission"]
        == "invalid"
    )
    gates = ("--feature-gates", "DRAConsumableCapacity=true")
    assert (
        evaluate_json(capsys, shared, "--kubernetes-version", "1.34", *gates)["admission"] == "ok"
    )


def test_devices_show_the_release(devices: str, capsys: pytest.CaptureFixture[str]) -> None:
    shared = "device.allowMultipleAllocations"
    dump = json.loads(Path(devices).read_text())
    status = {"nodeInfo": {"kubeletVersion": "v1.34.1"}}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": status}
    Path(devices).write_text(json.dumps({**dump, "items": [*dump["items"], node]}))
    assert main(["cel", shared, "--devices", devices, "--isolated"]) == 1
    assert "Kubernetes 1.34 (from kubelets)" in capsys.readouterr().out
    newer = ["--kubernetes-version", "1.37"]
    assert evaluate_json(capsys, shared, "--devices", devices, *newer, code=1)["admission"] == "ok"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["true", "--hardware", "nothing-known"], 2),
        (["true", "--devices", "/does/not/exist"], 3),
        ([], 2),
    ],
)
def test_wrong_usage(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cel", *arguments]) == code
    assert capsys.readouterr().out == ""


def test_control_characters_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cel", "'\x1b[31m' == devce"]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_a_name_not_known_of_a_preview_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--isolated", "-q", "-o", "json", "--kubernetes-version")
    assert main(["cel", "device.health == 1", *options, "1.38"]) == 0
    found = json.loads(capsys.readouterr().out)
    schema = json.loads((data_dir("schemas") / "dractl" / "cel-v1.json").read_bytes())
    Draft202012Validator(schema).validate(found)
    assert found["admission"] == "undecided"
    (remark,) = found["remarks"]
    assert remark["code"] == "DRA806"
    assert "health: not known of 1.38.0-alpha.2, read 2026-" in remark["message"]
    assert main(["cel", "device.health == 1", *options, "1.37"]) == 1
    assert json.loads(capsys.readouterr().out)["admission"] == "invalid"


def test_a_wrong_expression_is_an_error_in_a_preview_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ("--isolated", "-q", "--kubernetes-version", "1.38")
    assert main(["cel", "device.driver == 1", *options]) == 1
    assert "does not compile" in capsys.readouterr().out
