"""DRA731 claim-of-several-drivers: ROCm/k8s-gpu-dra-driver#45."""

from __future__ import annotations

from dractl.lint import Finding, lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim

BOTH = claim("gpu gpu.amd.com\ncpu dra.cpu")


def find(text: str, version: str) -> list[Finding]:
    report = lint(
        load(["-"], stdin=text.encode()), Target.of("1.37"), versions={"gpu.amd.com": version}
    )
    return [finding for finding in report.findings if finding.code == "DRA731"]


def test_a_claim_of_two_drivers_is_refused_by_the_old_one() -> None:
    (finding,) = find(BOTH, "0.1")
    assert "dra.cpu" in finding.message
    assert finding.help is not None
    assert "1.0.0" in finding.help


def test_the_mended_version_and_claims_of_one_driver_are_not_found() -> None:
    assert find(BOTH, "1.0.0") == []
    assert find(claim("gpu gpu.amd.com\nother gpu.amd.com"), "0.1") == []
