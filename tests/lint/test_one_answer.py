"""A file alone, as a hook names it, and the same file within its repository."""

from __future__ import annotations

import json
import os
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from dractl import editing
from dractl.cli.main import main
from dractl.lint import lint, repository as repositories
from dractl.lint.repository import Repositories
from dractl.lint.store import Store
from dractl.manifests import FileFilter, load, load_readable
from dractl.model import Target
from tests.lint.written import ONE, claim, documents, pod, template

ADMIN = claim("gpu gpu.example.com {allocationMode: All, adminAccess: true}").replace(
    "{name: gpus}", "{name: gpus, namespace: tools}"
)
LABELLED = """\
apiVersion: v1
kind: Namespace
metadata: {name: tools, labels: {resource.kubernetes.io/admin-access: "true"}}
"""


def codes(*paths: Path) -> set[str]:
    return {
        finding.code for finding in lint(load(list(map(str, paths))), Target.of("1.37")).findings
    }


def repository(folder: Path, **files: str) -> None:
    (folder / ".git").mkdir()
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_the_label_of_a_namespace_is_looked_up_in_the_repository(tmp_path: Path) -> None:
    repository(tmp_path, claim=ADMIN, namespace=LABELLED)
    assert codes(tmp_path / "claim.yaml") == codes(tmp_path) == set()


def test_a_namespace_known_to_lack_the_label_is_an_error_in_both(tmp_path: Path) -> None:
    repository(
        tmp_path,
        claim=ADMIN,
        namespace=LABELLED.replace('resource.kubernetes.io/admin-access: "true"', "a: b"),
    )
    assert codes(tmp_path / "claim.yaml") == codes(tmp_path) != set()


def test_template_with_the_name_of_a_claim_is_no_claim(tmp_path: Path) -> None:
    # the kind ResourceClaim is a part of the word ResourceClaimTemplate
    beside = template(ONE).replace("name: gpu}", "name: half-gpu}", 1)
    wrong = documents(pod("a=half-gpu"), template(ONE).replace("name: gpu}", "name: half-gpu}", 1))
    repository(tmp_path, pod=wrong, other=beside)
    assert "DRA423" in codes(tmp_path / "pod.yaml")


def test_an_object_of_another_namespace_is_not_meant(tmp_path: Path) -> None:
    here = ONE.replace("name: gpu}", "name: aligned, namespace: a}", 1)
    there = ONE.replace("name: gpu}", "name: alined, namespace: b}", 1)
    user = pod("x=alined").replace("metadata: {", "metadata: {namespace: a, ")
    repository(tmp_path, pod=documents(user, here), other=there)
    assert "DRA423" in codes(tmp_path / "pod.yaml")


def test_changed_files_other_than_manifests_are_skipped(tmp_path: Path) -> None:
    names = ("README.md", "driver.go", "run.sh", "Makefile")
    for name in names:
        (tmp_path / name).write_text("```\nkind: ResourceClaim\n", encoding="utf-8")
    inputs = load_readable(
        [str(tmp_path / name) for name in names], choice=FileFilter(changed_files=True)
    )
    assert (inputs.files, inputs.skipped) == (0, ())


def test_a_named_document_of_prose_is_one_note(tmp_path: Path) -> None:
    (tmp_path / "README.rst").write_text("kind: ResourceClaim\n", encoding="utf-8")
    inputs = load_readable([str(tmp_path / "README.rst")])
    assert [(item.why, item.unread) for item in inputs.skipped] == [
        ("not a manifest by its name", False)
    ]
    assert not inputs.broken


def test_an_editor_looks_names_up_in_the_repository(top: Path) -> None:
    shown = editing.diagnostics(
        (top / "pod.yaml").read_text(), str(top / "pod.yaml"), Target.of("1.37")
    )
    assert "DRA423" in {item.code for item in shown}
    (top / "others.yaml").write_text(ONE.replace("name: gpu}", "name: aligned}", 1))
    shown = editing.diagnostics(
        (top / "pod.yaml").read_text(), str(top / "pod.yaml"), Target.of("1.37")
    )
    assert "DRA423" not in {item.code for item in shown}


