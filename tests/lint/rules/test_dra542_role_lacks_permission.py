"""DRA542 role-lacks-permission and DRA807 status-needs-permission, in the input that the role stands in."""

from __future__ import annotations

from tests.lint.written import documents, found, marked

HEAD = "apiVersion: rbac.authorization.k8s.io/v1\n"
RULE = "- {{apiGroups: [resource.k8s.io], resources: [{}], verbs: [{}]}}\n"
SLICES = RULE.format("resourceslices", "list, watch, create, update, delete")
CLAIMS = RULE.format("resourceclaims", "get")
STATUS = RULE.format("resourceclaims/status", "update")
DRIVER = RULE.format("resourceclaims/driver", '"associated-node:update"')


def role(name: str, *rules: str) -> str:
    return f"{HEAD}kind: ClusterRole\nmetadata: {{name: {name}}}\nrules:\n{''.join(rules)}"


def bind_role(name: str, account: str) -> str:
    return (
        f"{HEAD}kind: ClusterRoleBinding\nmetadata: {{name: {name}-{account}}}\n"
        f"roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {name}}}\n"
        f"subjects: [{{kind: ServiceAccount, namespace: drivers, name: {account}}}]\n"
    )


DAEMON_SET = (
    "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: plugin, namespace: drivers}\nspec:\n"
    "  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n"
    "    spec: {serviceAccountName: plugin, containers: [{name: c, image: x}]}\n"
)


def test_a_controller_may_do_without_nodes_and_claims() -> None:
    controller = role("one", SLICES)
    assert {f.severity for f in found(controller, "DRA542")} == {"info"}
    on_nodes = documents(controller, bind_role("one", "plugin"), DAEMON_SET)
    assert {f.severity for f in found(on_nodes, "DRA542")} == {"warning"}


def test_the_place_is_the_rule_about_slices() -> None:
    (finding,) = found(role("one", CLAIMS, SLICES), "DRA542")
    assert finding.path == "rules[1]"


def test_roles_of_one_account_are_taken_together() -> None:
    both = documents(
        role("one", STATUS), role("two", DRIVER), bind_role("one", "a"), bind_role("two", "a")
    )
    assert found(both, "DRA807") == []
    others = documents(
        role("one", STATUS), role("two", DRIVER), bind_role("one", "a"), bind_role("two", "b")
    )
    (finding,) = found(others, "DRA807")
    assert marked(finding) == "resourceclaims/status"


def test_the_release_decides() -> None:
    assert found(role("one", STATUS), "DRA807", "1.35") == []
    assert len(found(role("one", STATUS), "DRA807", "1.36")) == 1
