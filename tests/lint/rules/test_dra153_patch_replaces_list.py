"""DRA153 patch-replaces-list. What a patch makes of the list was seen with ``kubectl kustomize`` of 1.37."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dractl.lint import Finding, lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim

BASE = claim(
    'gpu gpu.example.com {selectors: [{cel: {expression: "true"}}]}\nnic nic.example.com',
    "constraints: [{matchAttribute: resource.kubernetes.io/pcieRoot}]",
    "train",
)
OVERLAY = "resources: [../base]\npatches: [{path: patch.yaml}]\n"


def find(folder: Path, patch: str, overlay: str = OVERLAY, where: str = "") -> list[Finding]:
    files = {
        "base/kustomization.yaml": "resources: [claim.yaml]\n",
        "base/claim.yaml": BASE,
        "prod/kustomization.yaml": overlay,
        "prod/patch.yaml": patch,
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    report = lint(load([str(folder / where)]), Target.of("1.37"))
    return [finding for finding in report.findings if finding.code == "DRA153"]


def patch(requests: str, more: str = "", name: str = "train") -> str:
    return claim(requests, more, name)


@pytest.mark.parametrize("where", ["", "prod"])
def test_a_count_drops_the_selectors_and_the_other_request(tmp_path: Path, where: str) -> None:
    (finding,) = find(tmp_path, patch("gpu gpu.example.com {count: 2}"), where=where)
    assert Path(finding.position.file).name == "patch.yaml"
    assert (finding.severity, finding.confidence) == ("warning", "likely")
    assert "gpu: exactly.selectors, request nic" in finding.message
    said = re.search(r"patch: '(\[.*\])'", finding.help or "")
    assert said is not None
    assert json.loads(said[1]) == [
        {"op": "add", "path": "/spec/devices/requests/0/exactly/count", "value": 2}
    ]


def test_patch_repeating_everything_loses_nothing(tmp_path: Path) -> None:
    everything = 'gpu gpu.example.com {count: 2, selectors: [{cel: {expression: "1 == 1"}}]}'
    assert find(tmp_path, patch(f"{everything}\nnic nic.example.com")) == []


def test_unrepeated_constraint_is_lost(tmp_path: Path) -> None:
    lists = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: train}\n"
        "spec: {devices: {constraints: [{distinctAttribute: a.example.com/b}]}}\n"
    )
    (finding,) = find(tmp_path, lists)
    assert "constraint[0]" in finding.message
    assert '"path":"/spec/devices/constraints/-"' in (finding.help or "")


@pytest.mark.parametrize(
    "text",
    [
        patch("gpu gpu.example.com {count: 2}", name="another"),
        patch("gpu gpu.example.com").replace("requests:", "$patch: replace\n    requests:"),
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: train, labels: {a: b}}\n",
        "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: train}\nspec: {devices: {requests: 3}}\n",
    ],
)
def test_other_objects_and_intended_replacements_are_left_alone(tmp_path: Path, text: str) -> None:
    assert find(tmp_path, text) == []


def test_an_inline_patch_is_placed_in_the_kustomization(tmp_path: Path) -> None:
    text = patch("gpu gpu.example.com {count: 2}\nnic nic.example.com")
    inline = "resources: [../base]\npatches:\n- patch: |-\n" + "".join(
        f"    {line}\n" for line in text.splitlines()
    )
    (finding,) = find(tmp_path, "# none\n", inline)
    assert Path(finding.position.file).name == "kustomization.yaml"
    assert finding.position.line == 3 + 1 + text.splitlines().index("    requests:")


TARGET = "resources: [../base]\npatches: [{path: patch.yaml, target: {%s}}]\n"


@pytest.mark.parametrize(
    ("target", "count"),
    [
        ("kind: ResourceClaim, name: train", 1),
        ("kind: ResourceClaim", 1),
        ("name: tr.*", 1),
        ("group: resource.k8s.io", 1),
        ("kind: ResourceClaim, name: other", 0),
        ("kind: ResourceClaimTemplate", 0),
        ("name: (a+)+", 0),
    ],
)
def test_a_target_selects_whatever_name_the_patch_has(
    tmp_path: Path, target: str, count: int
) -> None:
    """kubernetes-sigs/kustomize api/types/selector.go: names are regular expressions."""
    text = patch("gpu gpu.example.com {count: 2}", name="any-name")
    assert len(find(tmp_path, text, TARGET % target)) == count


def test_a_target_overrules_the_name_of_the_patch(tmp_path: Path) -> None:
    text = patch("gpu gpu.example.com {count: 2}")
    assert find(tmp_path, text, TARGET % "kind: ResourceClaim, name: other") == []


def test_the_target_of_an_inline_patch(tmp_path: Path) -> None:
    text = patch("gpu gpu.example.com {count: 2}", name="any-name")
    inline = "resources: [../base]\npatches:\n- target: {kind: ResourceClaim, name: train}\n  patch: |-\n"
    inline += "".join(f"    {line}\n" for line in text.splitlines())
    (finding,) = find(tmp_path, "# none\n", inline)
    assert Path(finding.position.file).name == "kustomization.yaml"
