"""DRA774 capacity-not-compared: Karpenter 1.15.0 serves such claims with every type."""

from __future__ import annotations

import pytest

from dractl.lint import Finding, lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim


def find(text: str, *consumers: str) -> list[Finding]:
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers)
    )
    return [finding for finding in report.findings if finding.code == "DRA774"]


def test_capacity_missing_on_some_instance_types_is_found() -> None:
    """A g4dn has GPUs of 15Gi."""
    text = claim("gpu gpu.nvidia.com {capacity: {requests: {memory: 40Gi}}}")
    (finding,) = find(text, "karpenter")
    assert "g4dn" in finding.message
    assert "15Gi" in finding.message
    assert find(text) == []


@pytest.mark.parametrize(
    "text",
    [
        claim("gpu gpu.nvidia.com {capacity: {requests: {memory: 1Gi}}}"),
        claim("gpu gpu.nvidia.com"),
        claim(
            "gpu gpu.nvidia.com {capacity: {requests: {memory: 40Gi}}, selectors: [{cel: {expression:"
            ' \'device.attributes["gpu.nvidia.com"].architecture == "Blackwell"\'}}]}'
        ),
    ],
)
def test_capacity_of_every_launched_type_is_fine(text: str) -> None:
    assert find(text, "karpenter") == []
