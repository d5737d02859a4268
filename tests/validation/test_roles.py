"""Roles of drivers: kubernetes/kubernetes v1.37.1 pkg/registry/resource/utils.go, and the library of drivers
(k8s.io/dynamic-resource-allocation kubeletplugin, resourceslice)."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.model import Target
from dractl.validation.roles import RoleFault, binding_of, companions, concerns_drivers, find_faults

SLICES = ["list", "watch", "create", "update", "delete"]


def rule(resources: str, verbs: list[str], group: str = "resource.k8s.io", **more: Any) -> Any:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs, **more}


NODES, CLAIMS = rule("nodes", ["get"], ""), rule("resourceclaims", ["get"])
STATUS = rule("resourceclaims/status", ["patch", "update"])
DRIVER = rule(
    "resourceclaims/driver",
    ["associated-node:patch", "associated-node:update"],
    resourceNames=["dra.net"],
)
PUBLISHER = [NODES, CLAIMS, rule("resourceslices", SLICES)]


def role(*rules: Any, kind: str = "ClusterRole", name: str = "driver", **metadata: Any) -> Any:
    return {"kind": kind, "metadata": {"name": name, **metadata}, "rules": list(rules)}


def faults(value: Any, release: str = "1.37", *others: Any, **more: Any) -> tuple[RoleFault, ...]:
    return find_faults(value, Target.of(release), others, **more)


def test_role_of_a_driver_without_status_writes_is_enough() -> None:
    assert faults(role(*PUBLISHER)) == ()  # such as ROCm/k8s-gpu-dra-driver


def test_the_role_of_dranet_is_enough() -> None:
    assert faults(role(*PUBLISHER, STATUS, DRIVER)) == ()


@pytest.mark.parametrize(("release", "count"), [("1.35", 0), ("1.36", 1), ("1.37", 1)])
def test_the_status_needs_the_verbs_of_drivers_from_1_36_on(release: str, count: int) -> None:
    found = faults(role(*PUBLISHER, STATUS), release)
    assert [fault.kind for fault in found] == ["status"] * count
    for fault in found:
        assert fault.path == ("rules", 3, "resources", 0)
        assert "associated-node:update" in fault.message
        assert fault.rule["resources"] == ["resourceclaims/driver"]


def test_the_gate_decides() -> None:
    off = Target.of("1.37", {"DRAResourceClaimGranularStatusAuthorization": False})
    assert find_faults(role(*PUBLISHER, STATUS), off) == ()


def test_plain_verbs_of_the_driver_resource_are_never_asked_for() -> None:
    (fault,) = faults(role(*PUBLISHER, STATUS, rule("resourceclaims/driver", ["update"])))
    assert fault.path == ("rules", 4, "verbs")
    assert "associated-node:update" in fault.message


@pytest.mark.parametrize(
    "granted",
    [
        rule("resourceclaims/driver", ["arbitrary-node:update"]),
        rule("resourceclaims/driver", ["*"]),
        rule("*", ["*"]),
        rule("*/driver", ["associated-node:patch"]),
        rule("resourceclaims/binding", ["update"]),  # an allocator: kube-scheduler and its kind
        rule("resourceclaims/status", ["update"], "*") | {"resources": ["*"]},
    ],
)
def test_rule_matched_by_the_authorizer_is_enough(granted: Any) -> None:
    assert faults(role(*PUBLISHER, STATUS, granted)) == ()


def test_another_role_of_the_account_counts() -> None:
    lone = role(*PUBLISHER, STATUS)
    assert faults(lone, "1.37", role(DRIVER, name="more")) == ()


def test_a_role_of_a_namespace_grants_no_binding() -> None:
    binding = role(rule("resourceclaims/binding", ["update"]), kind="Role", name="more")
    assert [fault.kind for fault in faults(role(STATUS), "1.37", binding)] == ["status"]


def test_missing_verbs_of_slices_are_named() -> None:
    (fault,) = faults(role(NODES, CLAIMS, rule("resourceslices", ["create", "update", "delete"])))
    assert (fault.kind, fault.path) == ("slices", ("rules", 2, "verbs"))
    assert fault.rule["verbs"] == ["list", "watch"]


def test_a_driver_reads_its_node_and_its_claims() -> None:
    slices = rule("resourceslices", SLICES)
    assert [(f.kind, f.sure) for f in faults(role(slices, CLAIMS))] == [("nodes", True)]
    assert [(f.kind, f.sure) for f in faults(role(slices, NODES))] == [("claims", True)]
    # kernel-module-management#1840; but a controller that publishes devices of no node asks for neither
    assert {f.sure for f in faults(role(slices))} == {False}
    assert {f.sure for f in faults(role(slices), on_nodes=True)} == {True}


def test_a_rule_for_some_names_grants_none_of_the_others() -> None:
    """rbac/v1/evaluation_helpers.go ResourceNameMatches: a list has no name, and claims have any."""
    slices = rule("resourceslices", SLICES)
    limited = rule("resourceclaims", ["get"], resourceNames=["one"])
    assert [f.kind for f in faults(role(slices, NODES, limited))] == ["claims"]
    node = rule("nodes", ["get"], "", resourceNames=["node-1"])
    assert [f.kind for f in faults(role(slices, CLAIMS, node))] == ["nodes"]


def test_slices_are_in_no_namespace() -> None:
    (fault,) = faults(role(*PUBLISHER, kind="Role", namespace="drivers"))
    assert (fault.kind, fault.path) == ("scope", ("rules", 2, "resources", 0))


def test_readers_and_roles_completed_elsewhere_are_left_alone() -> None:
    assert faults(role(rule("resourceslices resourceclaims", ["get", "list", "watch"]))) == ()
    part = role(STATUS, labels={"rbac.authorization.k8s.io/aggregate-to-admin": "true"})
    bootstrap = role(STATUS, labels={"kubernetes.io/bootstrapping": "rbac-defaults"})
    assert faults(part) == faults(bootstrap) == ()
    assert faults({**role(STATUS), "aggregationRule": {}}) == ()
    assert faults(role(rule("*", ["*"], "*"))) == ()


def test_values_of_the_wrong_type_are_no_rules() -> None:
    assert faults(role("x", None, {"apiGroups": 1, "resources": [{}], "verbs": "get"})) == ()
    assert faults({"kind": "ClusterRole", "rules": {"a": 1}, "metadata": []}) == ()
    assert binding_of({"kind": "RoleBinding", "roleRef": [], "subjects": 3}) is None
    assert not concerns_drivers({"kind": "Role", "rules": 3})


def bound(name: str, account: str) -> Any:
    return binding_of(
        {
            "kind": "ClusterRoleBinding",
            "roleRef": {"kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "namespace": "drivers", "name": account}],
        }
    )


def test_companions_share_an_account() -> None:
    one, two, three = (role(name=name) for name in "abc")
    bindings = [bound("a", "plugin"), bound("b", "plugin"), bound("c", "controller")]
    assert companions(one, [one, two, three], bindings) == [two]
    assert companions(one, [one, two, three], []) == [two, three]


def test_roles_of_another_namespace_are_no_companions() -> None:
    """A RoleBinding binds a Role of its own namespace (rbac/v1 RoleRef)."""
    one, two = (role(kind="Role", name=name, namespace="drivers") for name in "ab")
    elsewhere = role(kind="Role", name="b", namespace="other")
    bindings = [
        binding_of(
            {
                "kind": "RoleBinding",
                "metadata": {"name": name, "namespace": "drivers"},
                "roleRef": {"kind": "Role", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": "plugin"}],
            }
        )
        for name in "ab"
    ]
    assert companions(one, [one, two, elsewhere], [b for b in bindings if b is not None]) == [two]


def test_an_administrator_may_do_everything() -> None:
    lone = role(STATUS, name="a")
    others = companions(lone, [lone], [bound("a", "plugin"), bound("cluster-admin", "plugin")])
    assert faults(lone, "1.37", *others) == ()
