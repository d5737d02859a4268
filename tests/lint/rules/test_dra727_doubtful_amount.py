"""DRA727 doubtful-amount."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, marked

if TYPE_CHECKING:
    from dractl.lint import Finding


def find(text: str, release: str = "1.37") -> list[Finding]:
    report = lint(load(["-"], stdin=text.encode()), Target.of(release))
    return [finding for finding in report.findings if finding.code == "DRA727"]


def claim_with_selector(device_class: str, expression: str) -> str:
    return claim(f"a {device_class} {{selectors: [{{cel: {{expression: '{expression}'}}}}]}}")


def memory(amount: str) -> str:
    return claim_with_selector(
        "gpu.nvidia.com",
        f'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("{amount}")) >= 0',
    )


@pytest.mark.parametrize("amount", ["80", "81920", "80k", "80000m"])
def test_amounts_too_small_for_bytes_are_found(amount: str) -> None:
    (finding,) = find(memory(amount))
    assert (finding.severity, marked(finding)) == ("warning", f'"{amount}"')
    assert finding.help is not None
    assert "is in bytes: write 8" in finding.help


@pytest.mark.parametrize("amount", ["0", "80Gi", "1Mi", "85899345920", "80G"])
def test_amounts_of_bytes(amount: str) -> None:
    assert find(memory(amount)) == []


def test_numbers_have_no_binary_suffix() -> None:
    multiprocessors = (
        'device.capacity["gpu.nvidia.com"].multiprocessors.compareTo(quantity("{}")) >= 0'
    )
    (finding,) = find(claim_with_selector("mig.nvidia.com", multiprocessors.format("14Gi")))
    assert "is a number, not an amount of bytes" in finding.message
    assert find(claim_with_selector("mig.nvidia.com", multiprocessors.format("14"))) == []


def test_amounts_of_requests() -> None:
    asking = claim('a gpu.nvidia.com {capacity: {requests: {memory: "40"}}}')
    (finding,) = find(asking)
    assert marked(finding) == '"40"'
    assert find(asking.replace("40", "40Gi")) == []
    assert find(asking.replace("memory", "shares")) == []
