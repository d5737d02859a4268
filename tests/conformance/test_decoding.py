"""Decoding agrees with real API servers of each release, in the decoder's words.

Validation proper is compared in ``test_validation.py``; here a document that a server understood must decode, whatever
it said about it then.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from dractl.manifests import load
from dractl.model import Target
from dractl.model.releases import COMPARED
from dractl.validation.decoding import decode, identify
from tests.conftest import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.validation.violation import Violation


def verdicts(shared: Path, release: str, step: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Every ``step``-th case that is one document, with what the server of ``release`` said to it."""
    folder = shared / "conformance" / "validation"
    cases = [json.loads(line) for line in (folder / "cases.jsonl").read_bytes().splitlines()]
    chosen = {case["id"]: case for case in [case for case in cases if "update" not in case][::step]}
    lines = (folder / f"verdicts-{release}.jsonl").read_bytes().splitlines()
    found = [json.loads(line) for line in lines]
    return [(chosen[v["id"]], v) for v in found if v["id"] in chosen and v["gates"] == "default"]


def decode_violations(text: str, release: str) -> list[Violation] | None:
    """Return the violations of the last document of a text; None if it cannot be read."""
    inputs = load(["-"], stdin=text.encode())
    if any(item.refused for item in inputs.broken):
        return None
    document = inputs.documents[-1]
    target = Target.of(release)
    shape = identify(document.value, target)
    return (
        shape if isinstance(shape, list) else decode(document.value, shape, target, document.faults)
    )


def differences(case: dict[str, Any], verdict: dict[str, Any], release: str) -> list[str]:
    found = decode_violations(case["yaml"], release)
    message = verdict.get("message") or ""
    if found is None:
        return (
            []
            if verdict["code"] == 400
            else [f"cannot be read; the server answered {verdict['code']} {message}"]
        )
    types = {violation.type for violation in found}
    wanted = {"BadRequest"} if verdict["code"] == 400 else set()
    if verdict.get("reason") == "NotServed":
        wanted = {"NotServed"}
    if types != wanted:
        return [
            f"{sorted(map(str, types))} where the server says {verdict['code']} {message}: {found}"
        ]
    if verdict["code"] != 400:
        return []
    words = [v.said for v in found if v.rule == "wrong-type"]
    texts = [text for text in words if not text.endswith(message.partition(": ")[2])]
    unknown = sorted(v.field or "" for v in found if v.rule == "unknown-field")
    wanted_unknown = sorted(re.findall(r'unknown field "([^"]*)"', message))
    doubles = sum(v.rule in ("duplicate-key", "merged-key") for v in found)
    wrong = []
    if words and len(texts) == len(words):
        wrong.append(f"{words} where the server says {message}")
    if unknown != wanted_unknown:
        wrong.append(f"unknown fields {unknown} where the server says {message}")
    if doubles != len(re.findall(r"already set in map", message)):
        wrong.append(f"{doubles} keys given twice where the server says {message}")
    return wrong


def compare(shared: Path, release: str, step: int, record_property: Any) -> None:
    pairs = verdicts(shared, release, step)
    record_property("cases", len(pairs))
    wrong = {
        case["id"]: found
        for case, verdict in pairs
        if (found := differences(case, verdict, release))
    }
    assert not wrong


@pytest.mark.parametrize("release", COMPARED)
def test_a_sample_decodes_as_the_server_says(
    shared: Path, release: str, record_property: Any
) -> None:
    compare(shared, release, SAMPLE, record_property)


@pytest.mark.conformance
@pytest.mark.parametrize("release", COMPARED)
def test_every_document_decodes_as_the_server_says(
    shared: Path, release: str, record_property: Any
) -> None:
    compare(shared, release, 1, record_property)
