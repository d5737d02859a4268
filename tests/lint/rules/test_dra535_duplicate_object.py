"""DRA535 duplicate-object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, device_class, documents, found, marked

if TYPE_CHECKING:
    from pathlib import Path

CLASS = device_class("gpu", 'device.driver == "d.example.com"')


def test_the_second_document_is_reported_with_the_first() -> None:
    (finding,) = found(documents(CLASS, CLASS), "DRA535")
    assert (finding.severity, marked(finding)) == ("warning", "gpu")
    assert finding.message == "DeviceClass gpu is defined twice"
    (other,) = finding.related
    assert (other.position.line, finding.document) == (3, 1)


def test_kind_namespace_name_and_group_tell_objects_apart() -> None:
    elsewhere = claim("gpu gpu", name="a").replace("{name: a}", "{name: a, namespace: b}")
    assert (
        found(documents(claim("gpu gpu", name="a"), elsewhere, CLASS.replace("gpu", "a")), "DRA535")
        == []
    )


def test_versions_of_one_group_are_one_object() -> None:
    older = claim("gpu gpu").replace("resource.k8s.io/v1\n", "resource.k8s.io/v1beta2\n")
    assert len(found(documents(claim("gpu gpu"), older), "DRA535")) == 1


def test_files_of_a_folder_are_not_compared(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(CLASS, encoding="utf-8")
    report = lint(load([str(tmp_path)]), Target.of())
    assert [finding.code for finding in report.findings] == []


def test_a_placeholder_is_no_name() -> None:
    named = CLASS.replace("{name: gpu}", "{name: ${NAME}}")
    assert found(documents(named, named), "DRA535") == []
