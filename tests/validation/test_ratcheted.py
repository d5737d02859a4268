"""Errors that are new in a release, and that an update overlooks where the field stays as it is stored."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.model import Target
from dractl.validation import Violation, validate
from tests.validation.rule_table import claim, device, exact, published

ONE_SLASH = 'Invalid value: "a/b/c": must not contain more than one slash'
"""k8s.io/apimachinery v0.38.0-alpha.2 pkg/api/validate/strfmt.go resourcesQualifiedName."""

DERIVED = exact(derivedAttributes=[{"name": "a/b/c", "expression": "1"}])
TWO_TERMS = {
    "nodeSelectorTerms": [
        {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
        for zone in ("a", "b")
    ]
}
GATES = {"DRADerivedAttributes": True}


def errors(document: dict[str, Any], release: str) -> list[Violation]:
    gates = GATES if release >= "1.37" else {}
    return [error for error in validate(document, Target.of(release, gates)) if error.type]


@pytest.mark.parametrize(
    ("document", "fields"),
    [
        (published(device(attributes={"a/b/c": {"int": 1}})), ["spec.devices[0].attributes"]),
        (published(device(capacity={"a/b/c": {"value": 1}})), ["spec.devices[0].capacity"]),
        (
            claim(exact(), constraints=[{"matchAttribute": "a/b/c"}]),
            ["spec.devices.constraints[0].matchAttribute"],
        ),
        (
            claim(exact(), constraints=[{"distinctAttribute": "a/b/c"}]),
            ["spec.devices.constraints[0].distinctAttribute"],
        ),
        (
            claim(DERIVED, constraints=[{"matchAttribute": "a/b/c"}]),
            [
                "spec.devices.requests[0].exactly.derivedAttributes[0].name",
                "spec.devices.constraints[0].matchAttribute",
            ],
        ),
    ],
)
def test_a_name_with_two_slashes_is_refused_from_1_38_on(
    document: dict[str, Any], fields: list[str]
) -> None:
    assert errors(document, "1.37") == []
    refused = errors(document, "1.38")
    assert [(e.type, e.field, e.message) for e in refused] == [
        ("FieldValueInvalid", field, ONE_SLASH) for field in fields
    ]
    assert all(error.ratcheted for error in refused)


@pytest.mark.parametrize("name", ["a/b", "a", "gpu.example.com/memory"])
def test_a_name_with_one_slash_is_accepted_as_before(name: str) -> None:
    document = published(device(attributes={name: {"int": 1}}))
    assert errors(document, "1.38") == []


def test_a_selector_of_a_device_has_one_term_from_1_38_on() -> None:
    document = published(device(nodeSelector=TWO_TERMS), perDeviceNodeSelection=True)
    assert errors(document, "1.37") == []
    (refused,) = errors(document, "1.38")
    assert refused.field == "spec.devices[0].nodeSelector.nodeSelectorTerms"
    assert refused.message.endswith(": must have exactly one node selector term")
    assert refused.ratcheted


@pytest.mark.parametrize("release", ["1.34", "1.37", "1.38"])
def test_a_selector_of_a_slice_has_one_term_in_every_release(release: str) -> None:
    document = published(device(), nodeSelector=TWO_TERMS)
    (refused,) = errors(document, release)
    assert refused.field == "spec.nodeSelector.nodeSelectorTerms"
    assert not refused.ratcheted
