"""Kustomizations that share a base: what one of them adds is not there in the others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main
from tests.kustomize import NEEDS_PROGRAM

if TYPE_CHECKING:
    from pathlib import Path

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.nvidia.com, adminAccess: true}
"""
SPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml, labels: {%s: 'true'}}\n"
LABEL = "resource.kubernetes.io/admin-access"


@NEEDS_PROGRAM
@pytest.mark.parametrize(("label", "codes"), [(LABEL, []), ("other", ["DRA119"])])
def test_label_of_one_overlay_does_not_hide_its_absence_in_another(
    label: str,
    codes: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = {"base/t.yaml": CLAIM, "base/kustomization.yaml": "resources: [t.yaml]\n"}
    for name, text in (("prod", LABEL), ("staging", label)):
        files[f"{name}/ns.yaml"] = SPACE % text
        files[f"{name}/kustomization.yaml"] = "namespace: ml\nresources: [../base, ns.yaml]\n"
    (tmp_path / ".git").mkdir()
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    main(["lint", ".", "-o", "json", "--no-cache"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [item["code"] for item in findings] == codes


POD = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
  containers: [{name: c, image: x, resources: {claims: [{name: gpu}]}}]
"""


@NEEDS_PROGRAM
@pytest.mark.parametrize(
    ("listed", "codes"), [("[pod.yaml, t.yaml]", []), ("[pod.yaml]", ["DRA423"])]
)
def test_template_in_an_unlisted_file_is_missed(
    listed: str,
    codes: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    claim = CLAIM.replace(", adminAccess: true", "")
    files = {"kustomization.yaml": f"resources: {listed}\n", "t.yaml": claim, "pod.yaml": POD}
    (tmp_path / ".git").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    main(["lint", ".", "-o", "json", "--no-cache"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [(item["code"], item["file"]) for item in findings] == [
        (code, "pod.yaml") for code in codes
    ]
