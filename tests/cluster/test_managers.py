"""Managers of objects, recognized by the marks that each tool sets."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.changes import Patch
from dractl.cluster.managers import find_manager
from tests.explain.cluster import state_of

TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "x"}]}}


def deployment(labels: dict[str, str], annotations: dict[str, str]) -> dict[str, Any]:
    metadata = {"name": "llm", "namespace": "ml", "labels": labels, "annotations": annotations}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"replicas": 2, "template": TEMPLATE},
    }


def make_patch(path: str) -> tuple[Patch, ...]:
    return (Patch("Deployment/ml/llm", ({"op": "replace", "path": path, "value": 1},)),)


@pytest.mark.parametrize(
    ("labels", "annotations", "advice", "reverts"),
    [
        # argo-cd docs/user-guide/resource_tracking.md
        (
            {},
            {"argocd.argoproj.io/tracking-id": "prod:apps/Deployment:ml/llm"},
            "in git: Argo CD application prod",
            True,
        ),
        ({"argocd.argoproj.io/instance": "prod"}, {}, "in git: Argo CD application prod", True),
        # fluxcd.io: labels that its kustomize and helm controllers set
        (
            {
                "kustomize.toolkit.fluxcd.io/name": "apps",
                "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
            },
            {},
            "in git: Flux Kustomization flux-system/apps",
            True,
        ),
        (
            {"helm.toolkit.fluxcd.io/name": "llm", "helm.toolkit.fluxcd.io/namespace": "ml"},
            {},
            "in its values: Flux HelmRelease ml/llm",
            True,
        ),
        # helm pkg/action/validate.go
        (
            {"app.kubernetes.io/managed-by": "Helm"},
            {"meta.helm.sh/release-name": "llm"},
            "in the values, too: Helm release llm",
            False,
        ),
    ],
)
def test_an_object_names_the_tool_behind_it(
    labels: dict[str, str], annotations: dict[str, str], advice: str, reverts: bool
) -> None:
    manager = find_manager(
        state_of(deployment(labels, annotations)), make_patch("/spec/template/spec/nodeSelector")
    )
    assert manager is not None
    assert manager.advice.startswith(f"change it {advice}")
    assert manager.reverts is reverts


def test_objects_without_marks_of_a_tool_have_no_manager() -> None:
    assert (
        find_manager(state_of(deployment({"app": "llm"}, {})), make_patch("/spec/replicas")) is None
    )


def test_an_autoscaler_writes_the_replicas_and_nothing_else() -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "llm"}
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "llm", "namespace": "ml"},
        "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 8},
    }
    state = state_of(deployment({}, {}), scaler)
    manager = find_manager(state, make_patch("/spec/replicas"))
    assert manager is not None
    assert manager.name == "HorizontalPodAutoscaler ml/llm (minReplicas 2, maxReplicas 8)"
    assert find_manager(state, make_patch("/spec/template/spec/nodeSelector")) is None


def test_kedas_autoscaler_is_changed_in_its_scaled_object() -> None:
    """kedacore/keda controllers/keda/hpa.go newHPAForScaledObject."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "llm"}
    scaler = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {
            "name": "keda-hpa-llm",
            "namespace": "ml",
            "ownerReferences": [{"kind": "ScaledObject", "name": "queue", "controller": True}],
        },
        "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 8},
    }
    manager = find_manager(state_of(deployment({}, {}), scaler), make_patch("/spec/replicas"))
    assert manager is not None
    assert manager.advice.startswith(
        "change it in minReplicaCount and maxReplicaCount: KEDA ScaledObject ml/queue"
    )
    assert manager.reverts
