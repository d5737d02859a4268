"""lint of what Flux and Argo CD apply: repositories of the shapes that people have, with mistakes."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dractl.cli.commands.lint import FORMATS as LINT_FORMATS
from dractl.cli.main import main
from tests.kustomize import NEEDS_PROGRAM

if TYPE_CHECKING:
    from collections.abc import Mapping

TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: ${APP}-gpu
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.intel.com
          allocationMode: All
          adminAccess: true
"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: film
spec:
  chartRef: {kind: OCIRepository, name: film}
  values:
    controllers:
      film:
        pod:
          resourceClaims:
          - name: gpu
            resourceClaimTemplateName: film-gpu
        containers:
          app:
            image: {repository: x, tag: y}
            resources: {claims: [{name: gpu}]}
"""
APP = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: film}
spec:
  path: ./apps/media/film/app
  components:
  - ../../../../components/gpu
  postBuild:
    substitute:
      APP: film
  sourceRef: {kind: GitRepository, name: flux-system}
  targetNamespace: media
"""
FILES = {
    "flux/ks.yaml": """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: cluster-apps, namespace: flux-system}
spec:
  path: ./apps
  sourceRef: {kind: GitRepository, name: flux-system}
""",
    "apps/media/kustomization.yaml": """\
kind: Kustomization
apiVersion: kustomize.config.k8s.io/v1beta1
namespace: media
resources: [namespace.yaml, film/ks.yaml]
""",
    "apps/media/namespace.yaml": """\
apiVersion: v1
kind: Namespace
metadata:
  name: _
  labels: {resource.kubernetes.io/admin-access: "true"}
""",
    "apps/media/film/ks.yaml": APP,
    "apps/media/film/app/kustomization.yaml": "resources: [release.yaml]\n",
    "apps/media/film/app/release.yaml": RELEASE,
    "components/gpu/kustomization.yaml": """\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [template.yaml]
""",
    "components/gpu/template.yaml": TEMPLATE,
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository for Flux without a mistake, which is the working directory."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    write(FILES)
    return folder


def write(files: Mapping[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def edit(name: str, before: str, after: str) -> None:
    text = Path(name).read_text()
    assert before in text
    Path(name).write_text(text.replace(before, after))


def report(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    main(["lint", *(words or (".",)), "-o", "json", "--no-cache"])
    return dict(json.loads(capsys.readouterr().out))


def places(capsys: pytest.CaptureFixture[str], *words: str) -> list[tuple[str, str, int]]:
    findings = report(capsys, *words)["findings"]
    return [(item["code"], item["file"], item["line"]) for item in findings]


def notes(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    main(["lint", *(words or (".",)), "--no-cache"])
    return capsys.readouterr().err


pytestmark = pytest.mark.usefixtures("repository")


def test_a_repository_without_mistakes_has_no_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert places(capsys) == []


@pytest.mark.parametrize(
    ("file", "before", "after", "place"),
    [
        (
            "apps/media/film/app/release.yaml",
            "film-gpu",
            "flim-gpu",
            ("DRA423", "apps/media/film/app/release.yaml", 13),
        ),
        (
            "apps/media/film/ks.yaml",
            "APP: film",
            "APP: cinema",
            ("DRA423", "apps/media/film/app/release.yaml", 13),
        ),
        (
            "apps/media/film/ks.yaml",
            "- ../../../../components/gpu",
            "[]",
            ("DRA423", "apps/media/film/app/release.yaml", 13),
        ),
        (
            "apps/media/namespace.yaml",
            "admin-access",
            "other",
            ("DRA119", "components/gpu/template.yaml", 13),
        ),
        (
            "components/gpu/template.yaml",
            "gpu.intel.com",
            "gpu.intel.co",
            ("DRA722", "components/gpu/template.yaml", 11),
        ),
        (
            "apps/media/film/app/release.yaml",
            "claims: [{name: gpu}]",
            "claims: [{name: gpus}]",
            ("DRA409", "apps/media/film/app/release.yaml", 17),
        ),
    ],
)
def test_a_mistake_is_found_where_a_person_edits_it(
    file: str,
    before: str,
    after: str,
    place: tuple[str, str, int],
    capsys: pytest.CaptureFixture[str],
) -> None:
    if after == "[]":
        before, after = "components:\n  - ../../../../components/gpu", "components: []"
    edit(file, before, after)
    assert place in places(capsys)
    assert place in places(capsys, place[1])  # and where the file is named alone


def test_a_fix_is_written_where_the_value_stands(capsys: pytest.CaptureFixture[str]) -> None:
    edit("apps/media/film/app/release.yaml", "film-gpu", "flim-gpu")
    assert main(["lint", ".", "--fix", "--unsafe-fixes", "--no-cache", "-q"]) == 0
    assert Path("apps/media/film/app/release.yaml").read_text() == RELEASE
    assert Path("components/gpu/template.yaml").read_text() == TEMPLATE
    assert places(capsys) == []


def test_a_label_in_the_folder_of_another_cluster_hides_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = list(FILES)
    for name in names:
        text = FILES[name].replace("./apps", "./b/apps")
        write({f"b/{name}": text})
    edit("apps/media/namespace.yaml", "admin-access", "other")
    assert places(capsys) == [("DRA119", "components/gpu/template.yaml", 13)]


def test_a_name_in_the_folder_of_another_cluster_hides_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, text in FILES.items():
        write({f"b/{name}": text.replace("./apps", "./b/apps").replace("film", "flim")})
        write({f"b/{name.replace('film', 'flim')}": text.replace("./apps", "./b/apps")})
    edit("apps/media/film/app/release.yaml", "film-gpu", "flim-gpu")
    assert ("DRA423", "apps/media/film/app/release.yaml", 13) in places(capsys)


def test_patches_and_variables_of_the_kustomization_above_count(
    capsys: pytest.CaptureFixture[str],
) -> None:
    patch = """\
  patches:
  - target: {group: kustomize.toolkit.fluxcd.io, kind: Kustomization}
    patch: |-
      apiVersion: kustomize.toolkit.fluxcd.io/v1
      kind: Kustomization
      metadata: {name: _}
      spec:
        postBuild:
          substituteFrom:
          - {kind: ConfigMap, name: settings}
