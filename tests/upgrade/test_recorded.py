"""Every difference between the recorded verdicts of two releases is predicted from the older one, and nothing else."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from dractl.manifests import load
from dractl.model import Target
from dractl.model.releases import COMPARED, parse_gates
from dractl.upgrade import server
from tests.conftest import WHOLE

if TYPE_CHECKING:
    from pathlib import Path

STEPS = list(pairwise(COMPARED))


def change(before: dict[str, Any], after: dict[str, Any]) -> tuple[str, str] | None:
    """The level and the kind of what differs between two recorded verdicts; None if nothing does."""
    if before["accepted"] and after["accepted"]:
        old, new = (
            {path for path in verdict.get("dropped") or () if path.startswith("spec")} for verdict in (before, after)
        )
        return None if old == new else ("breaks", "field-dropped") if new - old else ("changes", "field-kept")
    if before["accepted"] != after["accepted"]:
        return ("breaks", "refused") if before["accepted"] else ("changes", "accepted")
    if "ServerPanic" in (before["reason"], after["reason"]):  # what dractl says there is what 1.37 says
        return None
    return None if causes(before) == causes(after) else ("info", "refused-otherwise")


def causes(verdict: dict[str, Any]) -> set[tuple[str, str | None]]:
    if verdict["code"] != 422:
        return {(verdict["reason"], None)}
    return {(cause["type"], cause["field"]) for cause in verdict["causes"]}


@pytest.mark.parametrize("gates", ["default", "all"])
@pytest.mark.parametrize("step", STEPS, ids="-".join)
def test_what_servers_say_otherwise(step: tuple[str, str], gates: str, shared: Path, record_property: Any) -> None:
    folder = shared / "conformance" / "validation"
    switched = json.loads((folder / "gates.json").read_bytes()) if gates == "all" else {}
    targets = [Target.of(release, parse_gates(switched.get(release, ""))) for release in step]
    recorded = ([json.loads(line) for line in (folder / f"verdicts-{r}.jsonl").read_bytes().splitlines()] for r in step)
    verdicts = [{verdict["id"]: verdict for verdict in said if verdict["gates"] == gates} for said in recorded]
    counted: Counter[tuple[str, str] | None] = Counter()
    wrong = {}
    for case in map(json.loads, (folder / "cases.jsonl").read_bytes().splitlines()):
        before, after = (found.get(case["id"]) for found in verdicts)
        if before is None or after is None or "update" in case:
            continue
        inputs = load(["-"], stdin=case["yaml"].encode())
        if any(item.refused for item in inputs.broken):
            assert change(before, after) is None
            continue
        document = inputs.documents[-1]
        labels = {d.name: d.value["metadata"].get("labels", {}) for d in inputs.documents if d.kind == "Namespace"}
        item = server.Input(document.value, tuple(document.faults))
        found = list(server.differences([item], *targets, labels))
        expected = change(before, after)
        counted[expected] += 1
        if {(one.level, one.code) for one in found} != _codes(expected):
            wrong[case["id"]] = (expected, [(one.level, one.code, one.message) for one in found])
    record_property("cases", counted.total())
    assert not wrong
    assert counted.total() - counted[None] > (40 if WHOLE else 0)


def _codes(expected: tuple[str, str] | None) -> set[tuple[str, str]]:
    return set() if expected is None else {expected}
