"""Claims of pod groups and workloads, as kube-apiserver 1.36 and 1.37 answered with DRAWorkloadResourceClaims."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.model import Target
from dractl.validation import validate

SERVED = [("1.36", "v1alpha2"), ("1.37", "v1alpha3"), ("1.37", "v1beta1")]
GATES = {"GenericWorkload": True, "DRAWorkloadResourceClaims": True}


def typed(
    kind: str, release: str, version: str, spec: dict[str, Any], **gates: bool
) -> set[tuple[str, str | None]]:
    document = {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": kind,
        "metadata": {"name": "train"},
        "spec": {"schedulingPolicy": {"basic": {}}, **spec} if kind == "PodGroup" else spec,
    }
    return {(v.type, v.field) for v in validate(document, Target.of(release, gates)) if v.type}


@pytest.mark.parametrize(("release", "version"), SERVED)
@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ([], set()),
        ([{"name": "a", "resourceClaimName": "x"}], set()),
        ([{"name": "a"}], {("FieldValueInvalid", "[0]")}),
        (
            [{"name": "a", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}],
            {("FieldValueInvalid", "[0]")},
        ),
        ([{}], {("FieldValueInvalid", "[0]"), ("FieldValueRequired", "[0].name")}),
        ([None], {("FieldValueInvalid", "[0]"), ("FieldValueRequired", "[0].name")}),
        ([{"name": "a.b", "resourceClaimName": "x"}], {("FieldValueInvalid", "[0].name")}),
        (
            [{"name": "a", "resourceClaimName": ""}],
            {("FieldValueInvalid", "[0].resourceClaimName")},
        ),
        (
            [{"name": "a", "resourceClaimTemplateName": "X_"}],
            {("FieldValueInvalid", "[0].resourceClaimTemplateName")},
        ),
        (
            [
                {"name": "a", "resourceClaimName": "x"},
                {"name": "a", "resourceClaimTemplateName": "x"},
            ],
            {("FieldValueDuplicate", "[1]")},
        ),
        (
            [{"name": f"a{i}", "resourceClaimName": "X"} for i in range(5)],
            {("FieldValueTooMany", "")},
        ),
    ],
)
def test_claims(
    release: str, version: str, claims: list[Any], expected: set[tuple[str, str]]
) -> None:
    for kind, spec, field in (
        ("PodGroup", {"resourceClaims": claims}, "spec.resourceClaims"),
        (
            "Workload",
            {
                "podGroupTemplates": [
                    {"name": "a", "schedulingPolicy": {"basic": {}}, "resourceClaims": claims}
                ]
            },
            "spec.podGroupTemplates[0].resourceClaims",
        ),
    ):
        assert typed(kind, release, version, spec, **GATES) == {
            (cause, f"{field}{at}") for cause, at in expected
        }


@pytest.mark.parametrize(("release", "version"), SERVED)
def test_too_many_groups(release: str, version: str) -> None:
    templates = [
        {"name": f"a{i}", "schedulingPolicy": {"basic": {}}, "resourceClaims": [{}]}
        for i in range(9)
    ]
    found = typed("Workload", release, version, {"podGroupTemplates": templates}, **GATES)
    assert found == {("FieldValueTooMany", "spec.podGroupTemplates")}


@pytest.mark.parametrize(("release", "version"), SERVED)
def test_without_the_gate_claims_are_dropped(release: str, version: str) -> None:
    document = {
        "apiVersion": f"scheduling.k8s.io/{version}",
        "kind": "PodGroup",
        "metadata": {"name": "train"},
        "spec": {"schedulingPolicy": {"basic": {}}, "resourceClaims": [{"name": "a"}]},
    }
    found = validate(document, Target.of(release, {"GenericWorkload": True}))
    assert [v.rule for v in found] == ["served-on-demand", "dropped-field"]
    assert "DRAWorkloadResourceClaims" in found[1].message


def test_workloads_of_1_35_have_no_claims() -> None:
    spec = {"podGroups": [{"name": "a", "policy": {"basic": {}}, "resourceClaims": []}]}
    assert typed("Workload", "1.35", "v1alpha1", spec) == {
        ("BadRequest", "spec.podGroups[0].resourceClaims")
    }


@pytest.mark.parametrize("release", ["1.34", "1.35"])
def test_releases_before_1_36_have_no_groups(release: str) -> None:
    assert typed("PodGroup", release, "v1alpha2", {}) == {("NotServed", "kind")}


def test_kinds_unknown_in_the_group_may_be_custom() -> None:
    assert typed("Something", "1.35", "v1alpha2", {}) == set()
