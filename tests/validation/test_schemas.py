"""The JSON Schemas: how they were made, what real servers publish, what jsonschema makes of them."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dractl.manifests import load
from dractl.model import RELEASES
from dractl.model.releases import COMPARED, SERVED, served_versions
from dractl.resources import data_dir
from dractl.validation.schemas import paths_of, schemas_of
from dractl.validation.walk import walk
from tests.conftest import WHOLE

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_files_are_as_the_tool_makes_them() -> None:
    pytest.importorskip("kubernetes_validate", reason="development dependency")
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_schemas.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_set_stays_small() -> None:
    sizes = {
        path: path.stat().st_size for release in RELEASES for path in paths_of(release).values()
    }
    assert sum(sizes.values()) < 1_000_000
    for path, size in sizes.items():
        assert size < (60_000 if path.name == "core-v1.json" else 20_000), path


@pytest.mark.parametrize("release", RELEASES)
def test_release_has_its_served_versions(release: str) -> None:
    schemas = schemas_of(release)
    ours = {row.kind for row in SERVED} - {"PodTemplate", "ReplicationController"}
    assert {kind: schemas.versions(kind) for kind in ours} == {
        kind: served_versions(kind, release) for kind in ours
    }


@pytest.mark.parametrize(
    "name", ["../meta", "nosuch", "core", "x" * 5000, "resource.k8s.io/v1/x", "\0"]
)
def test_version_without_a_file_is_not_served(name: str) -> None:
    assert schemas_of("1.37").kind(name, "ResourceClaim") is None


def published(whole: Path, release: str) -> dict[str, Any]:
    folder = whole / "conformance" / "openapi" / release
    found: dict[str, Any] = {}
    for path in folder.glob("*.json"):
        found |= json.loads(path.read_bytes())["components"]["schemas"]
    return found


def ours(release: str, name: str) -> dict[str, Any] | None:
    package, _, kind = name.rpartition(".")
    group, _, version = package.removeprefix("io.k8s.api.").rpartition(".")
    file = f"{group}{'.k8s.io' if group == 'resource' else ''}-{version}"
    if not package.startswith("io.k8s.api."):
        file = "meta-v1"
    found = json.loads((data_dir("schemas") / release / f"{file}.json").read_bytes())["$defs"].get(
        kind
    )
    assert found is None or isinstance(found, dict)
    return found


def type_of(schema: dict[str, Any]) -> str:
    """A field's type in words that both ways to write a schema share."""
    for reference in [schema, *schema.get("allOf", ())]:
        if "$ref" in reference:
            return str(reference["$ref"].rpartition("/")[2].rpartition(".")[2])
    if "const" in schema:
        return "string"
    kind = schema["type"][0] if isinstance(schema["type"], list) else schema["type"]
    if kind == "array":
        return f"list of {type_of(schema['items'])}"
    if kind == "object":
        return f"map of {type_of(schema['additionalProperties'])}"
    return str(schema["format"] if kind == "integer" else kind)


@pytest.mark.parametrize("release", COMPARED)
def test_fields_and_types_match_the_published_ones(whole: Path, release: str) -> None:
    compared = 0
    for name, schema in published(whole, release).items():
        mine = ours(release, name)
        if mine is None or "properties" not in schema:
            continue
        theirs = {field: type_of(value) for field, value in schema["properties"].items()}
        assert {field: type_of(value) for field, value in mine["properties"].items()} == theirs, (
            name
        )
        compared += 1
    assert compared > 150


@cache
def validator(release: str, reference: str) -> Any:
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource

    resources = [
        (path.name, Resource.from_contents(json.loads(path.read_bytes())))
        for path in paths_of(release).values()
    ]
    return Draft202012Validator({"$ref": reference}, registry=Registry().with_resources(resources))


def agrees(document: Any, release: str) -> bool | None:
    """Whether the walk and jsonschema say the same of a document; None for one that has no schema."""
    shape = schemas_of(release).kind(document.api_version or "", document.kind or "")
    if shape is None:
        return None
    group, _, version = document.api_version.rpartition("/")
    reference = f"{group or 'core'}-{version}.json#/$defs/{document.kind}"
    return bool(walk(document.value, shape)) is not validator(release, reference).is_valid(
        document.value
    )


@pytest.mark.parametrize("release", RELEASES)
def test_the_walk_and_jsonschema_agree(shared: Path, release: str) -> None:
    lines = (shared / "conformance" / "validation" / "cases.jsonl").read_bytes().splitlines()
    compared = 0
    for case in map(json.loads, lines[::3]):
        for document in load(["-"], stdin=case["yaml"].encode()).documents:
            verdict = agrees(document, release)
            compared += verdict is not None
            assert verdict is not False, case["id"]
    assert compared > (40 if WHOLE else 0)


def test_a_file_checks_a_whole_document() -> None:
    """So that editors can use the schemas too: the choice of kinds stands at the top of a file."""
    check = validator("1.37", "resource.k8s.io-v1.json")
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "spec": {"devices": {"requests": []}},
    }
    assert check.is_valid(claim)
    assert not check.is_valid({**claim, "spec": {"devices": {"request": []}}})
    assert not check.is_valid({**claim, "kind": "ResourceClaims"})
