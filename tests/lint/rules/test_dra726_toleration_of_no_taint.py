"""DRA726 toleration-of-no-taint."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import API, claim, documents, marked

if TYPE_CHECKING:
    from dractl.lint import Finding


def find(text: str, release: str = "1.37") -> list[Finding]:
    report = lint(load(["-"], stdin=text.encode()), Target.of(release))
    return [finding for finding in report.findings if finding.code == "DRA726"]


def claim_with_toleration(device_class: str, toleration: str) -> str:
    return claim(f"a {device_class} {{tolerations: [{{{toleration}}}]}}")


LOST = "gpu.nvidia.com/gpu-lost"


@pytest.mark.parametrize(
    ("toleration", "mark", "message"),
    [
        (
            "key: gpu.nvidia.com/gpulost, operator: Exists",
            "gpu.nvidia.com/gpulost",
            f"did you mean {LOST}?",
        ),
        (
            f"key: {LOST}, operator: Exists, effect: NoExecute",
            "NoExecute",
            "the effect NoSchedule, never NoExecute",
        ),
        (
            f'key: {LOST}, value: "true", effect: NoSchedule',
            "true",
            "has no value: this tolerates only the value true",
        ),
        ("key: nvidia.com/gpu, operator: Exists", "nvidia.com/gpu", "a taint of nodes"),
        (
            "key: node.kubernetes.io/not-ready, operator: Exists",
            "node.kubernetes.io/not-ready",
            "a taint of nodes",
        ),
    ],
)
def test_tolerations_without_effect(toleration: str, mark: str, message: str) -> None:
    (finding,) = find(claim_with_toleration("gpu.nvidia.com", toleration))
    assert (finding.severity, marked(finding).strip('"')) == ("warning", mark)
    assert message in finding.message


def test_a_taint_with_a_value_needs_exists() -> None:
    (finding,) = find(
        claim_with_toleration("gpu.nvidia.com", "key: gpu.nvidia.com/xid, effect: NoSchedule")
    )
    assert "has a value, the Xid's number: this tolerates only an empty value" in finding.message


@pytest.mark.parametrize(
    "toleration",
    [
        f"key: {LOST}, operator: Exists, effect: NoSchedule",
        "key: gpu.nvidia.com/xid, operator: Exists",
        "operator: Exists",
        "key: example.org/maintenance, operator: Exists",
    ],
)
def test_possible_taints_are_fine(toleration: str) -> None:
    assert find(claim_with_toleration("gpu.nvidia.com", toleration)) == []


def test_keys_of_administrators_are_an_info() -> None:
    own = claim_with_toleration(
        "gpu.nvidia.com", "key: gpu.nvidia.com/maintenance, operator: Exists"
    )
    (finding,) = find(own)
    assert finding.severity == "info"
    rule = (
        API.replace("v1\n", "v1beta2\n") + "kind: DeviceTaintRule\nmetadata: {name: r}\n"
        "spec: {taint: {key: gpu.nvidia.com/maintenance, effect: NoSchedule}}\n"
    )
    assert find(documents(own, rule)) == []
