"""DRA712 request-without-constraint."""

from __future__ import annotations

import pytest

from tests.lint.written import claim, found


def claim_with_constraints(*names: str) -> str:
    requests = (
        "gpu-0 gpu.example.com\ngpu-1 gpu.example.com\nnic nic.example.com\ncpu cpu.example.com"
    )
    listed = ", ".join(f"{{requests: [{name}], matchAttribute: a.example.com/x}}" for name in names)
    return claim(requests, f"constraints: [{listed}]")


def test_a_forgotten_request_is_named() -> None:
    (advice,) = found(claim_with_constraints("gpu-0, nic"), "DRA712")
    assert (advice.severity, advice.path) == ("info", "spec.devices.requests[1].name")
    assert "gpu-1" in advice.message


@pytest.mark.parametrize(
    "names", [("gpu-0, gpu-1",), ("gpu-0, nic", "gpu-1, cpu"), ("gpu-0, nic", ""), ("gpu-0",)]
)
def test_requests_of_classes_without_constraints_are_left_alone(names: tuple[str, ...]) -> None:
    assert not found(claim_with_constraints(*names), "DRA712")
