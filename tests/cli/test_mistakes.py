"""Answers of dractl to mistakes: the table mistakes.txt, a block for each, with the exit code, the message and the
hint. A line that ends in `...` is compared up to there."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from dractl.cli.main import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TABLE = Path(__file__).with_name("mistakes.txt").read_text(encoding="utf-8")
BLOCKS = [block.strip().splitlines() for block in TABLE.split("\n\n") if block.strip()]
FILES = {
    "bad.yaml": "{bad: [",
    "empty.yaml": "",
    "notes.txt": "hello",
    "nos.json": "{}",
    "select.toml": '[lint]\nselect = ["DRA799"]\n',
    "release.toml": 'kubernetes-version = "9"\n',
    "level.toml": '[lint]\nfail-on = "critical"\n',
    "claim.yaml": "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: c}\n"
    "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}\n",
    "dep.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n"
    "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: []}}}\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples as ``ex``, and files that are not what somebody thought."""
    found = tmp_path_factory.mktemp("mistakes")
    shutil.copytree(EXAMPLES, found / "ex")
    for name, text in FILES.items():
        (found / name).write_text(text)
    return found


def test_table_has_150_distinct_mistakes() -> None:
    assert len(BLOCKS) >= 150
    assert len({block[0] for block in BLOCKS}) == len(BLOCKS)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block[0].removeprefix("$ dractl "))
def test_a_mistake_is_answered(
    block: list[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    command, code, *expected = block
    assert main(shlex.split(command)[2:]) == int(code)
    captured = capsys.readouterr()
    said = [line for line in captured.err.splitlines() if line.startswith(("error:", "hint:"))]
    said += [line.strip() for line in captured.out.splitlines() if line.startswith("  help:")]
    assert len(said) == len(expected)
    for line, wanted in zip(said, expected, strict=True):
        if wanted.endswith(" ..."):
            assert line.startswith(wanted.removesuffix(" ..."))
        else:
            assert line == wanted
