"""DRA422 unknown-container-request."""

from __future__ import annotations

from tests.lint.written import API, claim, documents, found, pod


def uses(request: str) -> str:
    return pod("gpu=gpus").replace("{name: gpu}]", f"{{name: gpu, request: {request}}}]")


def test_request_absent_from_the_claim_is_found() -> None:
    (finding,) = found(
        documents(claim("big gpu.example.com\nsmall gpu.example.com"), uses("huge")), "DRA422"
    )
    assert finding.path == "spec.containers[0].resources.claims[0].request"
    assert "big, small" in (finding.help or "")


def test_present_request_and_unseen_claim_are_left_alone() -> None:
    assert found(documents(claim("big gpu.example.com"), uses("big")), "DRA422") == []
    assert found(uses("huge"), "DRA422") == []


def test_an_alternative_cannot_be_named_but_its_request_can() -> None:
    alternatives = (
        f"{API}kind: ResourceClaim\nmetadata: {{name: gpus}}\nspec:\n  devices:\n    requests:\n    - name: gpu\n"
        "      firstAvailable: [{name: big, deviceClassName: a}, {name: small, deviceClassName: b}]\n"
    )
    assert found(documents(alternatives, uses("gpu")), "DRA422") == []
    assert len(found(documents(alternatives, uses("big")), "DRA422")) == 1
