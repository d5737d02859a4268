"""The commands that apply changes: the one that says what it does, dry runs first, each pod named once."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster.changes import Create, Delete, Patch
from dractl.explain.ask import Question
from dractl.explain.fixes.candidates import measure_reach
from dractl.explain.fixes.steps import steps
from tests.explain.cluster import node, pod, state_of
from tests.explain.test_fixes import DRIVER, made, replica, request, template

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
def test_a_command_says_what_it_does(
    value: dict[str, Any], operation: dict[str, Any], command: str
) -> None:
    assert commands(Patch("Node/n", (operation,)), objects=(value,)) == [command]


def test_the_status_of_a_claim_is_patched_as_one() -> None:
    (command,) = commands(
        Patch("ResourceClaim/ml/c", ({"op": "remove", "path": "/status/allocation"},))
    )
    assert "--subresource=status" in command


def test_two_patches_of_one_object_are_one() -> None:
    path = "/spec/spec/devices/requests/0/exactly"
    patches = [
        Patch("ResourceClaimTemplate/ml/t", ({"op": "add", "path": f"{path}/{k}", "value": 1},))
        for k in "ab"
    ]
    found = commands(*patches, objects=(template("t", request("r", DRIVER)),))
    assert sum("replace --force -f resourceclaimtemplate-t.yaml" in c for c in found) == 1


def test_pods_are_deleted_together_and_last() -> None:
    count = {"op": "replace", "path": "/spec/spec/devices/requests/0/exactly/count", "value": 2}
    changes = (
        Patch("ResourceClaimTemplate/ml/t", (count,)),
        Delete("Pod/ml/web-0"),
        Delete("Pod/ml/web-1"),
    )
    objects = (template("t", request("r", DRIVER)), made("web-0", "StatefulSet/web", where="n"))
    found = commands(*changes, about=made("web-1", "StatefulSet/web"), objects=objects)
    assert found[-1] == "kubectl delete pod web-1 web-0 -n ml"
    assert sum("kubectl delete" in c for c in found) == 1


def test_many_pods_of_a_deployment_are_restarted() -> None:
    count = {"op": "replace", "path": "/spec/spec/devices/requests/0/exactly/count", "value": 2}
    pods = tuple(replica(f"web-{n}") for n in range(1, 8))
    objects = (template("t", request("r", DRIVER)), *pods)
    found = commands(
        Patch("ResourceClaimTemplate/ml/t", (count,)), about=replica("web-0"), objects=objects
    )
    assert found[-1] == "kubectl rollout restart deployment/web -n ml"


def test_a_job_is_suspended_where_all_its_pods_end() -> None:
    """pkg/controller/job counts a pod that is deleted as failed, and not one that a suspension ends."""
    count = {"op": "replace", "path": "/spec/spec/devices/requests/0/exactly/count", "value": 2}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "web", "namespace": "ml", "uid": "uid-web"},
        "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "x"}]}}},
    }
    change, about = Patch("ResourceClaimTemplate/ml/t", (count,)), made("web-0", "Job/web")
    found = commands(change, about=about, objects=(template("t", request("r", DRIVER)), job))
    assert [command.split(" -p ")[0] for command in found[-3:]] == [
        "kubectl patch job web -n ml",
        "kubectl wait --for=condition=Suspended job web -n ml --timeout=60s",
        "kubectl patch job web -n ml",
    ]
    assert not any("delete pod" in command for command in found)


def test_the_extent_of_a_change() -> None:
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


def test_nothing_can_be_applied_to_what_an_operator_makes() -> None:
    change = Patch("Pod/ml/p", ({"op": "remove", "path": "/spec/nodeSelector"},))
    assert commands(change, about={**made("p", "RayCluster/web")}) == []


def test_what_is_created_before_something_is_deleted_is_tried_first() -> None:
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
def test_what_admits_an_object_is_changed_before_the_object_is_tried(
    kind: str, operation: dict[str, Any], command: str
) -> None:
    """Admission judges a dry run, too (refused by kube-apiserver 1.37 until the namespace has the label)."""
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
    found = commands(
        Patch("ResourceClaimTemplate/ml/t", (admin,)), Patch(kind, (operation,)), objects=objects
    )
    dry = next(at for at, text in enumerate(found) if text.endswith("--dry-run=server"))
    assert [text.startswith(command) for text in found].index(True) < dry
    assert found[dry].startswith("kubectl patch --local")
    assert "replace --force" in found[-2]
