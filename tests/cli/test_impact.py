"""``dractl impact``: subjects, formats, exit codes, and its short form in lint and explain."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from dractl.cli.main import main
from dractl.resources import data_dir
from tests.impact.test_recorded import DATA, unpack

if TYPE_CHECKING:
    from pathlib import Path

RULE = """\
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: sick}
spec: {deviceSelector: {driver: gpu.example.com}, taint: {key: example.com/x, effect: EFFECT}}
"""


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Two pods with a GPU each on worker-1, as recorded; b tolerates example.com/broken alone."""
    return unpack(DATA / "evictions" / "rehearsal" / "dump.yaml.gz", tmp_path)


@pytest.fixture
def drained(tmp_path: Path) -> Path:
    return unpack(DATA / "node" / "deployment.yaml.gz", tmp_path)


def rule(folder: Path, effect: str = "NoExecute", **replace: str) -> Path:
    text = RULE.replace("EFFECT", effect)
    for old, new in replace.items():
        text = text.replace(old, new)
    file = folder / "rule.yaml"
    file.write_text(text)
    return file


def impact(*arguments: str | Path) -> int:
    return main(["impact", "--isolated", "-q", *map(str, arguments)])


def test_json_is_valid_against_its_schema(
    drained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = json.loads((data_dir("schemas") / "dractl" / "impact-v1.json").read_bytes())
    for code, *question in (
        (1, "node/node-1", "--drain"),
        (0, "node/node-1", "--cordon"),
        (0, "node/node-1", "--reboot"),
        (0, "driver/lab.node.test"),
        (1, rule(tmp_path, **{"gpu.example.com": "lab.node.test"})),
    ):
        assert impact(*question, "-f", drained, "-o", "json") == code
        Draft202012Validator(schema).validate(json.loads(capsys.readouterr().out))


def test_text_names_pods_times_and_causes(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert impact(rule(tmp_path), "-f", dump) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("DeviceTaintRule/sick: pods: 2 evicted")
    assert "ml/a at once: DeviceTaintRule sick gives gpu-" in text
    assert "PodDisruptionBudgets do not count" in text


def test_yaml_has_the_content_of_json(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    impact(rule(tmp_path), "-f", dump, "-o", "json")
    as_json = json.loads(capsys.readouterr().out)
    impact(rule(tmp_path), "-f", dump, "-o", "yaml")
    assert yaml.safe_load(capsys.readouterr().out) == as_json


def test_html_is_a_page(dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert impact(rule(tmp_path), "-f", dump, "-o", "html") == 1
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>")
    assert "ml/a" in page


def test_exit_zero(dump: Path, tmp_path: Path) -> None:
    assert impact(rule(tmp_path), "-f", dump) == 1
    assert impact(rule(tmp_path), "-f", dump, "--exit-zero") == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name what changes"),
        (["node/a", "node/b"], "one change at a time"),
        (["node/node-11"], "did you mean node-1"),
        (["driver/lab.nod.test"], "did you mean lab.node.test"),
        (["driver/lab.node.test", "--node", "node-11"], "did you mean node-1"),
        (["nod/x"], "did you mean node"),
        (["node-1"], "a node is node/node-1"),
        (["node/node-1", "--cordon", "--drain"], "exclude each other"),
        (["node/node-1", "--restart"], "--restart goes with driver/NAME"),
        (["driver/lab.node.test", "--drain"], "--drain goes with node/NAME"),
    ],
)
def test_wrong_usage_is_exit_2(
    arguments: list[str], message: str, drained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert impact(*arguments, "-f", drained) == 2
    assert message in capsys.readouterr().err


def test_a_file_without_taints_is_refused(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text("{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: []}}")
    assert impact(file, "-f", dump) == 3
    assert "no DeviceTaintRule and no ResourceSlice, only Pod" in capsys.readouterr().err


def test_a_broken_file_is_refused_at_its_place(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("kind: DeviceTaintRule\n  metadata: [")
    assert impact(file, "-f", dump) == 3
    assert "broken.yaml:2" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        {"spec": {}},
        {"spec": {"taint": None, "deviceSelector": {}}},
        {
            "spec": {
                "taint": {"key": "a", "effect": "NoExecute", "timeAdded": "soon"},
                "deviceSelector": {},
            }
        },
        {"spec": {"taint": [], "deviceSelector": []}},
        {"spec": "x"},
    ],
)
def test_invalid_rule_ends_without_a_traceback(
    change: dict[str, Any], dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "a"},
    }
    file = tmp_path / "rule.json"
    file.write_text(json.dumps(head | change))
    assert impact(file, "-f", dump) in (0, 1, 3)
    assert "internal error" not in capsys.readouterr().err


def test_inconsistent_claims_are_taken_as_they_are(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two claims of one device, a reservation of a pod that is gone, an allocation without results."""
    value = yaml.safe_load(dump.read_text())
    claims = [item for item in value["items"] if item["kind"] == "ResourceClaim"]
    results = claims[0]["status"]["allocation"]["devices"]["results"]
    claims[1]["status"]["allocation"]["devices"]["results"] = results
    claims[0]["status"]["reservedFor"] = [{"resource": "pods", "name": "gone", "uid": "x"}]
    dump.write_text(yaml.safe_dump(value))
    assert impact(rule(tmp_path), "-f", dump, "-o", "json") == 1
    effects = {p["pod"]: p["effect"] for p in json.loads(capsys.readouterr().out)["pods"]}
    assert effects == {"ml/a": "kept", "ml/b": "evicted"}
    claims[1]["status"]["allocation"] = {"devices": {}}
    dump.write_text(yaml.safe_dump(value))
    assert impact(rule(tmp_path), "-f", dump) == 0


def test_without_claims_and_pods_the_answer_is_unknown(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = yaml.safe_load(dump.read_text())
    value["items"] = [i for i in value["items"] if i["kind"] in ("ResourceSlice", "DeviceClass")]
    dump.write_text(yaml.safe_dump(value))
    assert impact(rule(tmp_path), "-f", dump) == 0
    text = capsys.readouterr().out
    assert "who runs on the devices is unknown" in " ".join(text.split())


# -- the short form --


def test_lint_says_whom_a_rule_hits(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", "--isolated", str(rule(tmp_path)), "--devices", str(dump)]) == 0
    assert "evicts 2 pods (ml/a, ml/b)" in capsys.readouterr().err


def test_explain_says_whom_a_stored_rule_hits(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = unpack(DATA / "evictions" / "rehearsal" / "dump.yaml.gz", tmp_path)
    value = yaml.safe_load(dump.read_text())
    value["items"].append(yaml.safe_load(rule(tmp_path, "NoSchedule").read_text()))
    dump.write_text(yaml.safe_dump(value))
    question = ["explain", "--isolated", "-q", "-f", str(dump)]
    assert main([*question, "devicetaintrule/sick"]) == 0
    assert "2 pods that use them stay: no pod is evicted" in capsys.readouterr().out
    assert main([*question, "devicetaintrule/sik"]) == 3
    assert "did you mean sick?" in capsys.readouterr().err
    assert main([*question, "devicetaintrule/sick", "-o", "json"]) == 2
