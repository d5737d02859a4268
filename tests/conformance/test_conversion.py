"""A document and what conversion makes of it get the same verdict: accepted by both versions, or by neither."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dractl.manifests import load
from dractl.model import Target, to_v1
from dractl.model.releases import COMPARED, parse_gates
from dractl.validation import validate
from dractl.validation.decoding import decode, identify
from tests.conftest import WHOLE

if TYPE_CHECKING:
    from pathlib import Path


def is_accepted(value: dict[str, Any], target: Target) -> bool:
    return not any(violation.type for violation in validate(value, target))


@pytest.mark.conformance
@pytest.mark.parametrize("gates", ["default", "all"])
@pytest.mark.parametrize("release", COMPARED)
def test_conversion_keeps_the_verdict(
    shared: Path, release: str, gates: str, record_property: Any
) -> None:
    folder = shared / "conformance" / "validation"
    overrides = (
        parse_gates(json.loads((folder / "gates.json").read_bytes())[release])
        if gates == "all"
        else {}
    )
    target = Target.of(release, overrides)
    compared, differing = 0, []
    for case in map(json.loads, (folder / "cases.jsonl").read_bytes().splitlines()):
        documents = load(["-"], stdin=case["yaml"].encode()).documents
        value = documents[-1].value if documents else {}
        if value.get("apiVersion") not in ("resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2"):
            continue
        shape = identify(value, target)
        converted = dict(to_v1(value))
        if (
            isinstance(shape, list)
            or decode(value, shape, target, ())
            or isinstance(identify(converted, target), list)
        ):
            continue
        compared += 1
        if is_accepted(value, target) != is_accepted(converted, target):
            differing.append(case["id"])
    record_property("cases", compared)
    assert not differing
    assert compared > (400 if WHOLE else 0)