"""
    Path("flux/ks.yaml").write_text(FILES["flux/ks.yaml"] + patch)
    edit("components/gpu/template.yaml", "gpu.intel.com", "${GPU_CLASS}")
    settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {GPU_CLASS: gpu.intel.co}\n"
    write({"apps/media/settings.yaml": settings})
    edit("apps/media/kustomization.yaml", "namespace.yaml,", "namespace.yaml, settings.yaml,")
    (finding,) = report(capsys)["findings"]
    assert (finding["file"], finding["line"]) == ("apps/media/settings.yaml", 4)
    assert "gpu.intel.co;" in finding["message"]


def test_a_secret_is_used_and_never_printed(capsys: pytest.CaptureFixture[str]) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {GPU_CLASS: hunter2}\n"
    write({"apps/media/s.yaml": secret})
    edit("apps/media/kustomization.yaml", "namespace.yaml,", "namespace.yaml, s.yaml,")
    edit(
        "apps/media/film/ks.yaml",
        "  postBuild:\n",
        "  postBuild:\n    substituteFrom: [{kind: Secret, name: s}]\n",
    )
    edit("components/gpu/template.yaml", "gpu.intel.com", "${GPU_CLASS}")
    assert places(capsys) == []
    main(["lint", ".", "--no-cache"])
    captured = capsys.readouterr()
    assert "hunter2" not in captured.out + captured.err
    assert "GPU_CLASS" not in captured.err


@pytest.mark.parametrize("form", LINT_FORMATS)
def test_no_format_shows_the_value_of_a_secret_beside_a_finding(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    values = "stringData: {GPU_CLASS: hunter2.example.com}\ndata: {MODE: aHVudGVyMg==}\n"
    write({"apps/media/s.yaml": f"apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\n{values}"})
    edit("apps/media/kustomization.yaml", "namespace.yaml,", "namespace.yaml, s.yaml,")
    edit(
        "apps/media/film/ks.yaml",
        "  postBuild:\n",
        "  postBuild:\n    substituteFrom: [{kind: Secret, name: s}]\n",
    )
    edit("components/gpu/template.yaml", "gpu.intel.com", "${GPU_CLASS}")
    edit("components/gpu/template.yaml", "allocationMode: All", "allocationMode: Al${MODE}")
    edit("apps/media/film/app/release.yaml", "film-gpu", "flm-gpu")
    main(["lint", ".", "--no-cache", "-o", form, "--statistics"])
    captured = capsys.readouterr()
    for secret in ("hunter2", "aHVudGVyMg"):
        assert secret not in captured.out + captured.err


def test_undefined_variable_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    edit("components/gpu/template.yaml", "gpu.intel.com", "${GPU_CLASS}")
    text = notes(capsys)
    assert "components/gpu/template.yaml:11: linted, but nothing in this repository defines" in text
    assert "${GPU_CLASS} for Kustomization film (apps/media/film/ks.yaml:10)" in text
    assert main(["lint", ".", "--fail-on-skipped", "--no-cache"]) == 1


NAMESPACE_OF_FLUX = """\
- source: {kind: Namespace, fieldPath: metadata.name}
  targets:
  - select: {kind: Kustomization, group: kustomize.toolkit.fluxcd.io}
    fieldPaths: [metadata.namespace]
    options: {create: true}
  - select: {kind: Kustomization, group: kustomize.toolkit.fluxcd.io}
    fieldPaths: [spec.targetNamespace]
    options: {create: true}
