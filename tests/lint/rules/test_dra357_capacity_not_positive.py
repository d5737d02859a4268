"""DRA357 capacity-not-positive."""

from __future__ import annotations

import pytest

from tests.lint.written import found, marked, published


def with_capacity(capacity: str) -> str:
    return published("node-1", "gpu-0") + f"    capacity: {capacity}\n"


@pytest.mark.parametrize(("amount", "place"), [('"0"', '"0"'), ("-1Gi", "-1Gi"), ("0Gi", "0Gi")])
def test_capacity_of_zero_alone_is_found(amount: str, place: str) -> None:
    (finding,) = found(with_capacity(f"{{memory: {{value: {amount}}}}}"), "DRA357")
    assert (finding.severity, marked(finding)) == ("warning", place)
    assert finding.message == f"gpu-0 has {amount.strip(chr(34))} of memory"


def test_zero_beside_positive_capacities_is_fine_as_for_mig_devices() -> None:
    assert found(with_capacity('{memory: {value: 10Gi}, encoders: {value: "0"}}'), "DRA357") == []


def test_less_than_zero_is_wrong_beside_positive_ones_too() -> None:
    (finding,) = found(with_capacity('{memory: {value: 10Gi}, encoders: {value: "-1"}}'), "DRA357")
    assert "encoders" in finding.message


def test_any_positive_amount_is_right() -> None:
    assert found(with_capacity("{memory: {value: 1m}}"), "DRA357") == []
