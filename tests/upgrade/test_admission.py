"""Webhooks and admission policies that name versions of resource.k8s.io which a release does not serve.

The API server finds the resources that are equivalent to a request's among those that it serves (k8s.io/apiserver v0.37.1
pkg/endpoints/installer.go RegisterKindFor, pkg/admission/plugin/webhook/generic/webhook.go ShouldCallHook,
pkg/admission/plugin/policy/matching/matching.go).
"""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster import ClusterState
from dractl.upgrade import RuntimeConfig, UpgradeInput, plan


def rule(*versions: str, resources: tuple[str, ...] = ("resourceclaims",)) -> dict[str, Any]:
    return {
        "apiGroups": ["resource.k8s.io"],
        "apiVersions": list(versions),
        "resources": list(resources),
        "operations": ["CREATE"],
    }


def webhook(*rules: dict[str, Any], kind: str = "ValidatingWebhookConfiguration") -> dict[str, Any]:
    hooks = [{"name": "claims.example.com", "rules": list(rules)}]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "claims"},
        "webhooks": hooks,
    }


def policy(*rules: dict[str, Any], kind: str = "ValidatingAdmissionPolicy") -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "claims"},
        "spec": {"matchConstraints": {"resourceRules": list(rules)}},
    }


def breaks(value: dict[str, Any], start: str, to: str, **config: bool) -> list[str]:
    """The steps with which the object is no longer asked."""
    compared = UpgradeInput(
        (), ClusterState({}), others=(value,), runtime_config=RuntimeConfig(config)
    )
    return [
        step.step
        for step in plan(compared, start, to).steps
        for one in step.findings
        if one.code == "admission-not-asked" and one.level == "breaks"
    ]


@pytest.mark.parametrize("kind", ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"])
def test_webhook_with_a_removed_version_breaks(kind: str) -> None:
    assert breaks(webhook(rule("v1beta1"), kind=kind), "1.37", "1.38") == ["Kubernetes 1.38"]


@pytest.mark.parametrize("kind", ["ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"])
def test_policy_with_a_removed_version_breaks(kind: str) -> None:
    assert breaks(policy(rule("v1alpha3", "v1beta1"), kind=kind), "1.37", "1.38") == [
        "Kubernetes 1.38"
    ]


@pytest.mark.parametrize(
    "value",
    [
        webhook(rule("v1beta1", "v1")),
        webhook(rule("*")),
        webhook(rule("v1beta1", resources=("pods",))),
        webhook({**rule("v1beta1"), "apiGroups": ["batch"]}),
        policy(rule("v1")),
        webhook("x"),  # type: ignore[arg-type]
        {**webhook(), "webhooks": "x"},
        policy(rule("v1alpha3", resources=("devicetaintrules",))),
    ],
)
def test_webhook_with_a_served_version_is_fine(value: dict[str, Any]) -> None:
    assert not breaks(value, "1.37", "1.38")


def test_a_version_switched_on_up_to_1_33() -> None:
    value = webhook(rule("v1beta1", resources=("*",)))
    assert breaks(value, "1.33", "1.34") == ["Kubernetes 1.34"]
    assert not breaks(value, "1.33", "1.34", **{"resource.k8s.io/v1beta1": True})


def test_fix_names_the_served_version() -> None:
    compared = UpgradeInput((), ClusterState({}), others=(webhook(rule("v1beta1")),))
    (step,) = plan(compared, "1.37", "1.38").steps
    (finding,) = [one for one in step.findings if one.code == "admission-not-asked"]
    assert finding.fix == "add v1 to apiVersions"
    assert finding.objects == ("ValidatingWebhookConfiguration/claims",)
    assert "webhook claims.example.com names resource.k8s.io/v1beta1 alone" in finding.message