"""


def test_replacements_give_kustomizations_a_namespace(capsys: pytest.CaptureFixture[str]) -> None:
    edit("apps/media/film/ks.yaml", "  targetNamespace: media\n", "")
    write({"replacements.yaml": NAMESPACE_OF_FLUX})
    edit(
        "apps/media/kustomization.yaml",
        "namespace: media\n",
        "namespace: media\nreplacements: [{path: ../../replacements.yaml}]\n",
    )
    assert places(capsys) == []
    assert "replacement" not in notes(capsys)
    edit("apps/media/namespace.yaml", '"true"', '"false"')
    assert ("DRA119", "components/gpu/template.yaml", 13) in places(capsys)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("create: true", "delimiter: '/'"),
        ("metadata.namespace", "metadata.labels.[a]"),
        ("kind: Namespace", "kind: Secret"),
    ],
)
def test_a_replacement_that_needs_kustomize_is_a_note(
    before: str, after: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write({"replacements.yaml": NAMESPACE_OF_FLUX.replace(before, after)})
    edit(
        "apps/media/kustomization.yaml",
        "namespace: media\n",
        "namespace: media\nreplacements: [{path: ../../replacements.yaml}]\n",
    )
    assert "flux/ks.yaml: skipped, Kustomization cluster-apps was not built" in notes(capsys)


def test_variables_are_not_called_undefined_if_the_kustomization_above_was_not_built(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its patches may add variables to the Kustomizations in its folder."""
    edit("components/gpu/template.yaml", "gpu.intel.com", "${GPU_CLASS}")
    assert "nothing in this repository defines ${GPU_CLASS}" in notes(capsys)
    edit(
        "apps/media/kustomization.yaml",
        "namespace: media",
        "namespace: media\ntransformers: [x.yaml]",
    )
    text = notes(capsys)
    assert "Kustomization cluster-apps was not built" in text
    assert "GPU_CLASS" not in text


def test_an_artifact_without_a_path_is_not_this_repository(
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: operator}
spec:
  sourceRef: {kind: OCIRepository, name: operator}
