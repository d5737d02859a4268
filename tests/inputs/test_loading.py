"""One reading of a chart and of a kustomization for all commands that judge objects."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dractl.cli.main import main
from dractl.errors import InputError
from dractl.inputs.loading import load_rendered
from dractl.model import Target
from tests.cli.test_lint_charts import HELM, TEMPLATE
from tests.kustomize import NEEDS_PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterator

CLAIM = TEMPLATE.replace("{{ .Values.count }}", "2").replace(
    '          selectors:\n          - cel:\n              expression: device.driver == "{{'
    ' .Values.driver }}"\n',
    "",
)
PATCH = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: gpu
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu.nvidia.com, count: 9}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the working directory, with a chart and a kustomization that has a patch."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    files = {
        "chart/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
        "chart/values.yaml": "count: 2\ndriver: gpu.nvidia.com\n",
        "chart/ci/a-values.yaml": "count: 9\n",
        "chart/templates/claim.yaml": TEMPLATE.replace("gpu.example.com", "gpu.nvidia.com"),
        "base/kustomization.yaml": "resources: [claim.yaml]\n",
        "base/claim.yaml": CLAIM.replace("gpu.example.com", "gpu.nvidia.com"),
        "prod/kustomization.yaml": "resources: [../base]\npatches: [{path: count.yaml}]\n",
        "prod/count.yaml": PATCH,
    }
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    return tmp_path


@pytest.fixture
def helm(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a program that stands in for helm."""
    program = here / "bin" / "helm"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -IS\n{HELM}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}")
    return program


def fits(capsys: pytest.CaptureFixture[str], *words: str) -> int:
    capsys.readouterr()
    main(["fit", *words, "--hardware", "dgx-h100", "-o", "json"])
    return int(json.loads(capsys.readouterr().out)["fits"])


@pytest.mark.usefixtures("helm")
def test_fit_takes_the_charts_values_or_the_users(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fits(capsys, "chart") == 4
    assert fits(capsys, "chart", "--set", "count=4") == 2
    Path("mine.yaml").write_text("count: 8\n")
    assert fits(capsys, "chart", "--values", "mine.yaml") == 1
    assert main(["explain", "chart", "--hardware", "dgx-h100", "--set", "count=9"]) == 1
    assert main(["explain", "chart", "--hardware", "dgx-h100"]) == 0
    assert main(["explain", "prod", "--hardware", "dgx-h100", "--set", "count=9"]) != 0


@pytest.mark.parametrize("command", ["explain", "fit", "upgrade", "devices"])
def test_unrendered_chart_is_exit_code_3(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("PATH", str(here))
    (here / "chart" / "templates" / "claim.yaml").write_text(
        TEMPLATE.replace("{{ .Values.count }}", "{{ add .Values.count 1 }}")
    )
    words = {
        "explain": ["chart", "--hardware", "dgx-h100"],
        "fit": ["chart", "--hardware", "dgx-h100"],
        "upgrade": ["chart", "--from", "1.36"],
        "devices": ["-f", "chart"],
    }[command]
    assert main([command, *words]) == 3
    error = capsys.readouterr().err
    assert (
        "chart/templates/claim.yaml: not rendered: a template of a Helm chart, and helm is" in error
    )
    assert "helm template chart > FILE" in error


@NEEDS_PROGRAM
@pytest.mark.parametrize("paths", [["prod"], ["."], ["prod/kustomization.yaml"], ["base", "prod"]])
def test_a_kustomization_stands_for_its_files(here: Path, paths: list[str]) -> None:
    shutil.rmtree(here / "chart")
    inputs = load_rendered(paths, Target.of())
    claims = [item for item in inputs.documents if item.kind == "ResourceClaimTemplate"]
    assert [item.at(("spec", "spec", "devices", "requests", 0, "exactly")) for item in claims] == [
        {"deviceClassName": "gpu.nvidia.com", "count": 9}
    ]
    assert claims[0].at(("metadata",)) == {"name": "gpu"}


@NEEDS_PROGRAM
def test_explain_judges_the_object_and_not_its_patch(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "prod", "--hardware", "dgx-h100"]) == 1
    assert main(["explain", "base", "--hardware", "dgx-h100"]) == 0
    assert main(["upgrade", "prod", "--from", "1.34", "--to", "1.35"]) == 0


def test_unbuildable_kustomization_is_refused_if_it_may_decide(here: Path) -> None:
    (here / "prod" / "kustomization.yaml").write_text(
        "resources: [../base, 'https://example.com/a.yaml']\n"
    )
    with pytest.raises(InputError, match="prod: the kustomization was not built: it refers to"):
        load_rendered(["prod"], Target.of())
    (here / "base" / "claim.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n")
    assert load_rendered(["prod"], Target.of()).documents