# -- kustomizations --


def test_unrelated_file_may_belong_to_a_kustomization(tmp_path: Path) -> None:
    repository(
        tmp_path, claim=ADMIN, kustomization="resources: [claim.yaml, other.yaml]\n", other="a: b\n"
    )
    assert codes(tmp_path / "claim.yaml") == codes(tmp_path) == {"DRA152"}


@pytest.mark.parametrize("path", ["base/claim.yaml", "prod/patch.yaml"])
def test_patch_is_judged_with_its_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    if shutil.which("kubectl") is None and shutil.which("kustomize") is None:
        pytest.skip("neither kubectl nor kustomize is installed")
    kustomizations = {
        "base": "resources: [claim.yaml]\n",
        "prod": "resources: [../base]\npatches: [{path: patch.yaml}]\n",
    }
    for folder, text in kustomizations.items():
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kustomization.yaml").write_text(text)
    (tmp_path / ".git").mkdir()
    (tmp_path / "base/claim.yaml").write_text(claim("gpu gpu.nvidia.com"))
    target = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: gpus}\n"
    requests = (
        "spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.con}}]}}\n"
    )
    (tmp_path / "prod/patch.yaml").write_text(target + requests)
    monkeypatch.chdir(tmp_path)
    together = findings(".", report=tmp_path / "together.json")
    assert [item["code"] for item in together["prod/patch.yaml"]] == ["DRA722"]
    alone = findings("--changed-files", path, report=tmp_path / "alone.json")
    assert alone == ({path: together[path]} if together[path] else {})


def test_misplaced_field_is_reported_at_its_patch_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("kubectl") is None and shutil.which("kustomize") is None:
        pytest.skip("neither kubectl nor kustomize is installed")
    operation = "    - op: add\n      path: /spec/devices/requests/0/count\n      value: 2\n"
    patches = f"patches:\n- target: {{kind: ResourceClaim}}\n  patch: |-\n{operation}"
    repository(
        tmp_path,
        claim=claim("gpu gpu.nvidia.com"),
        kustomization=f"resources: [claim.yaml]\n{patches}",
    )
    monkeypatch.chdir(tmp_path)
    found = findings(".", report=tmp_path / "report.json")
    assert [
        (file, item["line"], item["code"]) for file, items in found.items() for item in items
    ] == [("kustomization.yaml", 6, "DRA003")]


@pytest.mark.parametrize("name", ["prod-gpus", "eu-prod-gpus-v2"])
def test_name_made_by_a_kustomization_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    if shutil.which("kubectl") is None and shutil.which("kustomize") is None:
        pytest.skip("neither kubectl nor kustomize is installed")
    made = template(claim("gpu gpu.nvidia.com"))
    repository(
        tmp_path, pod=documents(pod(f"a:{name}"), made.replace("name: gpus", f"name: {name}s"))
    )
    monkeypatch.chdir(tmp_path)
    assert [item["code"] for item in findings(".", report=tmp_path / "r.json")["pod.yaml"]] == [
        "DRA423"
    ]
    kustomizations = {
        "base": "resources: [gpu.yaml]\n",
        "prod": "resources: [../base]\nnamePrefix: prod-\n",
        "eu": "resources: [../prod]\nnamePrefix: eu-\nnameSuffix: -v2\n",
    }
    for folder, text in list(kustomizations.items())[: 2 + name.startswith("eu")]:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kustomization.yaml").write_text(text)
    (tmp_path / "base/gpu.yaml").write_text(made)
    assert not findings(".", report=tmp_path / "r.json")
    assert not findings("--changed-files", "pod.yaml", report=tmp_path / "r.json")


# -- charts --

HELM = shutil.which("helm")
CHART = {
    "Chart.yaml": "apiVersion: v2\nname: llm\nversion: 0.1.0\n",
    "values.yaml": "gpu:\n  class: gpu.nvidia.con\n  count: 1\n",
    "templates/claim.yaml": """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: "{{ .Release.Name }}-gpu"}
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: {{ .Values.gpu.class }}
        count: {{ .Values.gpu.count }}
""",
}