"""
    write({"apps/media/operator.yaml": other})
    edit("apps/media/kustomization.yaml", "film/ks.yaml", "film/ks.yaml, operator.yaml")
    assert places(capsys) == []
    assert (
        "apps/media/operator.yaml: skipped, the Kustomization was not built: its source is"
        in notes(capsys)
    )


def test_a_template_that_nothing_uses_is_shown_beside_an_unknown_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write({"apps/media/film/app/template.yaml": TEMPLATE.replace("${APP}-gpu", "cinema")})
    write({"apps/media/film/app/kustomization.yaml": "resources: [release.yaml, template.yaml]\n"})
    edit("apps/media/film/ks.yaml", "  components:\n  - ../../../../components/gpu\n", "")
    edit("apps/media/film/app/release.yaml", "film-gpu", "cinema")
    assert places(capsys) == []
    edit("apps/media/film/app/release.yaml", "cinema", "cinema-template")
    assert ("DRA423", "apps/media/film/app/release.yaml", 13) in places(capsys)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (
            {"components/gpu/kustomization.yaml": "kind: Component\ncomponents: [../gpu]\n"},
            "components that consist of each other",
        ),
        (
            {"apps/media/film/ks.yaml": APP.replace("./apps/media/film/app", "../../elsewhere")},
            "leads out of the repository",
        ),
        (
            {"apps/media/film/ks.yaml": APP.replace("film/app", "film/nowhere")},
            "its path is not in this repository",
        ),
        (
            {"apps/media/film/ks.yaml": APP.replace("components/gpu", "components/none")},
            "the component components/none does not exist",
        ),
        (
            {"components/gpu/template.yaml": TEMPLATE + "  broken: [\n"},
            "components/gpu/template.yaml",
        ),
        (
            {"components/gpu/kustomization.yaml": "kind: Component\nresources: [../../../../x]\n"},
            "x does not exist",
        ),
        (
            {"apps/media/film/ks.yaml": APP.replace("APP: film", "my-app: film")},
            "'my-app' is no name of a variable",
        ),
        (
            {"components/gpu/template.yaml": TEMPLATE.replace("${APP}", "${APP")},
            "a closing brace is missing",
        ),
    ],
)
def test_unbuildable_kustomization_is_named_and_counted(
    files: dict[str, str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(files)
    assert why in notes(capsys)
    assert main(["lint", ".", "--fail-on-skipped", "--no-cache"]) == 1


@pytest.mark.parametrize("text", ["kind: Component\ncomponents: [../gpu]\n", "kind: [\n"])
def test_a_component_that_cannot_be_built_is_noted_once(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write({"apps/media/music/ks.yaml": APP.replace("name: film", "name: music")})
    edit("apps/media/kustomization.yaml", "film/ks.yaml", "film/ks.yaml, music/ks.yaml")
    write({"components/gpu/kustomization.yaml": text})
    (note,) = [line for line in notes(capsys).splitlines() if "music" in line]
    assert note.startswith("note: components/gpu/kustomization.yaml: skipped, Kustomization film, ")


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [("film/app", "film/nowhere", 5), ("components/gpu", "components/none", 7)],
)
def test_missing_folder_is_reported_with_its_line(
    before: str, after: str, line: int, capsys: pytest.CaptureFixture[str]
) -> None:
    edit("apps/media/film/ks.yaml", before, after)
    assert f"apps/media/film/ks.yaml:{line}: skipped" in notes(capsys)


def test_a_path_of_a_kustomization_to_a_file_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    edit(
        "apps/media/film/ks.yaml", "path: ./apps/media/film/app", "path: ./apps/media/film/ks.yaml"
    )
    assert "its path ./apps/media/film/ks.yaml is not a folder" in notes(capsys)


def test_a_link_out_of_the_repository_is_not_followed(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository.parent / "outside.yaml").write_text(TEMPLATE.replace("gpu.intel.com", "hunter2"))
    Path("components/gpu/template.yaml").unlink()
    Path("components/gpu/template.yaml").symlink_to(repository.parent / "outside.yaml")
    assert "leads out of the repository" in notes(capsys)


def test_remote_charts_are_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    source = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: film}
spec: {url: oci://registry.example.com/charts/app-template}
"""
    write({"apps/media/film/app/source.yaml": source})
    write({"apps/media/film/app/kustomization.yaml": "resources: [release.yaml, source.yaml]\n"})
    text = notes(capsys)
    assert text.count("app-template") == 1
    assert "apps/media/film/app/release.yaml: linted, but not rendered" in text


