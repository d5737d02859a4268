"""What Flux and Argo CD apply of a folder is what explain, fit, devices, upgrade and plan judge."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dractl.cli.main import main
from tests.explain.cluster import device, node, slice_of

CLASS = """\
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.example.com"'}}]}
"""
TEMPLATE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: "${APP}-gpu"}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly: {deviceClassName: gpu, count: "${COUNT}"}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: "${APP}"}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: "${APP}-gpu"}]
  containers: [{name: main, image: x, resources: {claims: [{name: gpu}]}}]
"""


def kustomization(name: str, path: str, further: str = "") -> str:
    return f"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec:
  path: {path}
  sourceRef: {{kind: GitRepository, name: flux-system}}
{further}"""


FILM = """\
  targetNamespace: media
  postBuild: {substitute: {APP: film, COUNT: "1"}}
  patches:
  - target: {kind: ResourceClaimTemplate}
    patch: |
      - {op: replace, path: /spec/spec/devices/requests/0/exactly/count, value: 2}
"""
FILES = {
    "clusters/prod/apps.yaml": kustomization("film", "./apps/film", FILM),
    "apps/film/class.yaml": CLASS,
    "apps/film/template.yaml": TEMPLATE,
    "apps/film/pod.yaml": POD,
    "apps/film/kustomization.yaml": "resources: [class.yaml, template.yaml, pod.yaml]\n",
}
Ask = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository for Flux, which is the working directory, and a dump of its cluster beside it."""
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for name, text in FILES.items():
        write(name, text)
    published = slice_of("gpu.example.com", "a", *(device(f"gpu-{n}") for n in range(3)))
    items = [
        {**value, "metadata": {**value["metadata"], "uid": f"u{number}"}}
        for number, value in enumerate((node("a"), published))
    ]
    dump = {"apiVersion": "v1", "kind": "List", "items": items}
    (tmp_path / "dump.json").write_text(json.dumps(dump))
    return folder


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


