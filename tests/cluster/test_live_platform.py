"""Roles, webhooks and admission policies of a live cluster, and what is said where reading them is not allowed."""

from __future__ import annotations

import pytest
import yaml

from dractl.cli.main import main
from dractl.cluster.live_platform import read_platform
from dractl.errors import InputError
from dractl.inputs.kubectl import Login
from tests.cluster.test_live import FORBIDDEN, Kubectl, kubectl, listed  # noqa: F401
from tests.cluster.test_rights import granted
from tests.explain.cluster import slice_of

NV = "gpu.nvidia.com"
RBAC = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
WEBHOOK = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "claims"},
    "webhooks": [
        {
            "name": "claims.example.com",
            "rules": [
                {
                    "apiGroups": ["resource.k8s.io"],
                    "apiVersions": ["v1beta1"],
                    "operations": ["CREATE"],
                    "resources": ["resourceclaims"],
                }
            ],
        }
    ],
}


def role(name: str) -> dict[str, object]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": [
            {
                "apiGroups": ["resource.k8s.io"],
                "resources": ["resourceslices"],
                "verbs": ["get", "list", "watch", "create", "update", "delete"],
            },
            {
                "apiGroups": ["resource.k8s.io"],
                "resources": ["resourceclaims/status"],
                "verbs": ["update"],
            },
        ],
    }


def refused(resource: str) -> dict[str, object]:
    return {"err": FORBIDDEN.format(resource), "code": 1}


def test_objects_of_every_kind_are_read(kubectl: Kubectl) -> None:  # noqa: F811
    kubectl.answers(
        clusterroles=listed(role("driver")), validatingwebhookconfigurations=listed(WEBHOOK)
    )
    platform = read_platform(Login(), lambda _: None)
    assert [value["kind"] for value in platform.objects] == [
        "ClusterRole",
        "ValidatingWebhookConfiguration",
    ]
    assert {"Role", "RoleBinding", "MutatingAdmissionPolicy"} <= platform.read
    assert not platform.forbidden


def test_a_refused_kind_is_forbidden_and_the_others_are_read(kubectl: Kubectl) -> None:  # noqa: F811
    kubectl.answers(
        clusterroles=refused("clusterroles"), clusterrolebindings=listed(), roles=refused("roles")
    )
    platform = read_platform(Login(), lambda _: None)
    assert platform.forbidden == {"ClusterRole", "Role"}
    assert "ClusterRoleBinding" in platform.read


def test_a_policy_that_the_release_does_not_serve_is_no_failure(kubectl: Kubectl) -> None:  # noqa: F811
    unknown = 'error: the server doesn\'t have a resource type "mutatingadmissionpolicies"'
    kubectl.answers(mutatingadmissionpolicies={"err": unknown, "code": 1})
    assert not read_platform(Login(), lambda _: None).objects


def definition(group: str) -> dict[str, object]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"kinds.{group}"},
        "spec": {"group": group},
    }


def test_definitions_of_programs_that_read_no_claims_are_left_out(kubectl: Kubectl) -> None:  # noqa: F811
    """Kueue and Karpenter are among the programs of helpers.json, cert-manager is not."""
    groups = ("kueue.x-k8s.io", "cert-manager.io", "karpenter.sh")
    kubectl.answers(customresourcedefinitions=listed(*map(definition, groups)))
    names = [value["metadata"]["name"] for value in read_platform(Login(), lambda _: None).objects]
    assert names == ["kinds.kueue.x-k8s.io", "kinds.karpenter.sh"]


def test_a_cluster_without_kubevirt_is_no_failure(kubectl: Kubectl) -> None:  # noqa: F811
    unknown = 'error: the server doesn\'t have a resource type "kubevirts"'
    kubectl.answers(kubevirts={"err": unknown, "code": 1})
    assert "KubeVirt" not in read_platform(Login(), lambda _: None).forbidden


def test_another_failure_is_an_error(kubectl: Kubectl) -> None:  # noqa: F811
    kubectl.answers(clusterroles={"err": "error: etcdserver: request timed out\n", "code": 1})
    with pytest.raises(InputError, match="clusterroles"):
        read_platform(Login(), lambda _: None)


