"""Fleets in which a real scheduler placed copies and a real controller counted pools.

They are in ``$DRACTL_SHARED/conformance/capacity``.

The number of copies is the recorded one (or within what was seen, where it depends on the scheduler's choice), and so
are nodes and devices, where they do not depend on it; the four counts of each pool are the controller's.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dractl.allocation import Features
from dractl.capacity import find_subject, place_copies, take_inventory
from dractl.cluster import ClusterState
from dractl.manifests import load
from tests.conftest import shared_dir


def fleets() -> list[Path]:
    root = shared_dir()
    return sorted(f.parent for f in (root / "conformance/capacity").glob("*/expected.json"))


def read(folder: Path) -> tuple[dict[str, Any], ClusterState, Features]:
    expected = json.loads((folder / "expected.json").read_bytes())
    state = ClusterState.from_documents(
        load([str(folder / "objects.json")], relevant_only=False).documents
    )
    return expected, state, Features.for_release(expected["release"], expected["featureGates"])


FLEETS = fleets()
QUESTIONS = [
    (f, q["id"])
    for f in FLEETS
    for q in json.loads((f / "expected.json").read_bytes())["questions"]
]


@pytest.mark.parametrize(
    ("folder", "number"), QUESTIONS, ids=[f"{f.name}-{q}" for f, q in QUESTIONS]
)
def test_as_many_fit_as_a_real_scheduler_placed(
    folder: Path, number: str, record_property: Any
) -> None:
    expected, state, features = read(folder)
    (question,) = [q for q in expected["questions"] if q["id"] == number]
    kind, namespace, name = ["template", *question["template"].split("/")] if "template" in question else (
        question["workload"].split("/")
    )  # fmt: skip
    found = place_copies(find_subject(state, f"{kind.lower()}/{name}", namespace), features)
    assert found.fits in (question["seen"] if question.get("depends") else [question["fits"]])
    assert sum(node.fits for node in found.nodes) == found.fits
    if not question.get("perNodeDepends"):
        assert {node.name: node.fits for node in found.nodes if node.fits} == question["perNode"]
        devices = {name: set(given) for name, given in question["devices"].items() if given}
        assert {node.name: set(node.devices) for node in found.nodes if node.devices} == devices
    record_property("cases", 1)


@pytest.mark.parametrize("folder", FLEETS, ids=lambda folder: folder.name)
def test_pools_are_counted_as_a_real_controller_counts_them(
    folder: Path, record_property: Any
) -> None:
    expected, state, features = read(folder)
    counts = ("total", "allocated", "available", "unavailable")
    want = {(p["driver"], p["pool"]): [p[c] for c in counts] for p in expected["pools"]}
    stock = take_inventory(state, features)
    assert {
        (p.driver, p.pool): [p.total, p.allocated, p.available, p.unavailable] for p in stock.pools
    } == want
    record_property("cases", len(want))
