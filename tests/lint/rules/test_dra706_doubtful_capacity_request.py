"""DRA706 doubtful-capacity-request."""

from __future__ import annotations

import pytest

from tests.lint.written import claim, found, marked


def request_capacity(amount: str) -> str:
    return claim(f"a gpu {{capacity: {{requests: {{memory: {amount}}}}}}}")


@pytest.mark.parametrize(
    ("amount", "message"), [('"0"', "0 of memory reserves nothing"), ("0Gi", "0Gi of memory")]
)
def test_nothing(amount: str, message: str) -> None:
    (finding,) = found(request_capacity(amount), "DRA706")
    assert (finding.severity, marked(finding)) == ("warning", amount)
    assert finding.message.startswith(message)


def test_less_than_nothing() -> None:
    (finding,) = found(request_capacity("-1Gi"), "DRA706", "1.36")
    assert finding.message == "-1Gi of memory is negative"


@pytest.mark.parametrize("amount", ["1", "1Gi", "1m"])
def test_positive_amounts(amount: str) -> None:
    assert found(request_capacity(amount), "DRA706") == []