def test_the_deployed_role_allows_them(kubectl: Kubectl) -> None:  # noqa: F811
    kubectl.answers()
    read_platform(Login(), lambda _: None)
    gets = [call[call.index("get") + 1] for call in kubectl.calls if "get" in call]
    asked = {resource for words in gets for resource in words.split(",")}
    assert len(asked) == 10
    assert asked <= granted("dractl")


def upgrade(capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, object]]:
    code = main(["upgrade", "--from", "1.35", "--to", "1.36", "-o", "yaml", "--isolated"])
    return code, yaml.safe_load(capsys.readouterr().out)


def test_upgrade_of_a_cluster_judges_its_roles(
    kubectl: Kubectl,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    """From 1.36 on a driver that writes the status of claims needs a verb of resourceclaims/driver
    (kubernetes/kubernetes#134947)."""
    kubectl.answers(
        resourceslices=listed(slice_of(NV, "node-1")), clusterroles=listed(role("driver"))
    )
    code, report = upgrade(capsys)
    codes = [one for step in report["steps"] for one in step["findings"]]  # type: ignore[attr-defined]
    assert code == 1
    assert ["ClusterRole/driver"] in [
        one["objects"] for one in codes if one["code"] == "role-lacks-permission"
    ]
    assert "roles of drivers" not in str(report["notCompared"])
    assert "webhooks of" not in str(report["notCompared"])


def test_roles_that_may_not_be_read_are_one_row_of_what_is_not_compared(
    kubectl: Kubectl,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers = {resource: refused(resource) for resource in RBAC}
    kubectl.answers(resourceslices=listed(slice_of(NV, "node-1")), **answers)
    _, report = upgrade(capsys)
    rows = [row for row in report["notCompared"] if "roles of drivers" in row]  # type: ignore[attr-defined]
    (row,) = rows
    assert row == (
        "the roles of drivers: you are not allowed to read ClusterRole, Role, ClusterRoleBinding, RoleBinding"
    )


KUBEVIRT = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "KubeVirt",
    "metadata": {"name": "kubevirt", "namespace": "kubevirt", "uid": "kubevirt"},
    "spec": {"configuration": {"developerConfiguration": {"featureGates": ["GPUsWithDRA"]}}},
}


def virt_handler(tag: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "virt-handler", "namespace": "kubevirt", "uid": "handler"},
        "spec": {
            "containers": [{"name": "handler", "image": f"quay.io/kubevirt/virt-handler:{tag}"}]
        },
    }


@pytest.mark.parametrize(("objects", "level"), [((KUBEVIRT,), "breaks"), ((), "changes")])
def test_the_gates_of_kubevirt_decide_whether_it_breaks(
    kubectl: Kubectl,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
    objects: tuple[dict[str, object], ...],
    level: str,
) -> None:
    """KubeVirt 1.7 reads claims in v1beta1 alone (kubevirt/kubevirt@v1.7.0), behind a gate of its own
    kind. 1.38 serves v1 alone by default."""
    kubectl.answers(pods=listed(virt_handler("v1.7.0")), kubevirts=listed(*objects))
    main(["upgrade", "--from", "1.37", "--to", "1.38", "-o", "yaml", "--isolated"])
    report = yaml.safe_load(capsys.readouterr().out)
    findings = [one for step in report["steps"] for one in step["findings"]]
    (finding,) = [one for one in findings if one["code"] == "program-api"]
    assert finding["level"] == level


def test_definitions_name_the_programs_whose_version_is_unseen(
    kubectl: Kubectl,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    kubectl.answers(customresourcedefinitions=listed(definition("kubevirt.io")))
    main(["upgrade", "--from", "1.37", "--to", "1.38", "-o", "yaml", "--isolated"])
    rows = yaml.safe_load(capsys.readouterr().out)["notCompared"]
    assert [row for row in rows if "which version of the API KubeVirt speaks" in row]


def test_definitions_that_may_not_be_read_are_not_compared(
    kubectl: Kubectl,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    kubectl.answers(customresourcedefinitions=refused("customresourcedefinitions"))
    main(["upgrade", "--from", "1.37", "--to", "1.38", "-o", "yaml", "--isolated"])
    rows = yaml.safe_load(capsys.readouterr().out)["notCompared"]
    assert "programs that read claims: you are not allowed to read CustomResourceDefinition" in rows
