"""Which fields a server drops for want of a gate: what the recorded objects had lost when they were stored."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dractl.manifests import load
from dractl.model import Target, to_v1
from dractl.model.releases import COMPARED, parse_gates
from dractl.validation.conversion import source_path
from dractl.validation.drop import drop
from tests.conftest import WHOLE

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.validation.violation import Path as FieldPath

MAPS = ("attributes", "capacity")


def bracket_keys(path: FieldPath) -> str:
    """A path as the data writes it: keys of maps in brackets."""
    text = ""
    for before, step in zip(("", *path), path, strict=False):
        in_map = before in MAPS and step != "requests"
        if isinstance(step, int) or in_map:
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def ours(text: str, target: Target) -> set[str]:
    value = load(["-"], stdin=text.encode()).documents[-1].value
    _, lost = drop(dict(to_v1(value)), target)
    return {bracket_keys(source_path(path, value)) for item in lost for path in item.paths}


@pytest.mark.parametrize("gates", ["default", "all"])
@pytest.mark.parametrize("release", COMPARED)
def test_a_field_is_dropped_exactly_where_the_server_dropped_it(
    shared: Path, release: str, gates: str, record_property: Any
) -> None:
    folder = shared / "conformance" / "validation"
    overrides = (
        parse_gates(json.loads((folder / "gates.json").read_bytes())[release])
        if gates == "all"
        else {}
    )
    target = Target.of(release, overrides)
    cases = {
        case["id"]: case
        for case in map(json.loads, (folder / "cases.jsonl").read_bytes().splitlines())
    }
    compared, wrong = 0, {}
    for verdict in map(
        json.loads, (folder / f"verdicts-{release}.jsonl").read_bytes().splitlines()
    ):
        case = cases[verdict["id"]]
        if verdict["gates"] != gates or not verdict["accepted"] or "update" in case:
            continue
        theirs = {path for path in verdict.get("dropped", ()) if path.startswith("spec")}
        compared += 1
        if (found := ours(case["yaml"], target)) != theirs:
            wrong[case["id"]] = (sorted(found ^ theirs)[:3], len(found), len(theirs))
    record_property("cases", compared)
    assert not wrong
    assert compared > (500 if WHOLE else 0)
