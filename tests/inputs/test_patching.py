"""Patches, beside what kustomize makes of the same ones, where it or kubectl is installed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from dractl.inputs.kustomizations import KustomizationBuilder
from dractl.inputs.layering import Files, Layers, Member
from dractl.inputs.patching import NeedsProgram, apply_operations, merge_patch, selects
from dractl.inputs.trees import NO_OVERLAY, NotRenderable, TreeReader
from dractl.manifests import Document, read_text
from dractl.manifests.built import strip_origin
from dractl.manifests.text import decode
from tests.kustomize import NEEDS_PROGRAM

if TYPE_CHECKING:
    from pathlib import Path

VALUE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaimTemplate",
    "metadata": {"name": "gpu", "namespace": "ml", "labels": {"app": "a", "tier": "x"}},
    "spec": {"spec": {"devices": {"requests": [{"name": "gpu"}]}}},
}


@pytest.mark.parametrize(
    ("target", "is_selected"),
    [
        ({}, True),
        ({"kind": "ResourceClaimTemplate"}, True),
        ({"kind": "ResourceClaim"}, False),
        ({"group": "resource.k8s.io", "version": "v1"}, True),
        ({"name": "g.*"}, True),
        ({"name": "g"}, False),
        ({"name": "["}, False),
        ({"namespace": "other"}, False),
        ({"labelSelector": "app=a"}, True),
        ({"labelSelector": "app==a, tier!=y"}, True),
        ({"labelSelector": "app in (a, b)"}, True),
        ({"labelSelector": "app notin (a)"}, False),
        ({"labelSelector": "!tier"}, False),
        ({"labelSelector": "tier,!none"}, True),
        ({"labelSelector": "===="}, False),
        ({"annotationSelector": "app=a"}, False),
    ],
)
def test_a_target_selects_objects(target: dict[str, Any], is_selected: bool) -> None:
    assert selects(target, VALUE) == is_selected


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", ".*.*.*.*b", "a{1,9}{1,9}"])
def test_slow_pattern_is_left_to_kustomize(pattern: str) -> None:
    with pytest.raises(NeedsProgram):
        selects({"name": pattern}, VALUE)


def test_patch_replaces_lists_and_deletes_null_fields() -> None:
    patch = {"metadata": {"name": "_", "labels": {"app": None}}, "spec": {"spec": {"x": [1]}}}
    made = merge_patch(VALUE, patch)
    assert made["metadata"] == {"name": "gpu", "namespace": "ml", "labels": {"tier": "x"}}
    assert made["spec"]["spec"]["x"] == [1]
    assert merge_patch(VALUE, {"$patch": "delete"}) == {}


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "test", "path": "/kind", "value": "x"}],
        [{"op": "replace", "path": "/spec/none", "value": 1}],
        [{"op": "add", "path": "/spec/spec/devices/requests/9", "value": 1}, {"op": "remove"}],
        [{"op": "remove", "path": "/metadata/labels/none"}],
        [{"op": "add", "path": "", "value": 1}],
        ["x"],
    ],
)
def test_unsupported_operations_are_left_to_kustomize(operations: list[Any]) -> None:
    assert apply_operations(VALUE, operations) is None


def read_members(folder: Path) -> list[Member]:
    return Layers(Files(TreeReader(str(folder), NO_OVERLAY))).members(str(folder / "app"))


def write(folder: Path, files: dict[str, str]) -> None:
    (folder / ".git").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


CLAIM = json.dumps(VALUE)
SPACE = '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "_"}}'
KUSTOMIZATIONS = {
    "namespace": "namespace: media\nresources: [claim.yaml, space.yaml]\n",
    "labels": "labels: [{pairs: {a: b}}]\nresources: [claim.yaml]\n",
    "merge": """\
resources: [claim.yaml]
patches:
- target: {kind: ResourceClaimTemplate}
  patch: |-
    apiVersion: resource.k8s.io/v1
    kind: ResourceClaimTemplate
    metadata: {name: _, labels: {new: z}}
    spec: {spec: {devices: {requests: [{name: other}]}}}
""",
    "operations": """\
resources: [claim.yaml]
patches:
- target: {kind: ResourceClaimTemplate, name: gpu}
  patch: |-
    - {op: add, path: /spec/spec/devices/requests/-, value: {name: nic}}
    - {op: add, path: /spec/spec/devices/requests/0/exactly, value: {count: 2}}
    - {op: remove, path: /metadata/labels/tier}
    - {op: replace, path: /metadata/labels/app, value: b}
""",
    "file": "resources: [claim.yaml]\npatches: [{path: patch.yaml}]\nnamespace: media\n",
    "delete": "resources: [claim.yaml, space.yaml]\npatches: [{path: delete.yaml}]\n",
    "component": "resources: [space.yaml]\ncomponents: [../part]\nnamespace: media\n",
}
FILES = {
    "app/claim.yaml": CLAIM,
    "app/space.yaml": SPACE,
    "app/patch.yaml": """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu, namespace: ml, labels: {app: c}}
""",
    "app/delete.yaml": """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu, namespace: ml}
$patch: delete
""",
    "part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
    "resources: [claim.yaml]\n",
    "part/claim.yaml": CLAIM,
}


@NEEDS_PROGRAM
@pytest.mark.parametrize("name", KUSTOMIZATIONS)
def test_kustomization_reads_as_kustomize_builds_it(name: str, tmp_path: Path) -> None:
    write(tmp_path, {**FILES, "app/kustomization.yaml": KUSTOMIZATIONS[name]})
    made = [member.value for member in read_members(tmp_path)]
    built = KustomizationBuilder().build(str(tmp_path / "app")).data or b""
    expected = [
        strip_origin(item.value)[0]
        for item in read_text("built", decode(built))
        if isinstance(item, Document)
    ]
    key = "kind"
    assert sorted(made, key=lambda item: item[key]) == sorted(expected, key=lambda item: item[key])


@pytest.mark.parametrize(
    "text",
    [
        "resources: [claim.yaml]\nnamePrefix: x-\n",
        "resources: [claim.yaml]\nreplacements: [{}]\n",
        "resources: [pod.yaml]\npatches: [{path: pod.yaml}]\n",
    ],
)
def test_unsupported_kustomization_is_left_to_kustomize(text: str, tmp_path: Path) -> None:
    pod = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: p, labels: {resourceClaim: x}}\n"
    write(tmp_path, {**FILES, "app/kustomization.yaml": text, "app/pod.yaml": pod})
    with pytest.raises(NeedsProgram):
        read_members(tmp_path)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("resources: [none.yaml]\n", "does not exist"),
        ("resources: [../part/inner]\n", "does not exist"),
        ("resources: [../app]\n", "consist of each other"),
        ("components: [../none]\n", "does not exist"),
        ("resources: [{a: 1}]\n", "not a string"),
        ("resources: [../../outside.yaml]\n", "leads out of the repository"),
        ("- a\n", "cannot be read"),
    ],
)
def test_kustomization_refused_by_kustomize_has_a_reason(
    text: str, why: str, tmp_path: Path
) -> None:
    (tmp_path / "outside.yaml").write_text(CLAIM)
    write(tmp_path / "repository", {**FILES, "app/kustomization.yaml": text})
    with pytest.raises(NotRenderable, match=why):
        read_members(tmp_path / "repository")
