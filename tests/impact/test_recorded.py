"""Situations that were played on Kubernetes 1.37.1, with what happened to each pod.

``data/impact/evictions``: taints of devices on a control plane (tests/live/impact_evictions.py). ``data/impact/node``:
drains and restarts of a driver on a real node, which has a second Node object beside it (tests/live/impact_plays.py).
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from dractl.cli.main import main
from tests.live.impact_evictions import Record
from tests.live.impact_plays import Outcome

DATA = Path(__file__).resolve().parent.parent / "data" / "impact"
EVICTIONS = sorted(file.parent for file in (DATA / "evictions").glob("*/expected.json"))
PLAYS = sorted((DATA / "node").glob("*.json"))


def ask(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    code = main(["impact", "--isolated", "-q", "-o", "json", *map(str, arguments)])
    return code, json.loads(capsys.readouterr().out)


def unpack(file: Path, folder: Path) -> Path:
    target = folder / "dump.yaml"
    target.write_bytes(gzip.decompress(file.read_bytes()))
    return target


@pytest.mark.parametrize("folder", EVICTIONS, ids=lambda folder: folder.name)
def test_evictions_by_taints(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = json.loads((folder / "expected.json").read_bytes())
    dump = unpack(folder / "dump.yaml.gz", tmp_path)
    code, said = ask(capsys, folder / "change.json", "-f", dump)
    record = Record("", "", expected["at"], expected["messages"])
    assert not record.differences(said, expected["watched"])
    assert code == int(any(pod["effect"] == "evicted" for pod in said["pods"]))


def test_rehearsal_counts_like_the_controller(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The condition of the rule: 4 published devices selected. 2 allocated devices selected. 1 pod would be evicted."""
    folder = DATA / "evictions" / "rehearsal"
    dump = unpack(folder / "dump.yaml.gz", tmp_path)
    code, said = ask(capsys, folder / "change.json", "-f", dump)
    message = json.loads((folder / "expected.json").read_bytes())["messages"]["sick"]
    for count in ("4 published device", "2 allocated device", "1 pod", "1 namespace"):
        assert count in message
        assert any(count in note for note in said["notes"])
    assert code == 0
    assert {pod["pod"]: pod["effect"] for pod in said["pods"]} == {"ml/a": "kept", "ml/b": "kept"}


@pytest.mark.parametrize("file", PLAYS, ids=lambda file: file.stem)
def test_drains_and_restarts_on_a_real_node(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = json.loads(file.read_bytes())
    dump = unpack(file.with_suffix(".yaml.gz"), tmp_path)
    outcome = Outcome(before=played["before"], happened=played["happened"], placed=played["placed"])
    outcome.code, outcome.said = ask(capsys, *played["change"], "-f", dump)
    assert not outcome.differences()
