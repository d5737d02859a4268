"""Parts that every command shares: the release and its source, notes, formats, totals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from dractl.cli.main import main
from dractl.report.canvas import Canvas

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CAPACITY = str(EXAMPLES / "capacity")
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}
"""


@pytest.fixture
def claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "claim.yaml").write_text(CLAIM)
    monkeypatch.chdir(tmp_path)
    return "claim.yaml"


def run_command(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> tuple[str, str]:
    assert main(list(words)) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_lint_names_the_file_or_variable_with_the_release(
    claim: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "for Kubernetes 1.37 (default)" in run_command(capsys, "lint", claim)[0]
    Path("dractl.toml").write_text('kubernetes-version = "1.35"\n')
    assert "for Kubernetes 1.35 (dractl.toml)" in run_command(capsys, "lint", claim)[0]
    monkeypatch.setenv("DRACTL_KUBERNETES_VERSION", "1.36")
    assert (
        "for Kubernetes 1.36 (DRACTL_KUBERNETES_VERSION)" in run_command(capsys, "lint", claim)[0]
    )
    assert run_command(capsys, "lint", claim, "--kubernetes-version", "1.34")[0].endswith(
        "for Kubernetes 1.34\n"
    )


def test_machine_assumptions_are_reported_once_and_not_beside_an_error(
    claim: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, err = run_command(capsys, "cel", "true", "--hardware", "dgx-h100,dgx-h100")
    assert err.count("note: dgx-h100: assumed: PCIe roots") == 1
    assert (
        "assumed"
        not in run_command(capsys, "render", "--hardware", "dgx-h100", "--driver", "nope", code=2)[
            1
        ]
    )
    assert (
        "assumed"
        not in run_command(capsys, "explain", "x", claim, "--hardware", "dgx-h100", code=3)[1]
    )


def test_devices_ends_with_totals_and_leaves_out_a_column_of_zeros(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, _ = run_command(capsys, "devices", "-f", CAPACITY)
    assert "\n34 devices on 3 nodes: 30 free, 4 held    Kubernetes 1.37 (from kubelets)\n" in out
    assert "OUT OF SERVICE" not in out
    assert (
        "OUT OF SERVICE"
        in run_command(capsys, "devices", "-f", CAPACITY, "--sort-by", "out-of-service")[0]
    )
    assert run_command(capsys, "devices", "-f", CAPACITY, "-v") == run_command(
        capsys, "devices", "-f", CAPACITY, "-o", "wide"
    )


def test_totals_name_devices_out_of_service(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = tmp_path / "rule.yaml"
    rule.write_text(
        "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceTaintRule\nmetadata: {name: flaky}\nspec:\n"
        "  deviceSelector: {driver: gpu.nvidia.com}\n  taint: {key: example.com/flaky, effect: NoSchedule}\n"
    )
    gates = ("--kubernetes-version", "1.37")
    out, _ = run_command(
        capsys,
        "devices",
        "--hardware",
        "2xH100*2",
        "-f",
        str(rule),
        "--driver",
        "gpu.nvidia.com",
        *gates,
    )
    assert "4 devices on 2 nodes: 0 free, 0 held, 4 out of service" in out


def test_numbers_are_whole_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 60 columns: the model gives way, then names of holders, never a digit."""
    monkeypatch.setattr("dractl.cli.terminal.canvas", lambda **_: Canvas(60))
    lines = run_command(capsys, "devices", "-f", CAPACITY)[0].splitlines()
    assert [line.split()[2:5] for line in lines[1:3]] == [["4", "4", "0"], ["8", "6", "2"]]
    assert max(map(len, lines)) <= 60


def test_a_file_with_a_cluster_is_one_for_fit(
    claim: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, _ = run_command(capsys, "fit", CAPACITY)
    assert out.startswith("ResourceClaimTemplate/ml/gpu-and-nic ")
    assert "7 more copies fit" in out
    folder = Path("dump")
    folder.mkdir()
    (folder / "cluster.yaml").write_text(
        (EXAMPLES / "capacity" / "cluster.yaml").read_text() + "\n---\n" + CLAIM
    )
    assert (
        "hint: name one, with -f dump: resourceclaimtemplate/gpu-and-nic"
        in run_command(capsys, "fit", "dump", code=2)[1]
    )


def test_nodes_without_a_copy_are_left_out_where_others_have_some(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert "0 on" not in run_command(capsys, "fit", "gpu=8", "-f", CAPACITY, "--add", "dgx-h100")[0]
    assert (
        "0 on each of hgx-1, hgx-2, hgx-3"
        in run_command(capsys, "fit", "gpu=8", "-f", CAPACITY, "--add", "dgx-h100", "-v")[0]
    )
    assert (
        "0 on each of hgx-1, hgx-2, hgx-3"
        in run_command(capsys, "fit", "gpu=8", "-f", CAPACITY, code=1)[0]
    )


@pytest.mark.parametrize(
    "words",
    [
        ["facts"],
        ["rule", "DRA701"],
        ["rule", "gpu.nvidia.com"],
        ["lint", "--isolated", str(EXAMPLES / "explain")],
    ],
)
def test_yaml_is_the_content_of_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    in_json = json.loads(run_command(capsys, *words, "-o", "json")[0])
    assert yaml.safe_load(run_command(capsys, *words, "-o", "yaml")[0]) == in_json


def test_a_workload_in_a_file_without_a_cluster_gets_no_node_for_a_fix(
    claim: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: x}]}\n"
    )
    out, _ = run_command(capsys, "explain", "pod/p", "-f", "pod.yaml", code=1)
    assert "add a node" not in out
    assert "--hardware" in out
