"""The commands that apply changes: the one that says what it does, dry runs first, each pod named
once.
"""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.changes import Create, Delete, Patch
from dractl.explain.ask import Question
from dractl.explain.fixes.candidates import measure_reach
from dractl.explain.fixes.steps import steps
from tests.explain.cluster import node, pod, state_of
from tests.explain.test_fixes import DRIVER, owned_pod, replica, request, template

ASKED = pod("p", {"name": "g", "resourceClaimTemplateName": "t"}, metadata={"uid": "p"})


def commands(
    *changes: Any, about: dict[str, Any] = ASKED, objects: tuple[dict[str, Any], ...] = ()
) -> list[str]:
    state = state_of(*objects, about)
    question = Question("Pod", ("ml", about["metadata"]["name"]), about)
    return [step.command for step in steps(state, question, changes)]


TAINTS = [{"key": "a", "value": "b", "effect": "NoSchedule"}, {"key": "c", "effect": "NoExecute"}]


@pytest.mark.parametrize(
    ("value", "operation", "command"),
    [
        (
            node("n", unschedulable=True),
            {"op": "remove", "path": "/spec/unschedulable"},
            "kubectl uncordon n",
        ),
        (
            node("n", taints=TAINTS),
            {"op": "replace", "path": "/spec/taints", "value": TAINTS[1:]},
            "kubectl taint node n a=b:NoSchedule-",
        ),
        (
            node("n"),
            {"op": "add", "path": "/metadata/labels/rack", "value": "r 1"},
            "kubectl label node n 'rack=r 1'",
        ),
        (
            node("n", labels={"rack": "1"}),
            {"op": "replace", "path": "/metadata/labels/rack", "value": "2"},
            "kubectl label node n rack=2 --overwrite",
        ),
    ],
)
def test_a_change_becomes_the_shortest_kubectl_command(
    value: dict[str, Any], operation: dict[str, Any], command: str
) -> None:
    assert commands(Patch("Node/n", (operation,)), objects=(value,)) == [command]


def test_the_status_of_a_claim_is_patched_as_a_subresource() -> None:
    (command,) = commands(
        Patch("ResourceClaim/ml/c", ({"op": "remove", "path": "/status/allocation"},))
    )
    assert "--subresource=status" in command


def test_two_patches_of_an_object_become_one_command() -> None:
    path = "/spec/spec/devices/requests/0/exactly"
    patches = [
        Patch("ResourceClaimTemplate/ml/t", ({"op": "add", "path": f"{path}/{k}", "value": 1},))
        for k in "ab"
    ]
    lines = commands(*patches, objects=(template("t", request("r", DRIVER)),))
    assert sum("replace --force -f resourceclaimtemplate-t.yaml" in c for c in lines) == 1


def test_pods_are_deleted_together_and_last() -> None:
    count = {"op": "replace", "path": "/spec/spec/devices/requests/0/exactly/count", "value": 2}
    changes = (
        Patch("ResourceClaimTemplate/ml/t", (count,)),
        Delete("Pod/ml/web-0"),
        Delete("Pod/ml/web-1"),
    )
    objects = (
        template("t", request("r", DRIVER)),
        owned_pod("web-0", "StatefulSet/web", node_name="n"),
    )
    lines = commands(*changes, about=owned_pod("web-1", "StatefulSet/web"), objects=objects)
    assert lines[-1] == "kubectl delete pod web-1 web-0 -n ml"
    assert sum("kubectl delete" in c for c in lines) == 1


def test_many_pods_of_a_deployment_are_restarted() -> None:
    count = {"op": "replace", "path": "/spec/spec/devices/requests/0/exactly/count", "value": 2}
    pods = tuple(replica(f"web-{n}") for n in range(1, 8))
    objects = (template("t", request("r", DRIVER)), *pods)
    lines = commands(
        Patch("ResourceClaimTemplate/ml/t", (count,)), about=replica("web-0"), objects=objects
    )
    assert lines[-1] == "kubectl rollout restart deployment/web -n ml"