@pytest.fixture
def chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", "")  # no helm
    for name, text in CHART.items():
        (tmp_path / "chart" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "chart" / name).write_text(text)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("path", [".", "chart/values.yaml", "chart/templates/claim.yaml"])
def test_a_mistake_in_values_stands_there(chart: Path, path: str) -> None:
    found = findings("--changed-files", path, report=chart / "report.json")
    assert [
        (file, item["line"], item["code"]) for file, items in found.items() for item in items
    ] == [("chart/values.yaml", 2, "DRA722")]


@pytest.mark.parametrize(
    "path", ["values.yaml", "ci/one-values.yaml", "Chart.yaml", "templates/_helpers.tpl"]
)
def test_what_a_whole_chart_uses_lints_its_templates(chart: Path, path: str) -> None:
    """A hook passes only the file that changed, and the mistake is where it is rendered."""
    template = chart / "chart/templates/claim.yaml"
    text = template.read_text().replace("{{ .Values.gpu.class }}", "gpu.nvidia.con")
    template.write_text(text)
    changed = chart / "chart" / path
    changed.parent.mkdir(exist_ok=True)
    if not changed.exists():
        changed.write_text("")
    found = findings("--changed-files", f"chart/{path}", report=chart / "report.json")
    assert [(file, item["code"]) for file, items in found.items() for item in items] == [
        ("chart/templates/claim.yaml", "DRA722")
    ]


@pytest.mark.parametrize(
    "value", ["{{ .Values.gpu.name }}", "{{ .Release.Name }}-{{ .Values.gpu.name }}"]
)
def test_name_made_by_values_is_shown(chart: Path, value: str) -> None:
    (chart / "chart/values.yaml").write_text(
        f"{CHART['values.yaml'].replace('.con', '.com')}  name: gpus\n"
    )
    (chart / "chart/templates/pod.yaml").write_text(
        f"""\
apiVersion: v1
kind: Pod
metadata: {{name: one}}
spec:
  resourceClaims: [{{name: gpu, resourceClaimName: "{{{{ .Release.Name }}}}-gpu"}}]
  containers:
  - name: main
    image: x
    resources:
      claims:
      - name: {value}
"""
    )
    found = findings(".", report=chart / "report.json")
    assert [
        (file, item["line"], item["code"]) for file, items in found.items() for item in items
    ] == [("chart/values.yaml", 4, "DRA409")]


def test_a_mistake_in_a_template_stands_there(chart: Path) -> None:
    template = chart / "chart/templates/claim.yaml"
    template.write_text(template.read_text().replace("exactly:", "exactyl:"))
    found = findings(".", report=chart / "report.json")
    assert {item["line"] for item in found["chart/templates/claim.yaml"]} == {8}


