"""Inputs that once made dractl fail, hang or leave something out, found by mutating valid ones.

Each input results in an answer, or in an error that states the place of the fault.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dractl.cli.main import main

DAMAGED = Path(__file__).parent / "data" / "damaged"

EXPLAIN = {
    "02746cc4ea": (
        3,
        "metadata.name of this ResourceClaim is '[1,2].all(x,true)'; no API server takes such a name",
    ),
    "07ea7c7c02": (
        3,
        "Pod/ml/train-0: spec.containers[0].resources.claims[0]: must be a map, not a string",
    ),
    "1f8f692018": (3, "spec.devices[1].attributes: must be a map, not a string"),
    "2bcae3ad35": (1, "no such key: productName"),
    "32337339b0": (3, "Pod/ml/train-0: spec.containers[0].resources: must be a map, not a string"),
    "32479f634c": (1, "pool gpu.nvidia.com/node-1 is incomplete: 1 of 9223372036854775807 slices"),
    "47763eca03": (3, "spec.devices[1].attributes: must be a map, not a string"),
    "54faeb56ff": (1, "pool dra.net/node-1 is incomplete: 1 of 2 slices of generation 1 exist"),
    "55196fbbf6": (
        3,
        "ResourceClaim/ml/train-0-vf: spec.devices.requests[1].exactly.selectors[0].cel: must be a map",
    ),
    "82f1a8201e": (3, "Pod/train-0: status.conditions[0]: must be a map, not a list"),
    "86a74c2c9a": (3, "metadata.name of this DeviceClass holds control characters"),
    "b0be4b0e86": (3, "the document is a string, not a Kubernetes object"),
    "b6233287ba": (3, "metadata.name of this ResourceClaim holds control characters"),
    "bc60e3c6f4": (3, "spec.devices[0].attributes: must be a map, not a string"),
    "d8e13d03b8": (3, "metadata.namespace of this ResourceClaim holds control characters"),
    "da0da09a54": (1, "pool gpu.nvidia.com/node-1 is incomplete: 1 of 9223372036854775807 slices"),
    "e8bf885230": (1, "no such key: memory"),
    "f8bde8db5c": (3, "metadata.name of this ResourceClaim holds control characters"),
    "fd462edb75": (3, "spec.devices[0].attributes: must be a map, not a string"),
}
LINT = {
    "04898e6140": [
        "3:1: error DRA801",
        '23:21: error DRA102 spec.devices.requests[1]: Duplicate value: "a"',
    ],
    "062d5a2336": [
        '6:3: error DRA003 unknown field "spec.extendedResouyesrceName"',
        "7:3: error DRA003",
    ],
    "187e8ac1d8": ['8:3: error DRA004 key "d\\tevices" already set', "9:7: error DRA003"],
    "1a4eaa6353": [
        '14:9: error DRA004 key "deviceClassName" already set',
        "15:9: error DRA002",
        "13:9: error DRA003",
    ],
    "1b9bcb102b": ['8:1: error DRA004 key "pec" already set', "14:11: error DRA002"],
    "38d41614b9": ["5:7: error DRA801"],
    "3f77405485": ["14:6: error DRA001 did not find expected key"],
    "4286c96ff4": ['10:7: error DRA004 key "deviceClassName" already set', "13:19: error DRA002"],
    "5333827d31": [
        '12:3: error DRA004 key "pool" already set',
        '16:5: error DRA004 key "generatation"',
        "24:20: error",
    ],
    "698d2c0575": ["2:7: error DRA801", '7:1: error DRA004 key "etadata" already set'],
    "6f540afcda": ["1:13: error DRA801", "10:7: error DRA004", "20:23: error DRA122"],
    "74380f712f": ["10:7: error DRA004", "11:14: error DRA002"],
    "7ae581005d": ["12:23: error DRA002", "13:7: error DRA004"],
    "9635d6c8ea": ["8:7: error DRA003", "11:7: error DRA003"],
    "a7515c9816": [
        '7:3: error DRA003 unknown field "spec.DEVICES"',
        "15:3: error DRA002",
        "19:77: error DRA002",
    ],
    "a964182c63": ["19:3: error DRA001 could not find expected ':'"],
    "b7cc54a464": ['13:5: error DRA004 key "cons:traints" already set', "13:5: error DRA002"],
    "b8a2594921": ["2:7: error DRA801", '6:1: error DRA004 key "etadata" already set'],
    "be969d4de6": ["15:9: error DRA003", "16:9: error DRA003", "20:23: error DRA122"],
    "d1a12dab47": ['13:7: error DRA004 key "deviceClassName" already set', "13:24: error DRA002"],
    "d3f3c1f350": ["17:5: error DRA001 did not find expected key"],
    "d8189834f0": ['8:1: error DRA004 key "spe\\u202ec" already set', "8:1: error DRA002"],
    "d84dd43e36": [
        '7:1: error DRA004 key "kind" already set',
        '10:1: error DRA003 unknown field "pec"',
    ],
    "e0dcd6905a": [
        "4:3: error DRA002 metadata.name must be a string, not a map",
        "19:19: error DRA003",
    ],
    "e6572f1f8f": ["1:13: error DRA801", "12:7: error DRA004", "13:7: error DRA004"],
    "f14cc98d04": [
        '7:1: error DRA004 key "etadata" already set',
        '9:1: error DRA004 key "spec" already set',
    ],
    "f5936d2de4": ['2:1: error DRA003 unknown field "kin/v1d": did you mean kind?'],
}
SNAPSHOTS = {
    "11a0b9f776": (0, "gpu-6?"),
    "958bf34862": (3, "pciDevices[49].maxLinkSpeed must be a number of at most 1.8e308"),
    "ce56a9cc16": (0, "gpu-6?"),
}


def files(kind: str) -> list[Path]:
    return sorted((DAMAGED / kind).iterdir())


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main([*arguments, "--isolated"])
    captured = capsys.readouterr()
    return code, " ".join((captured.out + captured.err).split())


@pytest.fixture(autouse=True)
def _wide_and_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize("file", files("explain"), ids=lambda file: file.stem)
def test_explain(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = answer(capsys, "explain", "-f", str(file))
    assert (code, EXPLAIN[file.stem][1] in text) == (EXPLAIN[file.stem][0], True), text


@pytest.mark.parametrize("file", files("lint"), ids=lambda file: file.stem)
def test_lint(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = answer(capsys, "lint", str(file), "-o", "concise")
    assert code == 1
    name = os.path.relpath(file)  # paths are relative to the working directory in every output
    assert [wanted for wanted in LINT[file.stem] if f"{name}:{wanted}" not in text] == [], text


@pytest.mark.parametrize("file", files("snapshot"), ids=lambda file: file.stem)
def test_discover(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = answer(capsys, "discover", "--from", str(file))
    assert (code, SNAPSHOTS[file.stem][1] in text) == (SNAPSHOTS[file.stem][0], True), text


@pytest.mark.parametrize("file", files("cel"), ids=lambda file: file.stem)
def test_a_selector_beyond_the_limit_is_tried_in_bounded_steps(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Loops in loops and lists of a million: the runtime's own cost limit ends them, as it does in kube-scheduler."""
    code, text = answer(capsys, "cel", file.read_text(), "--hardware", "dgx-h100")
    assert code == 1
    assert "too complex: cost at most" in text or "actual cost limit exceeded" in text


