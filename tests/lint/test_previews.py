"""Findings for a release that was not out when it was read about."""

from __future__ import annotations

from pathlib import Path

import pytest

from dractl.cli.main import main
from dractl.lint import lint
from dractl.lint.finding import Finding
from dractl.manifests import load
from dractl.model import Target

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpus}
spec:
  devices:
    requests:
    - name: gpu
      exactly: {deviceClassName: gpu.example.com, FIELD}
"""
CONSUMING = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: nic.example.com
  nodeName: node-1
  pool: {name: node-1, generation: 1, resourceSliceCount: 2}
  devices:
  - name: vf-0
    consumesCounters:
    - counterSet: pf-0
      counters: {bandwidth: {FIELD}}
"""


def findings(text: str, release: str) -> tuple[Finding, ...]:
    return lint(load(["-"], stdin=text.encode()), Target.of(release)).findings


@pytest.mark.parametrize(
    "field",
    [
        "spread: 3",
        "cuont: 1",
        "allocationMode: Alll",
        "selectors: [{cel: {expression: 'devices.driver == \"a\"'}}]",
    ],
)
def test_an_unknown_name_is_a_warning_without_a_fix(field: str) -> None:
    report = findings(CLAIM.replace("FIELD", field), "1.38")
    doubts = [finding for finding in report if finding.code == "DRA806"]
    assert [finding.severity for finding in doubts] == ["warning"]
    assert "not known of 1.38.0-alpha.2, read 2026-" in doubts[0].message
    assert doubts[0].fix is None
    assert doubts[0].api is None
    assert not [finding for finding in report if finding.severity == "error"]


@pytest.mark.parametrize("field", ["valueForm", "valeu"])
@pytest.mark.parametrize("release", ["1.37", "1.38"])
def test_one_mistake_has_one_finding(field: str, release: str) -> None:
    """A map under a name like ``value`` was taken for a quantity: DRA003, and DRA002 in its wake."""
    text = CONSUMING.replace("FIELD", f"{field}: {{capacityName: bandwidth}}")
    codes = [
        finding.code
        for finding in findings(text, release)
        if finding.code in ("DRA002", "DRA003", "DRA806")
    ]
    assert codes == ["DRA003" if release == "1.37" else "DRA806"]


def test_a_document_in_doubt_does_not_fail_a_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "claim.yaml"
    file.write_text(CLAIM.replace("FIELD", "spread: 3"))
    assert main(["lint", "--isolated", "--kubernetes-version", "1.38", str(file)]) == 0
    assert "before its release (due 2026-12-16)" in capsys.readouterr().err
    assert main(["lint", "--isolated", "--kubernetes-version", "1.37", str(file)]) == 1


def test_gates_of_a_preview_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "claim.yaml"
    file.write_text(CLAIM.replace("FIELD", "count: 1"))

    def run(release: str, gates: str) -> tuple[int, str]:
        options = ["--isolated", "-q", "--kubernetes-version", release, "--feature-gates", gates]
        code = main(["lint", *options, str(file)])
        return code, capsys.readouterr().err

    code, shown = run("1.38", "DRANonsense=true")
    assert code == 0
    assert shown.startswith("warning: feature gate DRANonsense: not known of 1.38.0-alpha.2, read")
    assert run("1.37", "DRANonsense=true")[0] == 2
    code, shown = run("1.38", "DynamicResourceAllocation=true")
    assert code == 2
    assert "was removed in Kubernetes 1.38" in shown
    assert run("1.37", "DynamicResourceAllocation=true") == (0, "")


@pytest.mark.parametrize(
    "text",
    [
        CLAIM.replace("FIELD", "count: 2")
        + "    constraints: [{matchAttribute: resource.kubernetes.io/pcieroot}]\n",
        CLAIM.replace(
            "FIELD",
            "selectors: [{cel: {expression: \"device.attributes['resource.kubernetes.io'].pcieroot == 0\"}}]",
        ),
    ],
)
def test_a_preview_may_define_further_standard_attributes(text: str) -> None:
    (doubt,) = [finding for finding in findings(text, "1.38") if finding.code == "DRA701"]
    assert (doubt.severity, doubt.fix) == ("warning", None)
    assert "not known of 1.38.0-alpha.2, read 2026-" in doubt.message
    (wrong,) = [finding for finding in findings(text, "1.37") if finding.code == "DRA701"]
    assert wrong.severity == "error"
    assert wrong.fix is not None
