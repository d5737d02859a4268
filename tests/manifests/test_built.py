"""Places in patches of what a kustomization makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.manifests.built import add_built_objects
from dractl.manifests.rendered import Rendered
from dractl.model import Target
from tests.lint.written import template

if TYPE_CHECKING:
    from pathlib import Path

BASE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: x
"""
MERGE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
      containers:
      - name: main
        resources: {claims: [{name: gpu}]}
"""
MERGED = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {config.kubernetes.io/origin: "path: base.yaml\\n"}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
      containers:
      - {name: main, resources: {claims: [{name: gpu}]}}
      - {name: app, image: x}
"""
CLAIM = template(
    "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: one}\nspec:\n"
    "  devices:\n    requests:\n    - name: gpu\n      exactly: {deviceClassName: gpu.vendor.example}\n"
)
COUNTED = CLAIM.replace(
    "name: one", 'name: one, annotations: {config.kubernetes.io/origin: "path: base.yaml\\n"}'
).replace("- name: gpu\n", "- name: gpu\n        count: 2\n")
OPERATION = "- op: add\n  path: /spec/spec/devices/requests/0/count\n  value: 2\n"


def findings(folder: Path, made: str, **files: str) -> list[tuple[str, str, int]]:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    inputs = load([str(folder)])
    paths = [str(folder / f"{name}.yaml") for name in files]
    whole = add_built_objects(
        inputs, paths, lambda root: Rendered(made.encode(), base=root), lambda _: True
    )
    found = lint(whole, Target.of("1.37")).findings
    return [
        (item.code, item.position.file.rpartition("/")[2], item.position.line) for item in found
    ]


def test_container_added_by_a_merge_patch_is_located(tmp_path: Path) -> None:
    kustomization = "resources: [base.yaml]\npatches: [{path: patch.yaml}]\n"
    found = findings(tmp_path, MERGED, base=BASE, patch=MERGE, kustomization=kustomization)
    assert found == [("DRA417", "patch.yaml", 9)]


@pytest.mark.parametrize("inline", [False, True])
def test_field_added_by_an_operation_is_located(tmp_path: Path, inline: bool) -> None:
    patch = "patch: |\n" + "".join(f"    {line}\n" for line in OPERATION.splitlines())
    kustomization = (
        f"resources: [base.yaml]\npatches:\n- {patch if inline else 'path: patch.yaml'}\n"
    )
    found = findings(tmp_path, COUNTED, base=CLAIM, patch=OPERATION, kustomization=kustomization)
    assert found == [
        ("DRA003", "kustomization.yaml" if inline else "patch.yaml", 5 if inline else 2)
    ]


def test_kustomizations_that_refer_to_each_other_and_not_to_devices_are_not_built(
    tmp_path: Path,
) -> None:
    parts = {"root": "a", "a": "b", "b": "a"}
    for name, part in parts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "kustomization.yaml").write_text(f"resources: [../{part}]\n")
    paths = [str(tmp_path / name / "kustomization.yaml") for name in parts]
    roots: list[str] = []

    def build(root: str) -> Rendered:
        roots.append(root)
        return Rendered(None, base=root)

    whole = add_built_objects(load([str(tmp_path)]), paths, build, lambda _: True)
    assert (roots, whole.skipped) == ([], ())
