"""Selectors on the devices of an inventory, as upstream evaluated them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dractl.lint.model import Manifest, Run
from dractl.lint.rules.selectors import dra606_contradictory_selectors as dra606
from dractl.manifests import load
from dractl.model import Target
from dractl.model.releases import COMPARED
from dractl.objects import Expression
from tests.conftest import WHOLE

if TYPE_CHECKING:
    from pathlib import Path

from tests.lint.written import ONE


@pytest.mark.conformance
@pytest.mark.parametrize("release", COMPARED)
def test_no_device_satisfies_reported_contradictions(
    release: str, shared: Path, record_property: pytest.RecordProperty
) -> None:
    """DRA606 on the recorded expressions, two by two: upstream's evaluator let no device pass both."""
    data = shared / "conformance/cel"
    cases = [json.loads(line) for line in (data / "cases.jsonl").read_text("utf-8").splitlines()]
    verdicts = [
        json.loads(line)
        for line in (data / f"verdicts-{release}.jsonl").read_text("utf-8").splitlines()
    ]
    run = Run([], Target.of(release))
    compared = []
    for case, verdict in zip(cases, verdicts, strict=True):
        if verdict["admission"] == "ok" and "features" not in case and "==" in case["expression"]:
            results = zip(case["devices"], verdict["results"], strict=True)
            satisfied = {device for device, result in results if result.get("value") is True}
            compared.append((Expression(case["expression"], ()), satisfied))
    subject = Manifest(load(["-"], stdin=ONE.encode()).documents[0], "ResourceClaim")
    comparing = [item for item in compared if list(dra606._demands(run, subject, item[0]))]
    said = 0
    for at, (first, here) in enumerate(comparing):
        for second, there in comparing[at:]:
            if dra606._contradiction(run, [(subject, first), (subject, second)]):
                said += 1
                assert not here & there, (first.text, second.text)
    assert said > (100 if WHOLE else -1)
    record_property("cases", said)