def test_a_job_is_suspended_where_all_its_pods_end() -> None:
    """pkg/controller/job counts a pod that is deleted as failed, and not one that a suspension
    ends.
    """
    count = {"op": "replace", "path": "/spec/spec/devices/requests/0/exactly/count", "value": 2}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "web", "namespace": "ml", "uid": "uid-web"},
        "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "x"}]}}},
    }
    change, about = Patch("ResourceClaimTemplate/ml/t", (count,)), owned_pod("web-0", "Job/web")
    lines = commands(change, about=about, objects=(template("t", request("r", DRIVER)), job))
    assert [command.split(" -p ")[0] for command in lines[-3:]] == [
        "kubectl patch job web -n ml",
        "kubectl wait --for=condition=Suspended job web -n ml --timeout=60s",
        "kubectl patch job web -n ml",
    ]
    assert not any("delete pod" in command for command in lines)


def test_changes_are_ordered_by_their_reach() -> None:
    targets = (
        "ResourceClaim/ml/c",
        "Pod/ml/p",
        "Deployment/ml/web",
        "DeviceClass/gpu",
        "Node/n",
        "ConfigMap/ml/c",
    )
    extents = [measure_reach(Patch(target, ())) for target in targets]
    assert extents == sorted(set(extents))


def test_no_command_changes_the_pods_of_an_operator() -> None:
    change = Patch("Pod/ml/p", ({"op": "remove", "path": "/spec/nodeSelector"},))
    assert commands(change, about={**owned_pod("p", "RayCluster/web")}) == []


def test_a_creation_is_tried_by_a_dry_run_before_a_deletion() -> None:
    created = Create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "ml"}}
    )
    assert commands(created, Delete("Pod/ml/x")) == [
        "kubectl create -f - --dry-run=server",
        "kubectl create -f -",
        "kubectl delete pod x -n ml",
    ]


@pytest.mark.parametrize(
    ("kind", "operation", "command"),
    [
        (
            "Namespace/ml",
            {
                "op": "add",
                "path": "/metadata/labels",
                "value": {"resource.kubernetes.io/admin-access": "true"},
            },
            "kubectl label namespace ml",
        ),
        (
            "LimitRange/ml/most",
            {"op": "replace", "path": "/spec/limits/0/max/cpu", "value": "8"},
            "kubectl patch limitrange most -n ml",
        ),
    ],
)
def test_quotas_and_labels_are_changed_before_the_dry_run(
    kind: str, operation: dict[str, Any], command: str
) -> None:
    """Admission judges a dry run, too (refused by kube-apiserver 1.37 until the namespace has the
    label).
    """
    admin = {
        "op": "add",
        "path": "/spec/spec/devices/requests/0/exactly/adminAccess",
        "value": True,
    }
    objects = (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}},
        {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "most", "namespace": "ml"},
            "spec": {"limits": [{"type": "Container", "max": {"cpu": "4"}}]},
        },
        template("t", request("r", DRIVER)),
    )
    lines = commands(
        Patch("ResourceClaimTemplate/ml/t", (admin,)), Patch(kind, (operation,)), objects=objects
    )
    dry = next(at for at, text in enumerate(lines) if text.endswith("--dry-run=server"))
    assert [text.startswith(command) for text in lines].index(True) < dry
    assert lines[dry].startswith("kubectl patch --local")
    assert "replace --force" in lines[-2]


def test_a_claim_template_is_replaced_before_a_rollout_creates_pods() -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "p", "namespace": "ml"},
        "spec": {"template": {"spec": ASKED["spec"]}},
    }
    subject = owned_pod("p-1", "Deployment/p")
    removal = {"op": "remove", "path": "/spec/template/spec/resourceClaims"}
    count = {"op": "add", "path": "/spec/spec/devices/requests/0/exactly/count", "value": 1}
    lines = commands(
        Patch("Deployment/ml/p", (removal,)),
        Patch("ResourceClaimTemplate/ml/t", (count,)),
        about=subject,
        objects=(deployment, template("t", request("r", DRIVER))),
    )
    edits = [line.split()[2] for line in lines if "dry-run" not in line]
    assert edits == ["resourceclaimtemplate", "deployment", "pod"]
