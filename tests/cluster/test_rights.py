"""Resources that the user is not allowed to read, and the commands that allow it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dractl.cluster import live
from dractl.cluster.rights import FULL_RIGHTS, Rights, Unread
from dractl.cluster.role import ROLE_RESOURCES, list_role_resources
from dractl.cluster.state import ClusterState
from dractl.facts.drivers import driver as driver_facts, names as driver_names
from tests.cluster.test_live import FORBIDDEN, Kubectl, kubectl, listed  # noqa: F401
from tests.explain.cluster import pod

ROLES = Path(__file__).resolve().parents[2] / "deploy" / "clusterrole.yaml"
SLICES = Unread("ResourceSlice", "resourceslices.resource.k8s.io")
CLASSES = Unread("DeviceClass", "deviceclasses.resource.k8s.io")
CLAIMS = Unread("ResourceClaim", "resourceclaims.resource.k8s.io", "ml")
PODS = Unread("Pod", "pods")


@pytest.mark.parametrize(
    ("user", "binding"),
    [
        ("jane", "dractl-jane --clusterrole=dractl --user=jane"),
        ("jane doe", "dractl-jane-doe --clusterrole=dractl --user='jane doe'"),
        ("https://a/%23x", "dractl-https-a-23x --clusterrole=dractl --user=https://a/%23x"),
        ("oidc:$(id)", "dractl-oidc-id --clusterrole=dractl --user='oidc:$(id)'"),
        (
            "system:serviceaccount:ml:dev",
            "dractl-ml-dev --clusterrole=dractl --serviceaccount=ml:dev",
        ),
        ("", "dractl-NAME --clusterrole=dractl --user=NAME"),
    ],
)
def test_grant_commands_name_the_user(user: str, binding: str) -> None:
    grant = Rights((SLICES, CLASSES), user).full_grant
    role, _, bound = grant.partition(" && ")
    assert (
        role
        == "kubectl create clusterrole dractl --verb=get,list --resource=resourceslices,deviceclasses"
        " --dry-run=client -o yaml | kubectl auth reconcile -f -"
    )
    assert bound == f"kubectl create clusterrolebinding {binding}"


def test_a_user_of_one_namespace_gets_no_right_to_other_namespaces() -> None:
    """Devices, classes and nodes are enough for a whole answer about what is their own."""
    assert "--resource=resourceslices " in Rights((SLICES, CLAIMS), "jane").full_grant
    assert Rights((CLAIMS,), "jane").full_grant == ""


def test_a_user_of_the_whole_cluster_gets_the_missing_rights() -> None:
    assert "--resource=resourceslices,pods " in Rights((SLICES, PODS), "jane").full_grant


SERVED = {"ResourceSlice": SLICES.resource, "Pod": "pods", "Event": "events", "Node": "nodes"}


def test_the_first_refusal_grants_all_reads_of_dractl() -> None:
    """Else the next run is refused the next resource, and the role of that name exists by then."""
    grant = Rights((SLICES,), "jane", SERVED).full_grant
    assert "create clusterrole dractl " in grant
    assert "--resource=resourceslices,pods,events,nodes " in grant
    assert Rights((SLICES,), "jane", SERVED).grant_commands("Pod") == ""


def test_a_user_of_one_namespace_gets_a_smaller_role_of_another_name() -> None:
    grant = Rights((SLICES, CLAIMS), "jane", SERVED).full_grant
    assert "create clusterrole dractl-devices " in grant
    assert "--resource=resourceslices,nodes " in grant
    assert "--clusterrole=dractl-devices " in grant


def test_a_custom_owner_of_pods_has_a_role_of_its_own() -> None:
    ray = Unread("RayJob", "rayjob.v1.ray.io")
    assert Rights((ray,), "jane", SERVED).full_grant == (
        "kubectl create clusterrole dractl-rayjob --verb=get,list --resource=rayjob"
        " --dry-run=client -o yaml | kubectl auth reconcile -f - && "
        "kubectl create clusterrolebinding dractl-rayjob-jane --clusterrole=dractl-rayjob "
        "--user=jane"
    )


def test_full_rights_need_no_command() -> None:
    assert FULL_RIGHTS.full_grant == ""


def test_unreadable_and_namespaced_resources_are_kept_apart() -> None:
    rights = Rights((SLICES, CLAIMS))
    assert rights.unreadable("ResourceSlice", "ResourceClaim", "Pod") == (SLICES,)
    assert rights.readable_in_namespace("ResourceSlice", "ResourceClaim", "Pod") == (CLAIMS,)


def test_a_changed_cluster_keeps_its_rights() -> None:
    rights = Rights((SLICES,))
    state = ClusterState({}, rights=rights)
    assert state.replace("Pod", ("ml", "a"), {}).rights is rights
    assert state.with_objects({}).rights is rights
    assert ClusterState({}).merge(state).rights is rights
    assert state.merge(ClusterState({})).rights is rights


def deployed_rules(role: str) -> list[dict[str, Any]]:
    documents = yaml.safe_load_all(ROLES.read_text("utf-8"))
    (rules,) = (document["rules"] for document in documents if document["metadata"]["name"] == role)
    assert all(rule["verbs"] == ["get", "list"] for rule in rules)
    return list(rules)


def granted(role: str) -> set[str]:
    """The resources, with their groups, that a ClusterRole of ``deploy/`` allows to read."""
    rules = deployed_rules(role)
    return {
        f"{resource}.{group}".rstrip(".")
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def test_the_deployed_role_grants_all_reads_of_dractl(kubectl: Kubectl) -> None:  # noqa: F811
    """This includes the groups and owners of pods that a cluster may have."""
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "a", "uid": "u"}
    group, job = {"podGroupName": "gang"}, {"name": "w", "podGroup": "g"}
    pods = [
        pod("a", metadata={"ownerReferences": [owner]}),
        pod("b", spec={"schedulingGroup": group}),
        pod("c", spec={"workloadRef": job}),
        pod("d", metadata={"labels": {"scheduling.x-k8s.io/pod-group": "gang"}}),
    ]
    kubectl.answers(pods=listed(*pods))
    live.read(live.Login(), everywhere=True)
    gets = [call[call.index("get") + 1] for call in kubectl.calls if "get" in call]
    asked = {resource for words in gets for resource in words.split(",")}
    custom = "jobset.v1alpha2.jobset.x-k8s.io"
    groups = ("podgroups.scheduling.x-k8s.io", "podgroups.scheduling.k8s.io")
    assert {"pods", custom, *groups, "workloads.scheduling.k8s.io"} <= asked
    assert asked - granted("dractl") == {custom}
    assert "*.jobset.x-k8s.io" in granted("dractl")
    facts = (driver_facts(name).objects for name in driver_names())
    assert {resource for objects in facts for resource in objects.values()} <= granted("dractl")
    assert granted("dractl-devices") < granted("dractl")


def test_commands_grant_what_the_deployed_role_grants() -> None:
    rules = [
        (group, resource)
        for rule in deployed_rules("dractl")
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    ]
    assert len(rules) == len(set(rules))
    assert set(rules) == {(g, name) for g, names in ROLE_RESOURCES.items() for name in names}


def test_a_name_of_several_groups_keeps_its_group() -> None:
    """kubectl create clusterrole takes a bare name for the resource of the first group."""
    names = ["events", "pods", "events.events.k8s.io", "secrets", "pods.metrics.k8s.io"]
    groups = ["podgroups.scheduling.k8s.io", "podgroups.scheduling.volcano.sh"]
    jobs = ["jobs.batch", "rayjobs.ray.io"]
    assert list_role_resources([*names, *groups, *jobs]) == (
        "events",
        "pods",
        "jobs",
        *groups,
        "rayjobs",
    )


def test_the_role_covers_custom_kinds_that_the_deployed_role_names() -> None:
    role = list_role_resources(["pods", "rayjobs.ray.io", "podgroups.scheduling.volcano.sh"])
    ray = Unread("RayJob", "rayjob.v1.ray.io")
    volcano = Unread("PodGroup", "podgroups.scheduling.volcano.sh")
    other = Unread("Train", "train.v1.example.com")
    for unread in (ray, volcano):
        grant = Rights((unread,), "jane", SERVED, role).full_grant
        assert grant.count("create clusterrole ") == 1
        assert (
            "create clusterrole dractl --verb=get,list --resource=pods,podgroups,rayjobs " in grant
        )
    grant = Rights((PODS, other), "jane", SERVED, role).full_grant
    assert "clusterrole dractl-train --verb=get,list --resource=train " in grant


def test_a_refusal_asks_what_the_server_serves(kubectl: Kubectl) -> None:  # noqa: F811
    names = "events\npods\nsecrets\nworkloads.scheduling.k8s.io\nclusterroles.rbac.authorization.k8s.io\n"
    served = {"api-resources": {"out": names}}
    kubectl.answers(**served)
    assert not live.read(live.Login(), everywhere=True, partly=True).state.rights.role
    assert not any("api-resources" in call for call in kubectl.calls)
    kubectl.answers(events={"err": FORBIDDEN.format("events"), "code": 1})
    (kubectl.folder / "answers").write_text(
        json.dumps({**json.loads((kubectl.folder / "answers").read_text()), **served})
    )
    rights = live.read(live.Login(), everywhere=True, partly=True).state.rights
    assert "--resource=events,pods,workloads,clusterroles " in rights.full_grant
    assert len([call for call in kubectl.calls if "api-resources" in call]) == 1


def test_one_grant_is_enough_after_a_refusal(kubectl: Kubectl) -> None:  # noqa: F811
    """A ReplicaSet owns the pod, and the user is not allowed to read it: that it is an owner is no reason to ask
    again."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a", "uid": "u"}
    refused = {"err": FORBIDDEN.format("replicasets"), "code": 1}
    kubectl.answers(
        pods=listed(pod("a", metadata={"ownerReferences": [owner]})), replicasets=refused
    )
    rights = live.read(live.Login(), everywhere=True, partly=True).state.rights
    assert [entry.resource for entry in rights.unread] == ["replicasets.apps"]
    resources = rights.full_grant.partition("--resource=")[2].partition(" ")[0].split(",")
    assert len(resources) == len(set(resources))
    assert {"replicasets", "resourceslices", "devicetaintrules", "events"} <= set(resources)


def test_a_resource_absent_from_the_release_is_not_granted(kubectl: Kubectl) -> None:  # noqa: F811
    """kubectl create clusterrole refuses a resource that the server does not have."""
    unknown = 'error: the server doesn\'t have a resource type "devicetaintrules"'
    kubectl.answers(
        devicetaintrules={"err": unknown, "code": 1},
        events={"err": FORBIDDEN.format("events"), "code": 1},
    )
    rights = live.read(live.Login(), everywhere=True, partly=True).state.rights
    assert "resourceslices" in rights.full_grant
    assert "devicetaintrules" not in rights.full_grant