@pytest.mark.parametrize(
    ("more", "is_judged"),
    [
        ("", True),
        (", {kind: ConfigMap, name: absent}", False),
        (", {kind: ConfigMap, name: absent, optional: true}", True),
    ],
)
def test_values_from_a_generated_config_map_are_judged_in_their_file(
    more: str, is_judged: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a source that the repository does not have, the values of the release are unknown."""
    head, _, values = RELEASE.partition("  values:\n")
    lines = [line[4:] for line in values.splitlines()]
    write(
        {
            "apps/media/film/app/release.yaml": head
            + f"  valuesFrom: [{{kind: ConfigMap, name: film-values}}{more}]\n",
            "apps/media/film/app/values.yaml": "\n".join(lines).replace("film-gpu", "flim-gpu"),
            "apps/media/film/app/kustomization.yaml": """\
resources: [release.yaml]
configMapGenerator:
- name: film-values
  files: [values.yaml]
""",
        }
    )
    finding = ("DRA423", "apps/media/film/app/values.yaml", 6)
    assert (finding in places(capsys)) == is_judged


def test_values_in_a_config_map_are_judged_in_its_file(capsys: pytest.CaptureFixture[str]) -> None:
    head, _, values = RELEASE.partition("  values:\n")
    config = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: film-values}\ndata:\n  values.yaml: |\n"
    )
    write(
        {
            "apps/media/film/app/release.yaml": head
            + "  valuesFrom: [{kind: ConfigMap, name: film-values}]\n",
            "apps/media/film/app/values.yaml": config + values.replace("film-gpu", "flim-gpu"),
            "apps/media/film/app/kustomization.yaml": "resources: [release.yaml, values.yaml]\n",
        }
    )
    assert ("DRA423", "apps/media/film/app/values.yaml", 11) in places(capsys)


def test_a_malformed_generator_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    write(
        {
            "apps/media/film/app/kustomization.yaml": (
                "resources: [release.yaml]\nconfigMapGenerator: [x, {literals: [a=b]}]\n"
            )
        }
    )
    assert places(capsys) == []


HELM = """
import json, os, re, sys
chart, words = sys.argv[3], sys.argv[4:]
values = {}
for at, word in enumerate(words):
    if word == "--values":
        values |= json.load(open(words[at + 1]))
    if word == "--set":
        key, _, value = words[at + 1].partition("=")
        values[key] = value
values["release"] = sys.argv[2]
for name in sorted(os.listdir(os.path.join(chart, "templates"))):
    text = open(os.path.join(chart, "templates", name)).read()
    print("---\\n# Source: c/templates/" + name)
    print(re.sub(r"{{ .Values.(\\w+) }}", lambda match: str(values.get(match[1], "")), text))
"""
CHART = {
    "charts/c/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
    "charts/c/templates/claim.yaml": """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: gpu
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.intel.com
          count: {{ .Values.count }}
""",
    "charts/c/values.yaml": '{"count": 1}\n',
}


@pytest.fixture
def helm(tmp_path: Path) -> None:
    """Install a program that stands in for helm."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "helm").write_text(f"#!{sys.executable} -IS\n{HELM}")
    (tmp_path / "bin" / "helm").chmod(0o755)


@pytest.mark.usefixtures("helm")
def test_a_chart_of_the_repository_is_rendered_with_the_values_of_the_release(
    capsys: pytest.CaptureFixture[str],
) -> None:
    release = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: c}
spec:
  chart:
    spec:
      chart: ./charts/c
      sourceRef: {kind: GitRepository, name: flux-system}
  values:
    count: -2
"""
    write({**CHART, "apps/media/film/app/c.yaml": release})
    write({"apps/media/film/app/kustomization.yaml": "resources: [release.yaml, c.yaml]\n"})
    assert ("DRA116", "apps/media/film/app/c.yaml", 10) in places(capsys)


WORKLOAD = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: c}
spec:
  selector: {matchLabels: {app: c}}
  template:
    metadata: {labels: {app: c}}
    spec: # resourceClaims are added by whoever installs it
      containers:
      - name: main
        image: registry.example.com/c:1
        resources: {claims: {{ .Values.claims }}}
"""
PATCHED = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: c}
spec:
  chart:
    spec:
      chart: ./charts/c
      sourceRef: {kind: GitRepository, name: flux-system}
  values: {claims: '[{name: gpu}]'}
"""
OPERATIONS = """\
  postRenderers:
  - kustomize:
      patches:
      - target: {kind: DaemonSet}
        patch: |
          - {op: add, path: /spec/template/spec/resourceClaims, value: [{name: gpu, resourceClaimTemplateName: gpu}]}
"""
STRATEGIC = """\
  postRenderers:
  - kustomize:
      patches:
      - patch: |
          kind: DaemonSet
          metadata: {name: c}
          spec: {template: {spec: {resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]}}}
