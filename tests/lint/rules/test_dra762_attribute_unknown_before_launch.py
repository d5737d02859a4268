"""DRA762 attribute-unknown-before-launch."""

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
    return [finding for finding in report.findings if finding.code.startswith("DRA76")]


def claim_with_selector(expression: str) -> str:
    return claim(f"gpu gpu.example.org {{selectors: [{{cel: {{expression: '{expression}'}}}}]}}")


UUID = 'device.attributes["gpu.example.org"].uuid == "GPU-1"'
ADDRESS = 'device.attributes["resource.kubernetes.io"].pciBusID == "0000:3b:00.0"'


def test_only_where_a_consumer_is_named() -> None:
    assert find(claim_with_selector(UUID)) == []


def test_attribute_unique_to_a_device_is_unknown_to_both_autoscalers() -> None:
    for consumer in ("karpenter", "cluster-autoscaler"):
        (finding,) = find(claim_with_selector(UUID), consumer)
        assert finding.code == "DRA762"
        assert finding.excerpt[finding.position.column - 1 :].startswith(
            'device.attributes["gpu.example.org"].uuid'
        )
    assert find(claim_with_selector(UUID), "kueue") == []


def test_an_address_is_the_same_on_nodes_of_a_group() -> None:
    assert [finding.code for finding in find(claim_with_selector(ADDRESS), "karpenter")] == [
        "DRA762"
    ]
    assert find(claim_with_selector(ADDRESS), "cluster-autoscaler") == []


def test_a_class_is_judged_too() -> None:
    text = device_class("one", f"'{UUID}'")
    assert [finding.code for finding in find(text, "karpenter")] == ["DRA762"]


def test_shared_root_may_be_declared() -> None:
    text = claim(
        "gpu a.example.org\nnic b.example.org",
        "constraints:\n- matchAttribute: resource.kubernetes.io/pcieRoot",
    )
    assert [(finding.code, finding.severity) for finding in find(text, "karpenter")] == [
        ("DRA762", "info")
    ]
    assert find(text, "cluster-autoscaler") == []


@pytest.mark.parametrize(
    ("attribute", "codes"),
    [
        ("gpu.nvidia.com/driverVersion", []),
        ("gpu.nvidia.com/addressingMode", ["DRA762"]),
        ("gpu.example.org/board", []),
    ],
)
def test_constraints_that_karpenter_on_aws_does_not_list(attribute: str, codes: list[str]) -> None:
    """aws/karpenter-provider-aws website, Supported Attributes by Driver: those of gpu.nvidia.com and dra.net."""
    text = claim(
        "a gpu.example.org\nb gpu.example.org", f"constraints:\n- matchAttribute: {attribute}"
    )
    found = find(text, "karpenter")
    assert [finding.code for finding in found if finding.code == "DRA762"] == codes


GPU = 'device.attributes["gpu.nvidia.com"]'


@pytest.mark.parametrize(
    ("selector", "codes"),
    [
        (f'{GPU}.architecture == "Hopper"', []),
        (f'{GPU}.driverVersion.isGreaterThan(semver("570.0.0"))', ["DRA762"]),
        (f'{GPU}.cudaDriverVersion.isGreaterThan(semver("12.0.0"))', ["DRA762"]),
        (f'{GPU}.addressingMode == "HMM"', ["DRA762"]),
    ],
)
def test_karpenter_on_aws_knows_a_list(selector: str, codes: list[str]) -> None:
    """aws/karpenter-provider-aws website, Supported Attributes by Driver."""
    text = claim(f"gpu gpu.nvidia.com {{selectors: [{{cel: {{expression: '{selector}'}}}}]}}")
    assert [
        finding.code for finding in find(text, "karpenter") if finding.severity == "warning"
    ] == codes


def test_versions_can_be_compared_with_each_other() -> None:
    text = claim(
        "gpu gpu.nvidia.com {count: 2}",
        "constraints:\n- matchAttribute: gpu.nvidia.com/driverVersion",
    )
    assert find(text, "karpenter") == []
    text = claim(
        "gpu gpu.nvidia.com {count: 2}",
        "constraints:\n- matchAttribute: gpu.nvidia.com/addressingMode",
    )
    assert find(text, "karpenter") == []  # DRA773 finds it


def test_a_guarded_attribute_is_no_obstacle() -> None:
    """Karpenter 1.15.0 serves such a claim with every type: the attribute is absent there."""
    guarded = f'!("driverVersion" in {GPU}) || {GPU}.driverVersion.major() > 500'
    text = claim(f"gpu gpu.nvidia.com {{selectors: [{{cel: {{expression: '{guarded}'}}}}]}}")
    assert find(text, "karpenter") == []


CLASS = (
    device_class("gpu.nvidia.com", "device.driver == 'gpu.nvidia.com'")
    + "  extendedResourceName: nvidia.com/gpu\n"
)
POD = """apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - {name: c, image: x, resources: {limits: {nvidia.com/gpu: 1}}}
"""


def test_extended_resources_are_no_claims_to_karpenter() -> None:
    (finding,) = find(f"{CLASS}---\n{POD}", "karpenter")
    assert "Karpenter launches no node for that" in finding.message
    assert find(f"{CLASS}---\n{POD}", "cluster-autoscaler") == []
