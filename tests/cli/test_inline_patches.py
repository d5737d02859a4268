"""A finding in an inline patch is shown, silenced and fixed where the patch stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dractl.cli.main import main
from tests.kustomize import NEEDS_PROGRAM

TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.nvidia.com}
      - name: nic
        exactly: {deviceClassName: dra.net}
"""
OPERATIONS = """\
patches:
- target: {kind: ResourceClaimTemplate}
  patch: |
    - op: add
      path: /spec/spec/devices/constraints
      value:
      - matchAttribute: resource.kubernetes.io/pcieroot
        requests: [gpu, nic]
"""
MERGED = """\
patches:
- patch: |
    apiVersion: resource.k8s.io/v1
    kind: ResourceClaimTemplate
    metadata: {name: one}
    spec:
      spec:
        devices:
          constraints:
          - matchAttribute: resource.kubernetes.io/pcieroot
            requests: [gpu, nic]
"""
ONE_LINE = """\
patches:
- target: {kind: ResourceClaimTemplate}
  patch: '[{"op": "add", "path": "/spec/spec/devices/constraints", "value":
    [{"matchAttribute": "resource.kubernetes.io/pcieroot", "requests": ["gpu", "nic"]}]}]'
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: film, namespace: flux-system}
spec:
  path: ./app
  sourceRef: {kind: GitRepository, name: flux-system}
"""
FORMS = {"operations": OPERATIONS, "merged": MERGED, "one line": ONE_LINE}


def indent(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


@pytest.fixture(params=["flux", pytest.param("kustomize", marks=NEEDS_PROGRAM)])
def tool(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What builds the repository, which is the working directory."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "app").mkdir()
    (tmp_path / "app/template.yaml").write_text(TEMPLATE)
    (tmp_path / "app/kustomization.yaml").write_text("resources: [template.yaml]\n")
    (tmp_path / "prod").mkdir()
    monkeypatch.chdir(tmp_path)
    return str(request.param)


def write_patches(tool: str, patches: str) -> Path:
    """Write a file with patches, and return its path."""
    if tool == "flux":
        path = Path("prod/flux.yaml")
        path.write_text(FLUX + indent(patches))
    else:
        path = Path("prod/kustomization.yaml")
        path.write_text("resources: [../app]\n" + patches)
    return path


def lint(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    main(["lint", ".", "-o", "json", "--no-cache", "--isolated", *words])
    findings: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["findings"]
    return findings


@pytest.mark.parametrize("form", FORMS)
def test_a_finding_is_shown_in_the_patch(
    tool: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_patches(tool, FORMS[form])
    (finding,) = lint(capsys)
    assert finding["code"] == "DRA701"
    assert finding["file"] == str(path)
    line = path.read_text().splitlines()[finding["line"] - 1]
    assert line[finding["column"] - 1 :].lstrip('"').startswith("resource.kubernetes.io/pcieroot")


@pytest.mark.parametrize("form", FORMS)
def test_a_fix_is_written_to_the_patch(
    tool: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_patches(tool, FORMS[form])
    before = path.read_text()
    assert main(["lint", ".", "--fix", "--no-cache", "--isolated"]) == 0, capsys.readouterr()
    assert path.read_text() == before.replace("pcieroot", "pcieRoot")
    assert Path("app/template.yaml").read_text() == TEMPLATE


@pytest.mark.parametrize("form", ["operations", "merged"])
def test_a_comment_is_added_where_the_text_of_the_patch_begins(
    tool: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the text itself it would be a part of the value."""
    path = write_patches(tool, FORMS[form])
    assert main(["lint", ".", "--add-ignore", "--no-cache", "--isolated"]) == 0
    assert "patch: |  # dractl: ignore[DRA701]\n" in path.read_text()
    assert lint(capsys) == []


def test_comment_at_a_string_without_a_finding_is_reported(
    tool: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = MERGED.replace("patch: |", "patch: |  # dractl: ignore[DRA704]")
    write_patches(tool, text.replace("pcieroot", "pcieRoot"))
    assert [finding["code"] for finding in lint(capsys)] == ["DRA901"]


def test_a_patch_names_requests_of_its_base(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the patch alone is judged as a claim, nor what it takes from the base."""
    write_patches(tool, MERGED.replace("pcieroot", "pcieRoot"))
    assert lint(capsys) == []
