"""migrate of what charts, kustomizations and Flux make: converted where it is written, else reported
there.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dractl.cli.main import main

HELM = r"""
import os, re, sys
words = sys.argv[1:]
chart = words[2]
values = {}
files = [os.path.join(chart, "values.yaml")]
files += [words[at + 1] for at, word in enumerate(words) if word == "--values"]
for name in files:
    for line in open(name):
        key, _, value = line.strip().strip("{}").replace('"', "").partition(":")
        if value.strip():
            values[key] = value.strip()
values.update(words[at + 1].split("=") for at, word in enumerate(words) if word == "--set")
for name in sorted(os.listdir(os.path.join(chart, "templates"))):
    text = open(os.path.join(chart, "templates", name)).read()
    if text.startswith("{{- if .Values.off }}"):
        continue
    print("---\n# Source: c/templates/" + name)
    print(re.sub(r"{{ .Values.(\w+) }}", lambda found: values.get(found[1], ""), text))
"""
"""A program that stands in for helm: it fills in flat values."""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: a
spec:
  containers:
  - name: main
    image: x
    resources:
      limits:
        nvidia.com/gpu: COUNT
"""
CHART = {
    "c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n",
    "c/values.yaml": "count: 2\n",
    "c/templates/pod.yaml": POD.replace("COUNT", "{{ .Values.count }}"),
}
LIMIT_LINE = 11

needs_kustomize = pytest.mark.skipif(
    not (shutil.which("kubectl") or shutil.which("kustomize")),
    reason="neither kustomize nor kubectl is installed",
)


def write(files: Mapping[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def helm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a program that stands in for helm."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "helm").write_text(f"#!{sys.executable} -IS\n{HELM}")
    (tmp_path / "bin" / "helm").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def no_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "none"))


