"""DRA773 no-instance-type: the verdicts are recorded ones of Karpenter 1.15.0."""

from __future__ import annotations

import pytest

from dractl.lint import Finding, lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, device_class


def find(text: str, *consumers: str) -> list[Finding]:
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), consumers=frozenset(consumers)
    )
    return [finding for finding in report.findings if finding.code == "DRA773"]


NUMA = "constraints:\n- matchAttribute: resource.kubernetes.io/numaNode"
VERSION = "constraints:\n- matchAttribute: gpu.nvidia.com/driverVersion"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (claim("gpu mig.nvidia.com"), "type == 'mig'` is false"),
        (claim("c compute-domain-default-channel.nvidia.com"), "gpu.nvidia.com and dra.net"),
        (claim("gpu gpu.nvidia.com {count: 12}"), "wants 12 devices"),
        (claim("gpu gpu.nvidia.com {count: 2}", NUMA), "numaNode cannot hold"),
    ],
)
def test_claim_without_an_instance_type_is_found(text: str, words: str) -> None:
    (finding,) = find(text, "karpenter")
    assert words in finding.message
    assert find(text) == []
    assert find(text, "cluster-autoscaler") == []


@pytest.mark.parametrize(
    "text",
    [
        claim("gpu gpu.nvidia.com {count: 8}"),
        claim("gpu gpu.nvidia.com {count: 2}", VERSION),
        claim("gpu unknown.example.org"),
    ],
)
def test_a_served_or_unknown_claim_is_not_found(text: str) -> None:
    assert find(text, "karpenter") == []


def test_the_reason_has_one_finding() -> None:
    """DRA761 and DRA762 say it at the constraint and in the selector."""
    distinct = claim(
        "gpu gpu.nvidia.com {count: 2}",
        "constraints:\n- distinctAttribute: gpu.nvidia.com/productName",
    )
    uuid = claim(
        "gpu gpu.nvidia.com {selectors: [{cel: {expression:"
        ' \'device.attributes["gpu.nvidia.com"].uuid == "GPU-1"\'}}]}'
    )
    assert find(distinct, "karpenter") == []
    assert find(uuid, "karpenter") == []


def test_class_of_the_input_takes_precedence() -> None:
    ena = device_class("nic", "device.driver == 'dra.net'")
    assert find(f"{ena}---\n{claim('nic nic {count: 2}')}", "karpenter") == []
    assert find(f"{ena}---\n{claim('nic nic {count: 33}')}", "karpenter")