SELECTING = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a, namespace: ml}
spec:
  devices:
    requests:
    - name: r
      exactly:
        deviceClassName: gpu.nvidia.com
        selectors: [{cel: {expression: 'device.attributes["gpu.nvidia.com"].architecture == "Hopper"'}}]
"""


@pytest.mark.parametrize(
    "command",
    [
        "explain -f DUMP",
        "devices -f DUMP",
        "devices --devices DUMP",
        "fit CLAIM --devices DUMP",
        "fit gpu=1 -f DUMP",
        "cel true --devices DUMP",
        "lint CLAIM --devices DUMP",
    ],
)
def test_invalid_object_of_a_dump_is_reported_with_its_file(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (dump,) = (DAMAGED / "explain").glob("1f8f692018*")
    (tmp_path / "claim.yaml").write_text(SELECTING)
    paths = {"DUMP": str(dump), "CLAIM": str(tmp_path / "claim.yaml")}
    code, text = answer(capsys, *[paths.get(word, word) for word in command.split()])
    wanted = "ResourceSlice/00001-gpu.nvidia.com-node-1-x7k2p: spec.devices[1].attributes: must be a map, not a string"
    name = os.path.relpath(dump)
    assert (code, f"error: {name}: {wanted}" in text) == (3, True), text


@pytest.mark.parametrize(
    "command",
    [
        "explain -f CLAIM --devices NODE",
        "devices --devices NODE",
        "fit CLAIM --hardware NODE",
        "cel true --devices NODE",
        "lint CLAIM --devices NODE",
        "render --from NODE",
    ],
)
def test_invalid_machine_is_reported_with_its_file(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (node,) = (DAMAGED / "snapshot").glob("958bf34862*")
    (tmp_path / "claim.yaml").write_text(SELECTING)
    paths = {"NODE": str(node), "CLAIM": str(tmp_path / "claim.yaml")}
    code, text = answer(capsys, *[paths.get(word, word) for word in command.split()])
    assert (
        code,
        f"error: {node}: pciDevices[49].maxLinkSpeed must be a number of at most" in text,
    ) == (3, True), text