def migrate(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the report."""
    code = main(["migrate", "--isolated", "-o", "json", *arguments])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, report


def left(report: Mapping[str, Any]) -> set[tuple[str, int]]:
    """Return the places of requests that stay as they are."""
    return {
        (row["file"], row["line"]) for row in report["remarks"] if "left as it is" in row["message"]
    }


def changed(report: Mapping[str, Any]) -> set[str]:
    return {row["file"] for row in report["files"]}


@pytest.mark.usefixtures("helm")
def test_a_request_of_a_template_is_reported_at_its_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(CHART)
    code, report = migrate(capsys, "c")
    assert (code, changed(report)) == (0, set())
    assert left(report) == {("c/templates/pod.yaml", LIMIT_LINE)}
    assert not report["skipped"]


@pytest.mark.usefixtures("helm")
def test_a_request_with_values_for_tests_alone_is_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The chart's own values ask for no device."""
    write({**CHART, "c/values.yaml": "count: 0\n", "c/ci/gpu-values.yaml": "count: 1\n"})
    assert left(migrate(capsys, "c")[1]) == {("c/templates/pod.yaml", LIMIT_LINE)}


@pytest.mark.usefixtures("helm")
def test_a_template_without_actions_is_converted(capsys: pytest.CaptureFixture[str]) -> None:
    write({**CHART, "c/templates/pod.yaml": POD.replace("COUNT", "1")})
    code, report = migrate(capsys, "c")
    assert (code, changed(report), left(report)) == (0, {"c/templates/pod.yaml"}, set())


@pytest.mark.usefixtures("helm")
@pytest.mark.parametrize("given", [("--set", "count=1"), ("--values", "more.yaml")])
def test_values_of_the_command_line_render_the_chart(
    capsys: pytest.CaptureFixture[str], given: tuple[str, str]
) -> None:
    write({**CHART, "c/values.yaml": "count: 0\n", "more.yaml": "count: 1\n"})
    assert left(migrate(capsys, "c", *given)[1]) == {("c/templates/pod.yaml", LIMIT_LINE)}


@pytest.mark.usefixtures("helm")
def test_a_template_that_makes_nothing_is_not_overlooked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    off = "{{- if .Values.off }}\n" + POD.replace("COUNT", "1") + "{{- end }}\n"
    write({**CHART, "c/templates/off.yaml": off})
    code, report = migrate(capsys, "c")
    assert code == 3
    assert [row["file"] for row in report["skipped"]] == ["c/templates/off.yaml"]


@pytest.mark.usefixtures("no_programs")
def test_what_only_helm_renders_is_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    """Values alone are filled in without helm."""
    condition = "{{- if gt 1 .Values.count }}\n" + POD.replace("COUNT", "1") + "{{- end }}\n"
    write({**CHART, "c/templates/more.yaml": condition})
    code, report = migrate(capsys, "c")
    assert (code, left(report)) == (3, {("c/templates/pod.yaml", LIMIT_LINE)})
    assert [row["file"] for row in report["skipped"]] == ["c/templates/more.yaml"]


@pytest.mark.usefixtures("helm")
def test_a_class_is_kept_for_what_a_chart_requests(capsys: pytest.CaptureFixture[str]) -> None:
    mig = POD.replace("nvidia.com/gpu: COUNT", "nvidia.com/mig-1g.5gb: {{ .Values.count }}")
    write({**CHART, "c/templates/pod.yaml": mig})
    _, report = migrate(capsys, "--keep-requests", "c")
    names = [row["spec"]["extendedResourceName"] for row in report["classes"]]
    assert names == ["nvidia.com/mig-1g.5gb"]


@pytest.mark.usefixtures("helm")
def test_a_release_of_flux_is_rendered_with_its_values(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the release switches the devices on."""
    release = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: c, namespace: ml}
spec:
  chart:
    spec:
      chart: ./charts/c
      sourceRef: {kind: GitRepository, name: flux-system}
  values:
    count: 2
"""
    flux = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  path: ./apps
  sourceRef: {kind: GitRepository, name: flux-system}
"""
    chart = {f"charts/{name}": text for name, text in CHART.items()}
    write({**chart, "charts/c/values.yaml": "count: 0\n"})
    write({"apps/c.yaml": release, "cluster/apps.yaml": flux})
    Path(".git").mkdir()
    code, report = migrate(capsys, "cluster", "apps")
    assert (code, changed(report)) == (0, set())
    assert left(report) == {("charts/c/templates/pod.yaml", LIMIT_LINE)}


OVERLAY = {
    "base/kustomization.yaml": "resources: [pod.yaml]\n",
    "base/pod.yaml": POD.replace("COUNT", "1"),
    "prod/kustomization.yaml": "resources: [../base]\npatches: [{path: patch.yaml}]\n",
    "prod/patch.yaml": POD.replace("COUNT", "4").replace("    image: x\n", ""),
}


@needs_kustomize
def test_the_base_is_converted_and_the_patch_reported_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(OVERLAY)
    code, report = migrate(capsys, ".")
    assert (code, changed(report)) == (0, {"base/pod.yaml"})
    assert {file for file, _ in left(report)} == {"prod/patch.yaml"}
    assert sum("left as it is" in row["message"] for row in report["remarks"]) == 1


@needs_kustomize
def test_a_patch_beside_the_input_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """The patch stands in a file that is no manifest by its name."""
    patch = (
        '[{"op": "add", "path": "/spec/containers/0/resources/limits/amd.com~1gpu", "value": 2}]'
    )
    entry = "patches: [{path: ops.txt, target: {kind: Pod}}]\n"
    write({**OVERLAY, "prod/kustomization.yaml": f"resources: [../base]\n{entry}"})
    Path("prod/patch.yaml").unlink()
    write({"prod/ops.txt": patch})
    assert left(migrate(capsys, ".")[1]) == {("prod/ops.txt", 1)}


@needs_kustomize
@pytest.mark.parametrize("field", ["namePrefix: dev-", "nameSuffix: -dev"])
def test_a_kustomization_that_renames_the_template_is_reported(
    capsys: pytest.CaptureFixture[str], field: str
) -> None:
    write({**OVERLAY, "prod/kustomization.yaml": f"resources: [../base]\n{field}\n"})
    Path("prod/patch.yaml").unlink()
    code, report = migrate(capsys, ".")
    messages = [row["message"] for row in report["remarks"] if "renames" in row["message"]]
    assert code == 0
    assert len(messages) == 1
    assert "nameReference" in messages[0]


@needs_kustomize
def test_the_reference_that_the_remark_names_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    references = """\
nameReference:
- kind: ResourceClaimTemplate
  group: resource.k8s.io
  fieldSpecs:
  - {kind: Pod, path: spec/resourceClaims/resourceClaimTemplateName}
"""
    overlay = "resources: [../base]\nnamePrefix: dev-\nconfigurations: [references.yaml]\n"
    write({**OVERLAY, "prod/kustomization.yaml": overlay, "prod/references.yaml": references})
    Path("prod/patch.yaml").unlink()
    _, report = migrate(capsys, ".")
    assert not [row for row in report["remarks"] if "renames" in row["message"]]


@pytest.mark.usefixtures("no_programs")
def test_files_of_a_kustomization_that_nobody_builds_are_converted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(OVERLAY)
    assert main(["migrate", "--isolated", "."]) == 0
    shown = capsys.readouterr()
    assert "  resourceClaims:" in shown.out
    assert "prod: the kustomization was not built: neither kustomize nor kubectl" in shown.err
    assert "its files are converted as they are" in shown.err
