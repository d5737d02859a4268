"""Selectors against what kube-apiserver and kube-scheduler of each release said to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dractl.model.releases import COMPARED
from tests.conformance import replay_cel
from tests.conftest import SAMPLE, WHOLE

DIFFERENCES: dict[str, str] = {
    case: reason
    for case, reason in json.loads(
        Path(__file__).with_name("cel_differences.json").read_text("utf-8")
    ).items()
    if case != "comment"
}


def test_differences_are_few(shared: Path) -> None:
    cases = (shared / "conformance/cel/cases.jsonl").read_bytes().count(b"\n")
    assert not WHOLE or len(DIFFERENCES) <= 0.003 * cases


@pytest.mark.parametrize("release", COMPARED)
def test_sample(release: str, shared: Path, record_property: pytest.RecordProperty) -> None:
    compare(release, shared, record_property, SAMPLE)


@pytest.mark.conformance
@pytest.mark.parametrize("release", COMPARED)
def test_all(release: str, shared: Path, record_property: pytest.RecordProperty) -> None:
    compare(release, shared, record_property, 1)


def compare(release: str, shared: Path, record_property: pytest.RecordProperty, every: int) -> None:
    data = shared / "conformance/cel"
    devices = json.loads((data / "devices.json").read_text("utf-8"))
    cases = map(json.loads, (data / "cases.jsonl").read_text("utf-8").splitlines()[::every])
    recorded = map(
        json.loads, (data / f"verdicts-{release}.jsonl").read_text("utf-8").splitlines()[::every]
    )
    wrong: list[str] = []
    count = 0
    texts = {"compile": [0, 0], "evaluation": [0, 0]}
    for case, want in zip(cases, recorded, strict=True):
        assert case["id"] == want["id"]
        count += 1
        got = replay_cel.answer(case, release, devices)
        differences = [] if case["id"] in DIFFERENCES else different(want, got)
        if differences:
            wrong.append(f"{case['id']} {case['expression']!r}: {', '.join(differences)}")
        count_equal_texts(want, got, texts)
    record_property("cases", count)
    for kind, (same, total) in texts.items():
        record_property(f"{kind} texts", f"{same} of {total}")
    assert not wrong, "\n".join(wrong[:20])
    for same, total in texts.values():
        assert same >= 0.99 * total


def different(want: dict[str, Any], got: dict[str, Any]) -> list[str]:
    """Return the differences: admission, type, cost (new and stored), value or error on each device."""
    found = [
        f"{name} {want.get(name)!r} but {got.get(name)!r}"
        for name in ("admission", "errorType", "outputType", "maxCost")
        if want.get(name) != got.get(name)
    ]
    stored, mine = want.get("stored") or {}, got.get("stored") or {}
    found += [
        f"stored {name}"
        for name in ("errorType", "outputType", "maxCost")
        if stored.get(name) != mine.get(name)
    ]
    results, answers = want.get("results") or [], got.get("results") or []
    if len(results) != len(answers):
        return [*found, "stored expression compiles or not"]
    for result, answer in zip(results, answers, strict=True):
        if "value" not in result.get("unstable", ()) and result.get("value") != answer.get("value"):
            found.append(f"{result} but {answer}")
    return found


def count_equal_texts(
    want: dict[str, Any], got: dict[str, Any], texts: dict[str, list[int]]
) -> None:
    """Count the error texts that are equal; wording may differ, but seldom."""
    if want["compile"] != "ok":
        texts["compile"][1] += 1
        texts["compile"][0] += want["compile"] == got["compile"]
    for result, answer in zip(want.get("results") or (), got.get("results") or (), strict=False):
        if "error" in result and "error" not in result.get("unstable", ()):
            texts["evaluation"][1] += 1
            texts["evaluation"][0] += result["error"] == answer.get("error")
