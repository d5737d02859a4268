"""Validation agrees with real API servers of each release: the set of (type, field) of a rejection."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dractl.manifests import load
from dractl.model import Target
from dractl.model.releases import COMPARED, parse_gates
from dractl.validation.validate import validate
from tests.conftest import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

GATES = ("default", "all")

Said = set[tuple[str, str | None]]


def validate_text(text: str, target: Target) -> Said:
    """The causes found in the last document of a text; a Namespace before it says what its labels are."""
    inputs = load(["-"], stdin=text.encode())
    if any(item.refused for item in inputs.broken):
        return {("BadRequest", None)}
    document = inputs.documents[-1]
    namespaces = {
        d.name: d.value["metadata"].get("labels", {})
        for d in inputs.documents
        if d.kind == "Namespace"
    }
    found = validate(document.value, target, namespaces=namespaces, faults=document.faults)
    return {(violation.type, violation.field) for violation in found if violation.type}


def agrees(verdict: dict[str, Any], found: Said) -> bool:
    if verdict["accepted"]:
        return not found
    if verdict["code"] == 422:
        return found == {(cause["type"], cause["field"]) for cause in verdict["causes"]}
    types = {type_ for type_, _ in found}
    if verdict["code"] == 400:
        return types == {"BadRequest"}
    return (
        types == {"NotServed"} if verdict["reason"] == "NotServed" else bool(types)
    )  # else the server crashed


def compare(shared: Path, release: str, gates: str, step: int, record_property: Any) -> None:
    folder = shared / "conformance" / "validation"
    cases = [json.loads(line) for line in (folder / "cases.jsonl").read_bytes().splitlines()]
    chosen = {
        case["id"]: case["yaml"]
        for case in [case for case in cases if "update" not in case][::step]
    }
    switched = (
        parse_gates(json.loads((folder / "gates.json").read_bytes())[release])
        if gates == "all"
        else {}
    )
    target = Target.of(release, switched)
    verdicts = [
        json.loads(line)
        for line in (folder / f"verdicts-{release}.jsonl").read_bytes().splitlines()
    ]
    verdicts = [
        verdict for verdict in verdicts if verdict["gates"] == gates and verdict["id"] in chosen
    ]
    record_property("cases", len(verdicts))
    wrong = {}
    for verdict in verdicts:
        found = validate_text(chosen[verdict["id"]], target)
        if not agrees(verdict, found):
            wrong[verdict["id"]] = (verdict["message"], found)
    assert not wrong


@pytest.mark.parametrize("gates", GATES)
@pytest.mark.parametrize("release", COMPARED)
def test_a_sample_is_judged_as_by_the_server(
    shared: Path, release: str, gates: str, record_property: Any
) -> None:
    compare(shared, release, gates, SAMPLE, record_property)


@pytest.mark.conformance
@pytest.mark.parametrize("gates", GATES)
@pytest.mark.parametrize("release", COMPARED)
def test_every_document_is_judged_as_by_the_server(
    shared: Path, release: str, gates: str, record_property: Any
) -> None:
    compare(shared, release, gates, 1, record_property)