def test_helm_says_the_same_as_values_filled_in(
    chart: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real helm, of this chart and of one that only helm can render."""
    if HELM is None:
        pytest.skip("helm is not installed: go install helm.sh/helm/v3/cmd/helm@v3.19.0")

    def places() -> list[tuple[str, int, int, str, str]]:
        found = findings(".", report=chart / "report.json")
        return [
            (f, item["line"], item["column"], item["code"], item["message"])
            for f in found
            for item in found[f]
        ]

    filled = places()
    assert [place[:2] for place in filled] == [("chart/values.yaml", 2)]
    monkeypatch.setenv("PATH", str(Path(HELM).parent))
    assert places() == filled
    template = chart / "chart/templates/claim.yaml"
    template.write_text("{{- if .Values.gpu }}\n" + template.read_text() + "{{- end }}\n")
    assert places() == filled


@pytest.mark.parametrize(
    "line", ['{{ include "x" . }}', "{{- .Values.gpu.class }}", "{{ .Values.none }}"]
)
def test_template_renderable_only_by_helm_is_skipped(chart: Path, line: str) -> None:
    template = chart / "chart/templates/claim.yaml"
    template.write_text(template.read_text() + f"  # {line}\n")
    assert not findings(".", report=chart / "report.json")


# -- all public repositories of the sample --


def findings(*arguments: str, report: Path) -> dict[str, list[Any]]:
    """The findings of a run in the working directory, by file and without what names the run."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            kept = ((name, plain(item)) for name, item in value.items() if name != "fingerprint")
            return {name: os.path.normpath(item) if name == "file" else item for name, item in kept}
        if isinstance(value, list):
            return list(map(plain, value))
        return value.replace("./", "") if isinstance(value, str) else value

    main(
        [
            "lint",
            "--isolated",
            "-q",
            "-o",
            f"json={report}",
            "-o",
            "concise",
            "--jobs",
            "1",
            *arguments,
        ]
    )
    found = defaultdict(list)
    for item in plain(json.loads(report.read_text())["findings"]):
        found[item["file"]].append(item)
    return found


def test_a_file_alone_is_judged_as_in_its_repository(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    files = sorted(
        path
        for path in (whole / "conformance/field/repositories").rglob("*.[yj]*")
        if path.is_file()
    )
    tops = sorted({path.relative_to(whole).parts[3] for path in files})
    assert len(tops) > 30
    for top in (whole / "conformance/field/repositories" / name for name in tops):
        monkeypatch.chdir(top)
        together = findings(".", report=tmp_path / "together.json")
        for file in (str(path.relative_to(top)) for path in files if path.is_relative_to(top)):
            alone = findings("--changed-files", file, report=tmp_path / "alone.json")
            assert alone == {file: together[file]} if together[file] else not alone, file
    record_property("cases", len(files))


# -- what is remembered --


@pytest.fixture
def remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(
        repositories, "_SETTLED_SECONDS", -60.0
    )  # files of this second are remembered, too
    return Store(str(tmp_path / "cache"), "index", "1")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    misspelt = documents(pod("a=aligned"), ONE.replace("name: gpu}", "name: alined}", 1))
    repository(folder, pod=misspelt)
    return folder


def judge(top: Path, remembered: Store) -> set[str]:
    inputs = load([str(top / "pod.yaml")])
    report = lint(inputs, Target.of("1.37"), repositories=Repositories(remembered))
    return {finding.code for finding in report.findings}


def test_a_repository_is_read_once(
    top: Path, remembered: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "DRA423" in judge(top, remembered)
    read: list[str] = []
    known = repositories._read_part
    monkeypatch.setattr(
        repositories, "_read_part", lambda path, *rest: read.append(path) or known(path, *rest)
    )
    (top / "others.yaml").write_text(ONE.replace("name: gpu}", "name: aligned}", 1))
    assert "DRA423" not in judge(top, remembered)
    assert read == [str(top / "others.yaml")]
    os.unlink(top / "others.yaml")
    assert "DRA423" in judge(top, remembered)


def test_a_dump_beside_a_manifest_is_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(pod("a=gpus"))
    (tmp_path / "near.yaml").write_text(template(ONE).replace("name: gpu}", "name: gpus}", 1))
    assert codes(tmp_path / "pod.yaml") == {"DRA423"}
    (tmp_path / "near.yaml").write_text(
        template(ONE).replace("name: gpu}", "name: gpus}", 1) + "#" * 2**20
    )
    assert codes(tmp_path / "pod.yaml") == set()


@pytest.mark.parametrize("damage", [b"", b"{}", b"x" * 1000])
def test_damaged_memory_of_files_is_read_anew(top: Path, remembered: Store, damage: bytes) -> None:
    expected = judge(top, remembered)
    (file,) = (
        path
        for path in (top.parent / "cache").rglob("*")
        if path.is_file() and path.name != "CACHEDIR.TAG"
    )
    file.write_bytes(damage)
    assert judge(top, remembered) == expected
    remembered.put(file.name, damage)  # with a right checksum
    assert judge(top, remembered) == expected
