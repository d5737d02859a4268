"""Kustomizations, hostile ones among them, with the kustomize or kubectl of this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dractl.inputs.kustomizations import KustomizationBuilder, read_kustomization
from dractl.inputs.memory import Memory
from dractl.inputs.trees import NO_OVERLAY, NotRenderable, Overlay
from tests.kustomize import NEEDS_PROGRAM

if TYPE_CHECKING:
    from collections.abc import Callable

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {count: '1'}\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    for name in (".git", "base", "prod"):
        (folder / name).mkdir(parents=True)
    (folder / "base" / "a.yaml").write_text(CONFIG)
    (folder / "base" / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    (folder / "prod" / "kustomization.yaml").write_text("resources: [../base]\nnamePrefix: x-\n")
    return folder


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that installs a program in Python as kustomize; it logs its runs."""

    def write(body: str) -> Path:
        (tmp_path / "bin").mkdir(exist_ok=True)
        path, log = tmp_path / "bin" / "kustomize", tmp_path / "runs"
        path.write_text(
            f"#!{sys.executable} -IS\nimport os, sys\n"
            f"with open({str(log)!r}, 'a') as file: print(sys.argv[1], file=file)\n{body}\n"
        )
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        return log

    return write


def test_only_files_of_a_kustomization_are_read(repository: Path) -> None:
    (repository / "prod" / "other.yaml").write_text("b: 1\n")
    (repository / "prod" / "patch.yaml").write_text("c: 1\n")
    (repository / "prod" / "a.properties").write_text("d=1\n")
    (repository / "prod" / "kustomization.yaml").write_text(
        "resources: [../base]\npatches: [{path: patch.yaml}]\n"
        "configMapGenerator: [{name: m, files: [key=a.properties]}]\n"
    )
    tree = read_kustomization(str(repository / "prod"), NO_OVERLAY)
    assert set(tree.files) == {
        "base/a.yaml",
        "base/kustomization.yaml",
        "prod/kustomization.yaml",
        "prod/patch.yaml",
        "prod/a.properties",
    }


@pytest.mark.parametrize("outside", ["../../beside", "link", "linked.yaml", "../.git/hooks"])
def test_kustomization_outside_the_repository_is_not_read(
    repository: Path, install: Callable[[str], Path], outside: str
) -> None:
    log = install("")
    (repository.parent / "beside").mkdir()
    (repository.parent / "beside" / "kustomization.yaml").write_text("resources: []\n")
    (repository / ".git" / "hooks").mkdir()
    (repository / ".git" / "hooks" / "kustomization.yaml").write_text("resources: []\n")
    (repository / "prod" / "link").symlink_to("../../beside")
    (repository / "prod" / "linked.yaml").symlink_to("../../beside/kustomization.yaml")
    (repository / "prod" / "kustomization.yaml").write_text(f"resources: [{outside}]\n")
    rendered = KustomizationBuilder().build(str(repository / "prod"))
    assert "leads out of the repository" in (rendered.why or "")
    assert not log.exists()


def test_self_referencing_kustomization_is_read_once(repository: Path) -> None:
    (repository / "base" / "kustomization.yaml").write_text("resources: [a.yaml, ../prod]\n")
    assert len(read_kustomization(str(repository / "prod"), NO_OVERLAY).files) == 3


def test_a_pipe_is_not_waited_for(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dractl.inputs.trees.MAX_TREE_BYTES", 10)
    with pytest.raises(NotRenderable, match="more than 0 MiB"):
        read_kustomization(str(repository / "prod"), NO_OVERLAY)


def test_the_same_content_is_built_once(repository: Path, install: Callable[[str], Path]) -> None:
    log = install("print('a: 1')")
    memory = Memory()
    for prefix in ("x-", "x-", "y-", "x-"):
        text = f"resources: [../base]\nnamePrefix: {prefix}\n"
        (repository / "prod" / "kustomization.yaml").write_text(text)
        KustomizationBuilder(memory=memory).build(str(repository / "prod"))
    assert len(log.read_text().splitlines()) == 2


@NEEDS_PROGRAM
def test_objects_are_annotated_with_their_files(repository: Path) -> None:
    rendered = KustomizationBuilder().build(str(repository / "prod"))
    assert rendered.why is None
    text = (rendered.data or b"").decode()
    assert "name: x-a" in text
    assert f"path: {repository.name}/base/a.yaml" in text
    assert Path(rendered.base) == repository.parent.resolve()


@NEEDS_PROGRAM
def test_unsaved_text_is_built(repository: Path) -> None:
    overlay = Overlay({str(repository / "base" / "a.yaml"): CONFIG.replace("'1'", "'2'").encode()})
    rendered = KustomizationBuilder(overlay=overlay).build(str(repository / "prod"))
    assert b'count: "2"' in (rendered.data or b"")


@NEEDS_PROGRAM
def test_a_linked_base_within_the_repository_is_built(repository: Path) -> None:
    (repository / "prod" / "link").symlink_to("../base")
    (repository / "prod" / "kustomization.yaml").write_text("resources: [link]\n")
    rendered = KustomizationBuilder().build(str(repository / "prod"))
    assert b"name: a" in (rendered.data or b"")


HOSTILE = (
    "resources: ['https://example.com/a.yaml']",
    "resources: ['github.com/a/b']",
    "resources: [/etc]",
    "configMapGenerator: [{name: a, files: [/etc/passwd]}]",
    "configMapGenerator: [{name: a, files: [../../../../../../etc/passwd]}]",
    "secretGenerator: [{name: a, envs: [../secret.env]}]",
    "helmCharts: [{name: a, repo: 'https://example.com'}]",
    "generators: [exec.yaml]",
)


@NEEDS_PROGRAM
@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_kustomization_gets_nothing(repository: Path, text: str) -> None:
    """What is refused by :mod:`dractl.manifests.kustomize` before is refused by the program, too."""
    (repository / "secret.env").write_text("password=hunter2\n")
    (repository / "prod" / "exec.yaml").write_text(
        "apiVersion: a/v1\nkind: Exec\nmetadata:\n  name: a\n  annotations:\n"
        f"    config.kubernetes.io/function: 'exec: {{path: {repository}/evil}}'\n"
    )
    (repository / "evil").write_text(f"#!/bin/sh\ntouch {repository}/ran\n")
    (repository / "evil").chmod(0o755)
    (repository / "prod" / "kustomization.yaml").write_text(f"{text}\n")
    rendered = KustomizationBuilder().build(str(repository / "prod"))
    assert rendered.data is None
    assert "hunter2" not in str(rendered)
    assert not (repository / "ran").exists()
