"""One folder for each complaint that reached the trackers of Kubernetes and its drivers: in ``objects.yaml`` what a
cluster holds then, in ``expected.yaml`` what the answer must say; ``network.yaml`` are pools of network devices.

The folder's name says the situation (``E7-admin-access-label-removed``), after a letter for its subject and the next
free number: A a class, template, claim or driver that is missing, B selectors and constraints, C taints, D pools and
slices, E what others hold, quotas and limits, F the search, feature gates and races, G the pod and its nodes, H devices
of no single node.

``subject`` (with ``namespace``) is asked about, for ``release`` with ``gates``, on ``node`` alone if one is given.
``reason`` is the first reason, or one of ``also`` is; ``nodes`` gives the first reason of single nodes, ``verdict`` the
verdict where there is no reason. ``names`` must be named. ``fix`` is the shape of one fix that is printed: keys and
items that are given must be there, a text may be part of a longer one; an empty list is a fix that changes no object,
such as to wait. Of what only a driver can do it is the shape of what was tried. ``lint`` is the code of a finding in
the objects. Each of these may be left out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dractl.cli.main import main

OPTIONS = {
    "namespace": "-n",
    "release": "--kubernetes-version",
    "gates": "--feature-gates",
    "node": "--node",
}
FOLDERS = sorted(path.parent for path in Path(__file__).parent.glob("*/expected.yaml"))


def fits(shape: Any, value: Any) -> bool:
    """Return True if ``value`` has all that ``shape`` gives."""
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(
            key in value and fits(part, value[key]) for key, part in shape.items()
        )
    if isinstance(shape, list):
        return isinstance(value, list) and len(shape) == len(value) and all(map(fits, shape, value))
    if isinstance(shape, str) and isinstance(value, str):
        return shape in value
    return bool(shape == value)


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--isolated", "--exit-zero", "-q", "-o", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def explain(
    capsys: pytest.CaptureFixture[str], folder: Path, expected: dict[str, Any]
) -> dict[str, Any]:
    options = [
        text
        for key, option in OPTIONS.items()
        if key in expected
        for text in (option, expected[key])
    ]
    network = folder / "network.yaml"
    options += ["--network-devices", str(network)] if network.exists() else []
    answer: dict[str, Any] = ask(
        capsys, "explain", "-f", str(folder / "objects.yaml"), *options, expected["subject"]
    )
    return answer


def check_answer(answer: dict[str, Any], expected: dict[str, Any]) -> None:
    if "reason" in expected:
        assert answer["reasons"], f"no reason: {answer['headline']}"
        first = answer["reasons"][0]
        assert first["code"] in (expected["reason"], *expected.get("also", ())), first["message"]
    if "verdict" in expected:
        assert answer["verdict"] == expected["verdict"], answer["headline"]
    for name, code in expected.get("nodes", {}).items():
        node = next(n for n in answer["nodes"] if name in (n["name"], *n.get("like", ())))
        assert node["reasons"][0]["code"] == code, node["reasons"]
    if "fix" in expected:
        tried = [
            changes for fix in answer["fixes"] for changes in (fix["changes"], fix.get("tried"))
        ]
        assert any(fits(expected["fix"], changes) for changes in tried), tried
    if "next" in expected:
        steps = [step["text"] for step in answer["next"]]
        assert any(expected["next"] in step for step in steps), steps


def test_there_are_scenarios() -> None:
    assert FOLDERS


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_answer_has_the_reason_the_names_and_the_fix(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = yaml.safe_load((folder / "expected.yaml").read_text())
    texts = []
    if "subject" in expected:
        answer = explain(capsys, folder, expected)
        check_answer(answer, expected)
        parts = ("headline", "reasons", "nodes", "notes", "devices")
        texts.append(json.dumps([answer.get(part) for part in parts], ensure_ascii=False))
    if "lint" in expected:
        findings = ask(capsys, "lint", str(folder / "objects.yaml"))["findings"]
        assert expected["lint"] in [finding["code"] for finding in findings]
        texts.append(
            json.dumps(
                [f["message"] for f in findings if f["code"] == expected["lint"]],
                ensure_ascii=False,
            )
        )
    assert [
        name for name in expected.get("names", ()) if not any(name in text for text in texts)
    ] == []
