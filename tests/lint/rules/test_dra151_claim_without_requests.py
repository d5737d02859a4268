"""DRA151 claim-without-requests."""

from __future__ import annotations

import pytest

from tests.lint.written import API, claim, found, marked, template

EMPTY = API + "kind: ResourceClaim\nmetadata: {name: gpus}\n"


@pytest.mark.parametrize(
    ("spec", "place"),
    [
        ("spec: {devices: {requests: []}}\n", "requests"),
        ("spec: {devices: {}}\n", "devices"),
        ("spec: {}\n", "spec"),
    ],
)
def test_claim_without_requests_is_reported_at_its_nearest_field(spec: str, place: str) -> None:
    (finding,) = found(EMPTY + spec, "DRA151")
    assert (finding.severity, marked(finding)) == ("warning", place)
    assert "asks for no device" in finding.message


def test_a_template_is_checked_too() -> None:
    text = (
        API
        + "kind: ResourceClaimTemplate\nmetadata: {name: gpus}\nspec: {spec: {devices: {requests: []}}}\n"
    )
    assert len(found(text, "DRA151")) == 1


def test_claims_and_templates_with_a_request_are_right() -> None:
    assert found(claim("gpu gpu.example.com"), "DRA151") == []
    assert found(template(claim("gpu gpu.example.com")), "DRA151") == []
