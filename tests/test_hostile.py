"""Inputs that once had no end, no answer or an internal error: each has an exit code, a sentence and an end.
(That kubectl prints one of them is in tests/cluster/test_kubectl_behaviours.py.)"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from dractl.capacity import placing
from dractl.cli.main import main

HERE = Path(__file__).resolve().parent / "data" / "reliability"
CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: a}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}
"""


@pytest.mark.parametrize(
    ("file", "arguments", "code", "said"),
    [
        ("migrate-json-documents.yaml", ["migrate", "FILE"], 0, "left as it is"),
        ("migrate-nan.yaml", ["migrate", "FILE"], 0, "left as it is"),
        ("explain-quantity-digits.json", ["explain", "-f", "FILE", "-A", "-vv"], 1, "Insufficient cpu"),
        (
            "fit-result-without-device.json",
            ["fit", "-f", "FILE", "claim/cam", "--add", "8xH100", "-n", "ml"],
            0,
            "2 more fit",
        ),
        (
            "render-diff-nodename-list.json",
            ["render", "--hardware", "dgx-h100", "--diff", "FILE"],
            3,
            "no ResourceSlice of node",
        ),
        ("names-not-quoted.json", ["explain", "-f", "FILE", "-A", "-vv"], 3, "no API server takes such a name"),
        (
            "fit-slow.json",
            ["fit", "-f", "FILE", "template/a-gpu", "--add", "8xH100", "-n", "monitoring"],
            0,
            "the search ended undecided",
        ),
        ("devices-html-slow.json", ["devices", "-f", "FILE", "-o", "html"], 0, "</html>"),
        (
            "fit-admin-access-add-valid.yaml",
            ["fit", "-f", "FILE", "template/a", "-n", "m", "--add", "8xH100"],
            0,
            "the search ended undecided",
        ),
        (
            "fit-admin-access-add-valid.yaml",
            ["fit", "-f", "FILE", "template/a", "-n", "m"],
            0,
            "110 more fit",
        ),
        (
            "fit-admin-access-add-valid.yaml",
            ["fit", "-f", "FILE", "template/a", "-n", "m", "--add", "8xH100*100000"],
            2,
            "makes 1,000,000 devices",
        ),
    ],
)
def test_each_input_has_its_answer(
    file: str,
    arguments: list[str],
    code: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(placing, "COPIES", 40 if "110" not in said else placing.COPIES)
    shutil.copy(HERE / file, tmp_path)
    words = [str(tmp_path / file) if word == "FILE" else word for word in arguments]
    assert main([*words, "--isolated"]) == code
    captured = capsys.readouterr()
    assert said in " ".join((captured.out + captured.err).split())
    assert "internal error" not in captured.err


def test_a_node_without_allocatable_is_filled_to_a_stated_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(placing, "COPIES", 30)
    text = (HERE / "fit-admin-access-add-valid.yaml").read_text()
    (tmp_path / "a.yaml").write_text("\n".join(line for line in text.splitlines() if not line.startswith("status:")))
    assert main(["fit", "-f", str(tmp_path / "a.yaml"), "template/a", "-n", "m", "--isolated"]) == 0
    assert "at least 30 more fit: the search ended undecided" in capsys.readouterr().out


# -- files that a configuration names --


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "a.yaml").write_text(CLAIM)
    monkeypatch.chdir(tmp_path / "repo")
    return tmp_path / "repo"


def configured(repository: Path, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    (repository / "dractl.toml").write_text(f"[lint]\n{text}\n")
    code = main(["lint", "a.yaml"])
    return code, capsys.readouterr().err


@pytest.mark.parametrize("key", ["devices", "baseline"])
@pytest.mark.parametrize("path", ["/dev/zero", "/proc/self/environ", "../secret.json", "link.json", "loop", "/"])
def test_nothing_outside_of_the_repository_is_read(
    path: str, key: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository.parent / "secret.json").write_text("{}")
    (repository / "link.json").symlink_to(repository.parent / "secret.json")
    (repository / "loop").symlink_to(repository / "loop")
    value = f'"{path}"' if key == "baseline" else f'["{path}"]'
    code, error = configured(repository, f"{key} = {value}", capsys)
    assert code == 2
    assert f"lint.{key}: {path} " in error
    assert "is outside of" in error or "cannot be looked at" in error


@pytest.mark.parametrize("key", ["devices", "baseline"])
def test_a_pipe_is_not_opened(key: str, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(repository / "pipe")
    code, error = configured(repository, f"{key} = " + ('"pipe"' if key == "baseline" else '["pipe"]'), capsys)
    assert code == 2
    assert f"lint.{key}: pipe is not a regular file" in error


def test_a_folder_with_a_link_out_of_the_repository(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "slices").mkdir()
    (repository / "slices" / "x.yaml").symlink_to("/etc/passwd")
    code, error = configured(repository, 'devices = ["slices"]', capsys)
    assert code == 2
    assert "lint.devices: slices: x.yaml is outside of" in error


def test_a_file_of_a_size_that_nobody_has(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with (repository / "big.json").open("wb") as file:
        file.truncate(1 << 40)
    code, error = configured(repository, 'baseline = "big.json"', capsys)
    assert code == 2
    assert "larger than a configuration may name" in error


def test_the_repository_may_have_the_configuration_in_a_folder(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "ci").mkdir()
    (repository / "baseline.json").write_text('{"schema": "dractl/lint/v1", "findings": []}')
    (repository / "ci" / "dractl.toml").write_text('[lint]\nbaseline = "../baseline.json"\n')
    assert main(["lint", "--config", "ci/dractl.toml", "a.yaml"]) in (0, 1)
    assert "outside" not in capsys.readouterr().err


def test_the_command_line_may_name_any_file(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository.parent / "baseline.json").write_text('{"schema": "dractl/lint/v1", "findings": []}')
    assert main(["lint", "--baseline", "../baseline.json", "a.yaml"]) in (0, 1)
    assert "outside" not in capsys.readouterr().err


@pytest.mark.parametrize("file", ["devices-dev-zero.toml", "baseline-dev-zero.toml"])
def test_the_configurations_that_stopped_a_check(
    file: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(HERE / file, repository / "dractl.toml")
    assert main(["lint", "a.yaml"]) == 2
    assert "/dev/zero is outside of" in capsys.readouterr().err


@pytest.mark.parametrize("path", ["/", "/proc", "/dev/zero"])
def test_a_machine_file_is_a_file(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "--hardware", path, "--isolated"]) == 3
    assert f"{path}: is not a file" in capsys.readouterr().err


def test_add_ignore_changes_nothing_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(HERE / "add-ignore-grows.yaml", tmp_path / "a.yaml")
    monkeypatch.chdir(tmp_path)
    main(["lint", "--isolated", "--add-ignore", "a.yaml"])
    once = (tmp_path / "a.yaml").read_text()
    main(["lint", "--isolated", "--add-ignore", "a.yaml"])
    assert (tmp_path / "a.yaml").read_text() == once
