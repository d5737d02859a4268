"""DRA152 admin-access-needs-label."""

from __future__ import annotations

import pytest

from tests.lint.written import claim, documents, found, marked

ADMIN = claim("gpu gpu.example.com {allocationMode: All, adminAccess: true}")
PLACED = ADMIN.replace("{name: gpus}", "{name: gpus, namespace: tools}")


def namespace(name: str, labels: str = "{}") -> str:
    return f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {labels}}}\n"


@pytest.mark.parametrize(
    ("release", "label"),
    # pkg/apis/resource/types.go DRAAdminNamespaceLabelKey: resource.k8s.io/admin-access in 1.33 only
    [("1.33", "resource.k8s.io/admin-access"), ("1.34", "resource.kubernetes.io/admin-access")],
)
def test_label_is_chosen_by_the_release(release: str, label: str) -> None:
    text = PLACED.replace("resource.k8s.io/v1\n", "resource.k8s.io/v1beta2\n")
    (finding,) = found(text, "DRA152", release, gates={"DRAAdminAccess": True})
    assert (finding.severity, finding.confidence, marked(finding)) == ("info", "possible", "true")
    assert f'namespace tools needs the label {label}: "true"' in finding.message


def test_a_claim_without_namespace() -> None:
    (finding,) = found(ADMIN, "DRA152")
    assert finding.message.startswith("the namespace of this object needs the label")


def test_a_namespace_of_the_input_is_checked_itself() -> None:
    label = '{resource.kubernetes.io/admin-access: "true"}'
    assert found(documents(namespace("tools", label), PLACED), "DRA152") == []
    assert len(found(documents(namespace("other", label), PLACED), "DRA152")) == 1


def test_absent_or_dropped_admin_access_needs_no_label() -> None:
    assert found(PLACED.replace("true", "false"), "DRA152") == []
    older = PLACED.replace("resource.k8s.io/v1\n", "resource.k8s.io/v1beta2\n")
    assert found(older, "DRA152", "1.33", gates={"DRAAdminAccess": False}) == []