@pytest.fixture
def ask(repository: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """A function that returns the exit code, the JSON and the notes of a command."""

    def run(*words: str) -> tuple[int, Any, str]:
        capsys.readouterr()
        code = main([*words, "-f", "../dump.json", "-o", "json", "--isolated"])
        shown = capsys.readouterr()
        return code, json.loads(shown.out) if shown.out else None, shown.err

    assert repository.is_dir()
    return run


def test_explain_judges_the_applied_objects(ask: Ask) -> None:
    """Two of three devices: the patch of the Kustomization counts, and so do its variables."""
    code, answer, _ = ask("explain", "pod/film", "-n", "media", "-f", ".")
    assert code == 0
    assert answer["verdict"] == "allocatable"
    write(
        "clusters/prod/apps.yaml", FILES["clusters/prod/apps.yaml"].replace("value: 2", "value: 4")
    )
    assert ask("explain", "pod/film", "-n", "media", "-f", ".")[0] == 1


def test_fit_counts_copies_of_the_applied_objects(ask: Ask) -> None:
    _, answer, _ = ask("fit", "pod/film", "-n", "media", "-f", ".")
    assert answer["fits"] == 1


def test_plan_and_devices_read_the_same(ask: Ask) -> None:
    assert ask("plan", "pod/film", "-n", "media", "-f", ".")[1]["verdict"] == "fits"
    _, answer, _ = ask("devices", "-f", ".")
    assert {tuple(row["classes"]) for row in answer["devices"]} == {("gpu",)}


def test_upgrade_compares_the_applied_objects(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The namespace of the Kustomization is in the names that the report lists."""
    write(
        "apps/film/template.yaml",
        TEMPLATE.replace("resource.k8s.io/v1", "resource.k8s.io/v1beta1").replace(
            'exactly: {deviceClassName: gpu, count: "${COUNT}"}', "deviceClassName: gpu"
        ),
    )
    text = FILES["clusters/prod/apps.yaml"]
    write("clusters/prod/apps.yaml", text[: text.index("  patches:")])
    main(["upgrade", str(repository), "--from", "1.34", "--to", "1.37", "-o", "json"])
    report = capsys.readouterr().out
    assert "media/film-gpu" in report
    assert "${APP}" not in report


def test_a_file_with_an_applier_is_followed(ask: Ask) -> None:
    assert ask("explain", "pod/film", "-n", "media", "-f", "clusters/prod/apps.yaml")[0] == 0


def test_objects_beside_an_applier_stay(ask: Ask) -> None:
    """Nothing delivers the file that has the Kustomization: what else it has is applied by hand."""
    other = POD.replace("${APP}-gpu", "film-gpu").replace("${APP}", "by-hand, namespace: media")
    other = other.replace('"by-hand, namespace: media"', "by-hand, namespace: media")
    write("clusters/prod/apps.yaml", FILES["clusters/prod/apps.yaml"] + "---\n" + other)
    assert ask("explain", "pod/by-hand", "-n", "media", "-f", ".")[0] == 0


def test_object_outside_the_kustomization_is_not_applied(ask: Ask) -> None:
    """An object of a delivered file is there once, under its name after substitution."""
    code, _, errors = ask("explain", "pod/${APP}", "-f", ".")
    assert code != 0
    assert "film" in errors


def test_several_clusters_are_not_one(ask: Ask) -> None:
    text = FILES["clusters/prod/apps.yaml"].replace("value: 2", "value: 3")
    write("clusters/test/apps.yaml", text)
    code, _, errors = ask("explain", "pod/film", "-n", "media", "-f", ".")
    assert code == 2
    assert "clusters/prod/apps.yaml" in errors
    assert "clusters/test/apps.yaml" in errors
    assert ask("explain", "pod/film", "-n", "media", "-f", "clusters/test")[0] == 0


@pytest.mark.parametrize(
    "command", [("explain", "pod/film", "-n", "media"), ("devices",), ("fit", "gpu=1")]
)
def test_unbuilt_kustomization_is_a_row_and_a_note(ask: Ask, command: tuple[str, ...]) -> None:
    write("clusters/prod/other.yaml", kustomization("elsewhere", "./no/such/folder"))
    _, answer, errors = ask(*command, "-f", ".")
    rows = [row for row in answer["unread"] if row["why"] == "not-rendered"]
    assert [(row["resource"], row["seen"]) for row in rows] == [
        ("clusters/prod/other.yaml:5", "unseen")
    ]
    assert "its path is not in this repository" in rows[0]["effect"]
    assert "clusters/prod/other.yaml:5: the Kustomization was not built" in errors


def test_the_paths_of_an_artifact_that_a_controller_makes_are_unknown(ask: Ask) -> None:
    """The repository has the path ./apps/film, too; the artifact need not have it from there."""
    text = FILES["clusters/prod/apps.yaml"].replace("GitRepository", "ExternalArtifact")
    write("clusters/prod/apps.yaml", text)
    for name in ("template", "pod"):
        file = Path("apps/film") / f"{name}.yaml"
        file.write_text(file.read_text().replace("${APP}", "film").replace('"${COUNT}"', "1"))
    Path("apps/film/kustomization.yaml").unlink()
    _, answer, errors = ask("devices", "-f", ".")
    rows = [row["effect"] for row in answer["unread"] if row["why"] == "not-rendered"]
    why = "its source ExternalArtifact flux-system is made in the cluster"
    assert any(why in effect for effect in rows)
    assert why in errors


def test_a_stored_kustomization_has_been_applied(ask: Ask, tmp_path: Path) -> None:
    """In a dump with objects of Flux, what they apply is in the dump."""
    dump = json.loads((tmp_path / "dump.json").read_text())
    flux = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "film", "namespace": "flux-system", "uid": "u9"},
        "spec": {"path": "./nowhere"},
    }
    dump["items"].append(flux)
    (tmp_path / "dump.json").write_text(json.dumps(dump))
    _, answer, errors = ask("devices")
    assert "not built" not in errors
    assert len(answer["devices"]) == 3


def test_unapplied_files_are_named_and_do_not_count(ask: Ask) -> None:
    """A repository has files that are no manifests, components that nobody uses, and an archive."""
    write(".devcontainer/devcontainer.json", '{"a": 1, // a comment\n "b": }\n')
    write(
        "components/backup/secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata: {name: '${APP}'}\n",
    )
    write("archive/pod.yaml", POD.replace("${APP}", "old"))
    write("archive/remote/kustomization.yaml", "resources: [https://example.com/x, ../pod.yaml]\n")
    code, answer, errors = ask("explain", "pod/film", "-n", "media", "-f", ".")
    assert code == 0
    assert "archive/pod.yaml: nothing in the input applies it" in errors
    rows = [row["resource"] for row in answer["unread"] if row["why"] == "not-rendered"]
    assert rows == ["archive/pod.yaml"]
    code, _, errors = ask("explain", "pod/old", "-f", ".")
    assert code != 0
    assert ask("explain", "pod/old", "-f", ".", "-f", "archive/pod.yaml")[0] == 1


def test_a_patch_of_an_applier_is_no_cluster(ask: Ask) -> None:
    write("clusters/prod/kustomization.yaml", "resources: [apps.yaml]\npatches: [{path: p.yaml}]\n")
    patch = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
    write("clusters/prod/p.yaml", patch + "metadata: {name: film}\nspec: {path: ./apps/film}\n")
    code, _, errors = ask("explain", "pod/film", "-n", "media", "-f", ".")
    assert code == 0, errors


def test_unsubstitutable_name_is_a_note(ask: Ask) -> None:
    text = FILES["clusters/prod/apps.yaml"]
    secret = 'postBuild: {substituteFrom: [{kind: Secret, name: x}], substitute: {COUNT: "1"}}'
    write(
        "clusters/prod/apps.yaml",
        text.replace('postBuild: {substitute: {APP: film, COUNT: "1"}}', secret),
    )
    _, answer, errors = ask("devices", "-f", ".")
    assert "no value of ${APP} is in this repository" in errors
    assert any(row["why"] == "not-rendered" for row in answer["unread"])


def write_cluster(name: str, app: str = "film") -> None:
    """Write a cluster whose entry applies a folder with a Kustomization for each application."""
    Path("clusters/prod/apps.yaml").unlink(missing_ok=True)
    write(f"clusters/{name}/cluster.yaml", kustomization("cluster", f"./apps-{name}"))
    write(f"apps-{name}/kustomization.yaml", f"resources: [{app}/ks.yaml]\n")
    write(f"apps-{name}/{app}/ks.yaml", kustomization(app, "./apps/film", FILM))


def write_left_over(folder: str, app: str = "film") -> None:
    """Write an application that nothing applies, whose pod no node can run."""
    text = kustomization(app, f"./{folder}/app", FILM.replace("film", app))
    write(f"{folder}/ks.yaml", text.replace("value: 2", "value: 9"))
    write(f"{folder}/app/template.yaml", TEMPLATE)
    write(f"{folder}/app/pod.yaml", POD)


def list_unapplied(answer: Any) -> list[str]:
    return [
        row["resource"]
        for row in answer["unread"]
        if row["why"] == "not-rendered" and "nothing in the input applies it" in row["effect"]
    ]


FILM_PROBE = ("explain", "pod/film", "-n", "media", "-f", ".")


def test_a_kustomization_in_an_archive_is_no_cluster(ask: Ask) -> None:
    """It has the same name and the same objects as the one that is applied."""
    write_cluster("prod")
    write_left_over("archive/film")
    code, answer, errors = ask(*FILM_PROBE)
    assert (code, answer["verdict"]) == (0, "allocatable")
    assert "archive/film/ks.yaml" in errors
    assert "nothing in the input applies it" in errors
    assert list_unapplied(answer) == ["archive/film/ks.yaml and 2 more"]


def test_an_unbuilt_argo_cd_application_applies_no_kustomization(ask: Ask) -> None:
    """Its path leads out of the repository: it patches nothing in it."""
    write_cluster("prod")
    write_left_over("archive/film")
    application = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\n"
    write("argo/a.yaml", application + "spec: {source: {repoURL: '', path: ../nowhere}}\n")
    code, answer, _ = ask(*FILM_PROBE)
    assert (code, answer["verdict"]) == (0, "allocatable")


def test_an_application_that_is_commented_out_is_not_applied(ask: Ask) -> None:
    write_cluster("prod")
    write("apps-prod/kustomization.yaml", "resources:\n- film/ks.yaml\n# - series/ks.yaml\n")
    write_left_over("apps-prod/series", "series")
    code, answer, _ = ask(*FILM_PROBE)
    assert code == 0
    assert list_unapplied(answer) == ["apps-prod/series/ks.yaml and 2 more"]
    series = ("explain", "pod/series", "-n", "media", "-f", ".")
    assert ask(*series)[0] == 3  # no such pod
    write("apps-prod/kustomization.yaml", "resources:\n- film/ks.yaml\n- series/ks.yaml\n")
    assert ask(*series)[0] == 1


def test_a_left_over_kustomization_is_followed_where_it_is_named(ask: Ask) -> None:
    write_cluster("prod")
    write_left_over("archive/series", "series")
    series = ("explain", "pod/series", "-n", "media", "-f", "archive/series/ks.yaml")
    assert ask(*series)[0] == 1
    assert ask(*series, "-f", ".")[0] == 1


def test_two_clusters_with_entries_are_two_clusters(ask: Ask) -> None:
    write_cluster("prod")
    write_cluster("test")
    write_left_over("archive/film")
    code, _, errors = ask(*FILM_PROBE)
    assert code == 2
    assert "2 clusters, by clusters/prod/cluster.yaml, clusters/test/cluster.yaml" in errors


def test_without_an_entry_nobody_knows_what_is_applied(ask: Ask) -> None:
    write_left_over("archive/film")
    code, _, errors = ask(*FILM_PROBE)
    assert code == 2
    assert "2 clusters, by archive/film/ks.yaml, clusters/prod/apps.yaml" in errors


def test_kustomizations_beside_an_entry_are_applied(ask: Ask) -> None:
    """A kustomization of the cluster lists its entry and another one, which is in a folder."""
    write_cluster("prod")
    write_left_over("clusters/prod/series", "series")
    series = ("explain", "pod/series", "-n", "media", "-f", ".")
    assert ask(*series)[0] == 1  # Flux applies all that is in the folder
    write("clusters/prod/kustomization.yaml", "resources: [cluster.yaml, series/ks.yaml]\n")
    assert ask(*series)[0] == 1
    write("clusters/prod/kustomization.yaml", "resources: [cluster.yaml]\n")
    assert ask(*series)[0] == 3  # no such pod


def test_a_kustomization_above_an_entry_applies_what_it_lists(ask: Ask) -> None:
    write_cluster("prod")
    Path("clusters/prod/cluster.yaml").unlink()
    write("clusters/prod/flux/cluster.yaml", kustomization("cluster", "./apps-prod"))
    write_left_over("clusters/prod/series", "series")
    series = ("explain", "pod/series", "-n", "media", "-f", ".")
    assert ask(*series)[0] == 3  # no such pod
    listing = "resources: [flux/cluster.yaml, series/ks.yaml]\n"
    write("clusters/prod/kustomization.yaml", listing)
    assert ask(*series)[0] == 1
    write("clusters/prod/kustomization.yaml", listing.replace("flux/cluster.yaml, ", ""))
    assert ask(*series)[0] == 3  # the entry is not applied from here


def test_all_kustomizations_of_an_unbuildable_folder_count_as_applied(ask: Ask) -> None:
    write_cluster("prod")
    write_left_over("clusters/prod/series", "series")
    write_left_over("archive/other", "other")
    listing = "resources: [cluster.yaml]\ngenerators: [x.yaml]\n"
    write("clusters/prod/kustomization.yaml", listing)
    assert ask("explain", "pod/series", "-n", "media", "-f", ".")[0] == 1
    assert ask("explain", "pod/other", "-n", "media", "-f", ".")[0] == 3  # no such pod


def test_variables_come_from_the_config_map_of_the_namespace(ask: Ask) -> None:
    """kustomize-controller docs/spec/v1/kustomizations.md: substituteFrom reads the object's own namespace."""
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: names, namespace: {}}}\ndata: {{APP: {}}}\n"
    write("settings/a.yaml", config.format("default", "cinema"))
    write("settings/b.yaml", config.format("flux-system", "film"))
    write("clusters/prod/settings.yaml", kustomization("settings", "./settings"))
    further = FILM.replace("APP: film, ", "").replace(
        "substitute:", "substituteFrom: [{kind: ConfigMap, name: names}], substitute:"
    )
    write("clusters/prod/apps.yaml", kustomization("film", "./apps/film", further))
    assert ask(*FILM_PROBE)[0] == 0


