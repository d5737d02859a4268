"""DRA729 sharing-needs-gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, marked

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.lint import Finding


def find(text: str, release: str = "1.37") -> list[Finding]:
    report = lint(load(["-"], stdin=text.encode()), Target.of(release))
    return [finding for finding in report.findings if finding.code == "DRA729"]


def claim_with_sharing(strategy: str, version: str = "resource.nvidia.com/v1beta1") -> str:
    return claim("a gpu.nvidia.com") + (
        "    config: [{opaque: {driver: gpu.nvidia.com, parameters: "
        f"{{apiVersion: {version}, kind: GpuConfig, sharing: {{strategy: {strategy}}}}}}}}}]\n"
    )


@pytest.mark.parametrize(
    ("strategy", "gate"), [("TimeSlicing", "TimeSlicingSettings"), ("MPS", "MPSSupport")]
)
def test_strategies_and_their_gates(strategy: str, gate: str) -> None:
    (finding,) = find(claim_with_sharing(strategy))
    assert (finding.severity, marked(finding)) == ("info", strategy)
    assert gate in finding.message


def test_parameters_unread_by_the_driver_are_left_alone() -> None:
    assert find(claim_with_sharing("Other")) == []
    assert find(claim_with_sharing("MPS", "fake.example.org/v1")) == []


def test_driver_installed_by_tests_is_left_alone(tmp_path: Path) -> None:
    # kubernetes-sigs/dra-driver-nvidia-gpu tests/bats/specs
    folder = tmp_path / "tests/bats/specs"
    folder.mkdir(parents=True)
    (folder / "claim.yaml").write_text(claim_with_sharing("MPS"))
    assert not lint(load([str(folder)]), Target.of("1.37")).findings