"""


@pytest.mark.usefixtures("helm")
def test_a_chart_is_judged_after_the_patches_of_the_release(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write({**CHART, "charts/c/templates/workload.yaml": WORKLOAD})
    write({"charts/c/values.yaml": '{"count": 1, "claims": "[]"}'})
    write({"apps/media/film/app/kustomization.yaml": "resources: [release.yaml, c.yaml]\n"})
    write({"apps/media/film/app/c.yaml": PATCHED})
    assert ("DRA409", "charts/c/templates/workload.yaml", 12) in places(capsys)
    write({"apps/media/film/app/c.yaml": PATCHED + OPERATIONS})
    assert places(capsys) == []
    write({"apps/media/film/app/c.yaml": PATCHED + OPERATIONS.replace("eName: gpu", "eName: gpus")})
    assert ("DRA423", "apps/media/film/app/c.yaml", 15) in places(capsys)


@pytest.mark.usefixtures("helm")
def test_a_patch_of_a_release_that_needs_kustomize_is_a_note(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write({**CHART, "charts/c/templates/workload.yaml": WORKLOAD})
    write({"charts/c/values.yaml": '{"count": 1, "claims": "[]"}'})
    write({"apps/media/film/app/kustomization.yaml": "resources: [release.yaml, c.yaml]\n"})
    write({"apps/media/film/app/c.yaml": PATCHED + STRATEGIC})
    assert places(capsys) == []
    assert "a patch of DaemonSet c needs kustomize (apps/media/film/app/c.yaml:14)" in notes(capsys)


@pytest.mark.usefixtures("helm")
@pytest.mark.parametrize(("namespace", "is_found"), [("gpu-team", False), ("other", True)])
def test_objects_of_a_chart_are_in_the_namespace_of_the_release(
    namespace: str, is_found: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: p, namespace: {namespace}}}
spec:
  resourceClaims: [{{name: gpu, resourceClaimTemplateName: gpu}}]
  containers: [{{name: c, image: x, resources: {{claims: [{{name: gpu}}]}}}}]
"""
    release = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: c}
spec:
  targetNamespace: gpu-team
  chart: {spec: {chart: ./charts/c, sourceRef: {kind: GitRepository, name: flux-system}}}
"""
    write({**CHART, "charts/c/templates/pod.yaml": pod, "apps/media/film/app/c.yaml": release})
    write({"apps/media/film/app/kustomization.yaml": "resources: [release.yaml, c.yaml]\n"})
    assert (("DRA423", "charts/c/templates/pod.yaml", 5) in places(capsys)) == is_found


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: c, namespace: argocd}
spec:
  destination: {namespace: media}
  source:
    repoURL: https://example.com/acme/infra
    path: charts/c
    """


