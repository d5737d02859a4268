"""Inputs that are not one cluster, or that cannot be rendered: a clear end, and no answer."""

from __future__ import annotations

import io
import json
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dractl.cli.main import main
from tests.cli.test_lint_charts import HELM, TEMPLATE
from tests.cli.test_one_reading import CLASS, COMMANDS, JUDGES, store
from tests.explain.cluster import device, node, slice_of

OLD_HELM = """
import sys
if sys.argv[1] == "version":
    print("v3.1.0")
    sys.exit()
sys.exit('Error: parse error at (c/templates/claim.yaml:3): function "toToml" not defined')
"""
ON_A_CHART = {
    "explain": ("explain", "c", "--hardware", "dgx-h100"),
    "fit": ("fit", "c", "--hardware", "dgx-h100"),
    "devices": ("devices", "c"),
    "plan": ("plan", "gpu=1", "-f", "c"),
    "upgrade": ("upgrade", "c", "--from", "1.36"),
    "facts": ("facts", "c"),
}


@pytest.fixture
def archive(tmp_path: Path) -> str:
    """An archive with dumps of two clusters, as of a case with both attached."""
    path = tmp_path / "case.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        for name, devices in (("east", ["gpu-0"]), ("west", ["gpu-0", "gpu-1"])):
            published = slice_of("gpu.example.com", "a", *map(device, devices))
            items = [
                store(value, f"{name}-{number}")
                for number, value in enumerate((CLASS, published, node("a")))
            ]
            data = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
            member = tarfile.TarInfo(f"case/{name}/dump.json")
            member.size = len(data)
            packed.addfile(member, io.BytesIO(data))
    return str(path)


@pytest.mark.parametrize("command", JUDGES)
def test_an_archive_with_two_clusters_is_not_one(
    archive: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMANDS[command], archive]) == 2
    errors = capsys.readouterr().err
    assert "case.tar.gz/case/east/dump.json" in errors
    assert "case.tar.gz/case/west/dump.json" in errors
    assert "unpack the archive, and name the folder of one state of one cluster" in errors


def test_lint_judges_each_cluster_of_an_archive_in_its_file(
    archive: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", archive, "-o", "json", "--isolated"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert "DRA351" not in {finding["code"] for finding in findings}


@pytest.fixture
def chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A function that writes a chart in the working directory, for which a program stands in for
    helm.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))

    def write(program: str) -> None:
        files = {
            "bin/helm": f"#!{sys.executable} -IS\n{program}",
            "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
            "c/values.yaml": "count: 2\ndriver: gpu.example.com\n",
            "c/templates/claim.yaml": TEMPLATE,
        }
        for name, text in files.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text)
        Path("bin/helm").chmod(0o755)

    return write


@pytest.mark.parametrize("command", ON_A_CHART)
def test_chart_for_a_newer_helm_names_the_installed_version(
    chart: Callable[[str], None], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chart(OLD_HELM)
    assert main([*ON_A_CHART[command]]) == 3
    errors = capsys.readouterr().err
    assert "c/templates/claim.yaml: not rendered: helm template failed" in errors
    assert 'function "toToml" not defined; helm here is v3.1.0' in errors


@pytest.mark.parametrize("command", ON_A_CHART)
def test_unrenderable_values_are_refused_with_the_message_of_helm(
    chart: Callable[[str], None], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chart(HELM)
    Path("c/values.yaml").write_text("count: 2\nbroken: 1\n")
    assert main([*ON_A_CHART[command]]) == 3
    assert "values do not match the schema" in capsys.readouterr().err
