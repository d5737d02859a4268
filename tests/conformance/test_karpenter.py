"""Claims against what the released allocator of Karpenter made of them, on instance types of AWS.

They are in ``$DRACTL_SHARED/conformance/karpenter``: a search that did not end and a refusal are no node, too.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dractl.autoscaler import judge
from dractl.facts.autoscalers import device_tables
from dractl.model import DeviceClass, ResourceClaim, decode
from tests.conftest import shared_dir

TABLES = device_tables()["karpenter"]


def load_cases() -> list[dict[str, object]]:
    path = shared_dir() / "conformance/karpenter/cases.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case["id"])
def test_node_comes_for_the_instance_types_of_karpenter(
    case: dict[str, list[dict[str, object]]], record_property: pytest.RecordProperty
) -> None:
    claims = [decode(value) for value in case["claims"]]
    classes = [decode(value) for value in case["classes"]]
    known = {item.metadata.name: item for item in classes if isinstance(item, DeviceClass)}
    record_property("cases", len(case["types"]))
    verdicts = {
        name: judge(
            [claim for claim in claims if isinstance(claim, ResourceClaim)], known, name, TABLES
        ).verdict
        for name in case["types"]
    }
    recorded = {
        name: "serves" if verdict == "serves" else "never"
        for name, verdict in dict(case["types"]).items()
    }
    assert verdicts == recorded


def test_the_tables_are_those_of_the_provider(whole: Path) -> None:
    tables = json.loads((whole / "conformance/karpenter/tables.json").read_text())["types"]
    assert TABLES.types.keys() == tables.keys()
    for name, table in tables.items():
        declared = TABLES.types[name]
        devices = {group.driver: list(group.devices()) for group in declared.groups}
        expected = {
            driver: [{"capacity": {}, **device} for device in listed]
            for driver, listed in table["devices"].items()
        }
        assert devices == expected
        assert list(declared.equal_on_node) == table["equalOnNode"]