@pytest.mark.parametrize(
    "text",
    [
        """\
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {name: flux, namespace: flux-system}
spec: {sync: {kind: GitRepository, path: clusters/prod}}
""",
        """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: flux-instance, namespace: flux-system}
spec:
  chartRef: {kind: OCIRepository, name: flux-instance}
  values: {instance: {sync: {kind: GitRepository, path: clusters/prod}}}
""",
    ],
)
def test_the_folder_of_a_flux_instance_is_applied(ask: Ask, text: str) -> None:
    write_left_over("archive/film")
    write("bootstrap/flux.yaml", text)
    code, answer, _ = ask(*FILM_PROBE)
    assert code == 0
    assert list_unapplied(answer) == ["archive/film/ks.yaml and 2 more"]


def test_the_kustomization_of_flux_bootstrap_is_an_entry(ask: Ask) -> None:
    write("clusters/prod/flux-system/gotk-sync.yaml", kustomization("all", "./clusters/prod"))
    write_left_over("archive/film")
    code, answer, _ = ask(*FILM_PROBE)
    assert code == 0
    assert list_unapplied(answer) == ["archive/film/ks.yaml and 2 more"]


def test_a_source_in_a_file_of_its_own_is_another_repository(ask: Ask) -> None:
    """Its Kustomization has a path that this repository has, too."""
    write_cluster("prod")
    write(".git/config", '[remote "origin"]\n\turl = https://git.example.com/acme/home.git\n')
    write(
        "clusters/prod/private.yaml",
        kustomization("private", "./apps-prod").replace("name: flux-system}", "name: private}"),
    )
    write(
        "clusters/prod/source.yaml",
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: private}\n"
        "spec: {url: https://git.example.com/acme/private.git}\n",
    )
    code, _, errors = ask(*FILM_PROBE)
    assert code == 0
    assert "clusters/prod/private.yaml: the Kustomization was not built" in errors


