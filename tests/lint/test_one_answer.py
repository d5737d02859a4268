"""A file alone, as a hook names it, and the same file within its repository."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint import lint
from dractl.manifests import load, load_readable
from dractl.model import Target
from tests.lint.written import ONE, claim, documents, pod, template

if TYPE_CHECKING:
    from pathlib import Path

ADMIN = claim("gpu gpu.example.com {allocationMode: All, adminAccess: true}").replace(
    "{name: gpus}", "{name: gpus, namespace: tools}"
)
LABELLED = """\
apiVersion: v1
kind: Namespace
metadata: {name: tools, labels: {resource.kubernetes.io/admin-access: "true"}}
"""


def codes(*paths: Path) -> set[str]:
    return {finding.code for finding in lint(load(list(map(str, paths))), Target.of("1.37")).findings}


def repository(folder: Path, **files: str) -> None:
    (folder / ".git").mkdir()
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")


def test_the_label_of_a_namespace_is_looked_up_in_the_repository(tmp_path: Path) -> None:
    repository(tmp_path, claim=ADMIN, namespace=LABELLED)
    assert codes(tmp_path / "claim.yaml") == codes(tmp_path) == set()


def test_a_namespace_known_to_lack_the_label_is_an_error_in_both(tmp_path: Path) -> None:
    repository(tmp_path, claim=ADMIN, namespace=LABELLED.replace('resource.kubernetes.io/admin-access: "true"', "a: b"))
    assert codes(tmp_path / "claim.yaml") == codes(tmp_path) != set()


def test_a_template_of_that_name_is_no_claim(tmp_path: Path) -> None:
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


def test_changed_files_that_are_no_manifests_are_passed_over(tmp_path: Path) -> None:
    names = ("README.md", "driver.go", "run.sh", "Makefile")
    for name in names:
        (tmp_path / name).write_text("```\nkind: ResourceClaim\n", encoding="utf-8")
    inputs = load_readable([str(tmp_path / name) for name in names], changed_files=True)
    assert (inputs.files, inputs.skipped) == (0, ())


def test_a_named_document_of_prose_is_one_note(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("```yaml\nkind: ResourceClaim\n```\n", encoding="utf-8")
    inputs = load_readable([str(tmp_path / "README.md")])
    assert [(item.why, item.unread) for item in inputs.skipped] == [("not a manifest by its name", False)]
    assert not inputs.broken