@pytest.mark.usefixtures("helm")
@pytest.mark.parametrize(
    ("options", "place"),
    [
        ("helm: {valueFiles: [prod.yaml]}", ("charts/c/prod.yaml", 1)),
        ("helm: {valuesObject: {count: -3}}", ("argo/app.yaml", 9)),
        ("helm: {values: 'count: -5'}", ("argo/app.yaml", 9)),
        ("helm: {parameters: [{name: count, value: '-4'}]}", ("charts/c/templates/claim.yaml", 12)),
    ],
)
def test_a_chart_of_an_application_is_rendered_with_its_options(
    options: str, place: tuple[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    write(
        {**CHART, "charts/c/prod.yaml": '{"count": -2}\n', "argo/app.yaml": APPLICATION + options}
    )
    assert ("DRA116", *place) in places(capsys)


@pytest.mark.usefixtures("helm")
@pytest.mark.parametrize("may_lack", [True, False])
def test_absent_values_file_of_an_application_is_noted_unless_it_may_be_absent(
    may_lack: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """reposerver/repository/repository.go: ignoreMissingValueFiles"""
    options = "helm: {valueFiles: [prod.yaml, absent.yaml]%s}"
    options %= ", ignoreMissingValueFiles: true" if may_lack else ""
    write(
        {**CHART, "charts/c/prod.yaml": '{"count": -2}\n', "argo/app.yaml": APPLICATION + options}
    )
    assert (("DRA116", "charts/c/prod.yaml", 1) in places(capsys)) == may_lack
    note = "its values file absent.yaml does not exist in this repository"
    assert (note in notes(capsys)) == (not may_lack)


def test_an_application_set_with_a_list_makes_an_application_for_each_element(
    capsys: pytest.CaptureFixture[str],
) -> None:
    claim = TEMPLATE.replace("${APP}", "a").replace("          adminAccess: true\n", "")
    pod = """\
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: b-gpu}]
  containers: [{name: c, image: x, resources: {claims: [{name: gpu}]}}]
"""
    makes = """\
apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: teams, namespace: argocd}
spec:
  goTemplate: true
  generators:
  - list: {elements: [{team: one}, {team: two}]}
  template:
    metadata: {name: "{{.team}}"}
    spec:
      destination: {namespace: "{{.team}}"}
      source: {repoURL: https://example.com/acme/infra, path: "teams/{{.team}}"}
"""
    write({"argo/set.yaml": makes, "teams/one/t.yaml": claim, "teams/two/t.yaml": claim})
    write({"teams/two/pod.yaml": pod})
    assert ("DRA423", "teams/two/pod.yaml", 5) in places(capsys)
    write({"argo/set.yaml": makes.replace("list: {elements: ", "git: {files: ")})
    assert "its generator git needs a cluster or a forge" in notes(capsys)
    write({"argo/set.yaml": makes.replace("{team: two}", "{name: two}")})
    assert "its template has '{{.team}}'" in notes(capsys)


def test_unlisted_manifest_beside_a_kustomization_is_named_once_a_folder(
    capsys: pytest.CaptureFixture[str],
) -> None:
    claim = TEMPLATE.replace("${APP}", "other")
    write({"apps/media/film/app/a.yaml": claim, "apps/media/film/app/b.yaml": claim})
    text = notes(capsys)
    assert text.count("the kustomization in apps/media/film/app does not list it") == 1
    assert "apps/media/film/app/a.yaml and 1 more: linted" in text


@NEEDS_PROGRAM
def test_a_prefix_of_names_is_built_by_kustomize(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = shutil.which("kustomize", path="/usr/local/bin:/usr/bin") or shutil.which(
        "kubectl", path="/usr/local/bin:/usr/bin:/bin"
    )
    if program is None:
        pytest.skip("the program is not in a folder of the system")
    monkeypatch.setenv("PATH", str(Path(program).parent))
    edit("apps/media/film/ks.yaml", "  postBuild:", "  namePrefix: x-\n  postBuild:")
    found = report(capsys)["findings"]
    assert [(item["code"], item["line"]) for item in found] == [("DRA423", 13)]
    assert "x-film-gpu" in found[0]["message"]


def test_patches_for_kustomize_cannot_name_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program that stands in for kustomize shows what it is asked to build."""
    (tmp_path / "bin").mkdir()
    log = tmp_path / "asked"
    program = f"import sys\nopen({str(log)!r}, 'w').write(open(sys.argv[2] + '/kustomization.yaml').read())"
    (tmp_path / "bin" / "kustomize").write_text(f"#!{sys.executable} -IS\n{program}\n")
    (tmp_path / "bin" / "kustomize").chmod(0o755)
    patches = "  namePrefix: x-\n  patches: [{path: /etc/hostname, patch: 'a: 1'}]\n  postBuild:"
    edit("apps/media/film/ks.yaml", "  postBuild:", patches)
    report(capsys)
    asked = json.loads(log.read_text())
    assert asked["patches"] == [{"patch": "a: 1"}]
    assert asked["namePrefix"] == "x-"


def test_a_component_with_a_generator_is_not_built(capsys: pytest.CaptureFixture[str]) -> None:
    text = FILES["components/gpu/kustomization.yaml"] + "generators: [x.yaml]\n"
    write({"components/gpu/kustomization.yaml": text, "components/gpu/x.yaml": "a: 1\n"})
    assert "Kustomization film was not built: it uses generators" in notes(capsys)


def test_remote_resources_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    text = "resources: [release.yaml, 'https://example.com/gpu.yaml']\n"
    write({"apps/media/film/app/kustomization.yaml": text})
    assert "remote sources are not fetched: https://example.com/gpu.yaml" in notes(capsys)
