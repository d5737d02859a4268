"""Pods of custom resources whose CustomResourceDefinition is in the input.

What is a pod follows k8s.io/api/core/v1 PodSpec and PodResourceClaim, as controller-gen writes them into schemas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target

if TYPE_CHECKING:
    from pathlib import Path

    from dractl.lint import Report

TEXT = {"type": "string"}
CLAIM = {"name": TEXT, "resourceClaimName": TEXT, "resourceClaimTemplateName": TEXT}


def claims_of(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "object", "properties": fields}}


POD = {
    "type": "object",
    "properties": {
        "containers": {"type": "array", "items": {"type": "object"}},
        "resourceClaims": claims_of(CLAIM),
    },
}


def definition(worker: dict[str, Any], kind: str = "Fleet") -> str:
    schema = {"properties": {"spec": {"properties": {"worker": worker}}}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    return yaml.safe_dump(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "fleets.example.org"},
            "spec": {"group": "example.org", "names": {"kind": kind}, "versions": [version]},
        },
        sort_keys=False,
    )


def fleet(worker: str) -> str:
    return (
        "apiVersion: example.org/v1\nkind: Fleet\nmetadata: {name: a}\nspec:\n"
        f"  worker: {worker}\n"
    )


USES = "containers: [{name: main, IMAGEresources: {claims: [{name: gpu}]}}]"
MISSPELT = "{resourceClaims: [{name: gpus, resourceClaimTemplateName: one}], " + USES + "}"
WITHOUT_IMAGE = MISSPELT.replace("IMAGE", "")
WITH_IMAGE = MISSPELT.replace("IMAGE", "image: x, ")


def report(folder: Path, *texts: str, name: str = "fleet.yaml") -> Report:
    (folder / name).write_text(texts[0])
    for number, text in enumerate(texts[1:]):
        (folder / f"crd-{number}.yaml").write_text(text)
    return lint(load([str(folder)]), Target.of("1.37"))


def confidences(told: Report) -> list[str]:
    return [finding.confidence for finding in told.findings if finding.code == "DRA409"]


def test_a_schema_makes_a_pod_certain(tmp_path: Path) -> None:
    assert confidences(report(tmp_path, fleet(WITH_IMAGE))) == ["likely"]
    assert confidences(report(tmp_path, fleet(WITH_IMAGE), definition(POD))) == ["certain"]


def test_a_schema_shows_a_pod_whose_containers_have_no_image(tmp_path: Path) -> None:
    assert confidences(report(tmp_path, fleet(WITHOUT_IMAGE))) == []
    assert confidences(report(tmp_path, fleet(WITHOUT_IMAGE), definition(POD))) == ["certain"]


@pytest.mark.parametrize(
    "claims", [TEXT, claims_of({"name": TEXT, "size": TEXT}), {"type": "object"}]
)
def test_schema_shows_other_kinds_than_pods(tmp_path: Path, claims: dict[str, Any]) -> None:
    worker = {"type": "object", "properties": {**POD["properties"], "resourceClaims": claims}}
    assert confidences(report(tmp_path, fleet(WITH_IMAGE), definition(worker))) == []


@pytest.mark.parametrize(
    "text",
    [
        definition(POD, kind="Other"),
        definition({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        definition(POD).replace("example.org\n", "example.net\n"),
        "kind: CustomResourceDefinition\nspec: {group: example.org, names: 3, versions: {a: 1}} # kind: Fleet resourceClaims\n",
    ],
)
def test_inconclusive_schema_changes_nothing(tmp_path: Path, text: str) -> None:
    assert confidences(report(tmp_path, fleet(WITH_IMAGE), text)) == ["likely"]


def test_definition_of_invalid_yaml_is_named(tmp_path: Path) -> None:
    broken = definition(POD).replace("names:", "names: [", 1)
    told = report(tmp_path, fleet(WITH_IMAGE), broken)
    assert confidences(told) == ["likely"]
    (skipped,) = [item for item in told.skipped if item.file.endswith("crd-0.yaml")]
    assert "CustomResourceDefinition" in skipped.why


def test_a_definition_with_names_in_one_line_is_read(tmp_path: Path) -> None:
    text = definition(POD).replace("names:\n    kind: Fleet\n", "names: {kind: Fleet}\n")
    assert "{kind: Fleet}" in text
    assert confidences(report(tmp_path, fleet(WITH_IMAGE), text)) == ["certain"]
    told = report(tmp_path, fleet(WITH_IMAGE), text.replace("Fleet}", "Fleet, ["))
    assert "crd-0.yaml" in "".join(item.file for item in told.skipped)


def test_a_definition_elsewhere_in_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "crds").mkdir()
    (tmp_path / "apps").mkdir()
    (tmp_path / "crds/fleet.yaml").write_text(definition(POD))
    (tmp_path / "apps/fleet.yaml").write_text(fleet(WITHOUT_IMAGE))
    told = lint(load([str(tmp_path / "apps")]), Target.of("1.37"))
    assert confidences(told) == ["certain"]
