"""Patches of a pod as patches of the pod template of its workload."""

from __future__ import annotations

from typing import Any

from dractl.cluster.changes import Patch, apply_patch
from dractl.explain.fixes.pod_templates import move_to_template
from tests.explain.cluster import state_of
from tests.explain.test_fixes import owned_pod

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "operator": "Exists"}
"""What DefaultTolerationSeconds adds to every pod, and to no template."""


def test_two_tolerations_for_a_pod_are_both_in_its_template() -> None:
    made = owned_pod("web-1", "Deployment/web")
    deployment: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {"template": {"spec": dict(made["spec"])}},
    }
    made["spec"]["tolerations"] = [NOT_READY]
    wanted = [{"key": key, "operator": "Exists"} for key in ("team", "gpu")]
    path = "/spec/tolerations/-"
    patch = Patch("Pod/ml/web-1", tuple({"op": "add", "path": path, "value": w} for w in wanted))
    moved = move_to_template(state_of(made, deployment), ("ml", "web-1"), patch)
    assert moved is not None
    assert moved.target == "Deployment/ml/web"
    after = apply_patch(deployment, moved.operations)
    assert after["spec"]["template"]["spec"]["tolerations"] == wanted


def test_request_beside_a_container_with_a_limit_alone_is_changed() -> None:
    """The API server copies a limit into the requests of its own container only."""
    gpu = {"example.com/gpu": "2"}
    containers = [
        {"name": "a", "image": "x", "resources": {"requests": gpu, "limits": gpu}},
        {"name": "b", "image": "x", "resources": {"limits": gpu}},
    ]
    deployment: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ml"},
        "spec": {"template": {"spec": {"containers": containers}}},
    }
    made = owned_pod("web-1", "Deployment/web")
    made["spec"]["containers"] = [
        {**container, "resources": {"requests": gpu, "limits": gpu}} for container in containers
    ]
    path = "/spec/containers/{}/resources/requests/example.com~1gpu"
    operations = tuple(
        {"op": "replace", "path": path.format(number), "value": "1"} for number in (0, 1)
    )
    state = state_of(made, deployment)
    moved = move_to_template(state, ("ml", "web-1"), Patch("Pod/ml/web-1", operations))
    assert moved is not None
    assert [operation["path"] for operation in moved.operations] == [
        "/spec/template" + path.format(0)
    ]