def test_left_over_objects_do_not_count_beside_an_empty_cluster(ask: Ask) -> None:
    write_cluster("prod")
    write("apps-prod/settings/ks.yaml", kustomization("settings", "./settings"))
    write("apps-prod/kustomization.yaml", "resources: [settings/ks.yaml]\n")
    write("settings/empty.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: empty}\n")
    code, answer, errors = ask("devices", "-f", ".")
    assert code == 0
    assert {tuple(row["classes"]) for row in answer["devices"]} == {()}
    assert "apps-prod/film/ks.yaml" in errors


def test_upgrade_names_the_left_over_files_about_dra(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_cluster("prod")
    write_left_over("archive/film")
    assert main(["upgrade", str(repository), "--from", "1.34", "--to", "1.37"]) == 0
    errors = capsys.readouterr().err
    assert "archive/film/app/template.yaml: not compared, nothing in the input applies" in errors


def test_lint_judges_what_a_left_over_kustomization_names(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_cluster("prod")
    write_left_over("archive/film")
    write("archive/film/app/template.yaml", TEMPLATE.replace("deviceClassName", "deviceClas"))
    assert main(["lint", str(repository), "-o", "json", "--no-cache", "--isolated"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert "archive/film/app/template.yaml" in {finding["file"] for finding in findings}
