"""Configurations of components beside releases that have removed a gate, or locked it: what starts, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.cluster import ClusterState
from dractl.cluster.sources import from_objects
from dractl.manifests import load
from dractl.upgrade import Finding, Input, UpgradeInput, plan, settings_of_documents
from tests.explain.cluster import claim, device, request, slice_of

ON, OFF = "true", "false"


def kubelet(gate: str, value: str = ON) -> str:
    return f"apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates: {{{gate}: {value}}}\n"


def proxy(gate: str, value: str = ON) -> str:
    return f"apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nfeatureGates: {{{gate}: {value}}}\n"


def cluster(part: str, gate: str, value: str = ON, version: str = "v1beta4") -> str:
    arguments = f"[{{name: feature-gates, value: {gate}={value}}}]" if version == "v1beta4" else f"{{feature-gates: {gate}={value}}}"  # fmt: skip
    return f"apiVersion: kubeadm.k8s.io/{version}\nkind: ClusterConfiguration\n{part}: {{extraArgs: {arguments}}}\n"


def join(gate: str, value: str = ON) -> str:
    return f"apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\nnodeRegistration: {{kubeletExtraArgs: {{feature-gates: '{gate}={value}'}}}}\n"


def static_pod(program: str, *words: str) -> str:
    listed = ", ".join(f"'{word}'" for word in (program, *words))
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {program}, namespace: kube-system}}\nspec: {{containers: [{{name: main, command: [{listed}]}}]}}\n"


def config_map(text: str) -> str:
    body = "".join(f"    {line}\n" for line in text.splitlines())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: kubelet-config, namespace: kube-system}}\ndata:\n  kubelet: |\n{body}"


def cluster_api(kind: str, gate: str, value: str = ON) -> str:
    inner = (
        f"clusterConfiguration: {{scheduler: {{extraArgs: {{feature-gates: '{gate}={value}'}}}}}}"
    )
    joins = f"joinConfiguration: {{nodeRegistration: {{kubeletExtraArgs: {{feature-gates: '{gate}={value}'}}}}}}"
    if kind == "KubeadmControlPlane":
        group, spec = "controlplane", f"{{kubeadmConfigSpec: {{{inner}}}}}"
    else:
        group, spec = "bootstrap", f"{{template: {{spec: {{{joins}}}}}}}"
    return f"apiVersion: {group}.cluster.x-k8s.io/v1beta1\nkind: {kind}\nmetadata: {{name: c}}\nspec: {spec}\n"


DRA = "DynamicResourceAllocation"
# The end of each gate: sig-release release notes of 1.34 to 1.37, CHANGELOG-1.38.md (kubernetes#141946, #140256, #141714).
BREAK = [
    (kubelet(DRA), "1.37", "1.38"),
    (kubelet("DRADeviceTaints", OFF), "1.37", "1.38"),
    (kubelet("KubeletTracing"), "1.36", "1.38"),
    (kubelet("SidecarContainers"), "1.36", "1.37"),
    (kubelet("DRAAdminAccess", OFF), "1.35", "1.36"),
    (kubelet("DRAPrioritizedList", OFF), "1.36", "1.37"),
    (proxy(DRA), "1.37", "1.38"),
    (cluster("apiServer", DRA), "1.37", "1.38"),
    (cluster("scheduler", DRA, version="v1beta3"), "1.37", "1.38"),
    (join(DRA), "1.34", "1.38"),
    (static_pod("kube-scheduler", f"--feature-gates=A=false,{DRA}=true"), "1.37", "1.38"),
    (static_pod("kube-apiserver", "--feature-gates", "ConsistentListFromCache=true"), "1.36", "1.37"),
    (config_map(kubelet(DRA)), "1.37", "1.38"),
    (cluster_api("KubeadmControlPlane", DRA), "1.37", "1.38"),
    (cluster_api("KubeadmConfigTemplate", DRA), "1.37", "1.38"),
    (kubelet("DRAControlPlaneController", OFF), "1.31", "1.32"),
]  # fmt: skip
START = [
    (kubelet(DRA), "1.34", "1.37"),
    (kubelet("DRADeviceTaints", ON), "1.37", "1.38"),
    (kubelet("KubeletTracing"), "1.36", "1.37"),
    (kubelet("SidecarContainers"), "1.34", "1.36"),
    (kubelet("DRAAdminAccess", ON), "1.34", "1.37"),
    (kubelet("DRAConsumableCapacity", OFF), "1.34", "1.38"),
    (proxy("DRAPartitionableDevices"), "1.37", "1.38"),
    (cluster("apiServer", "DRAExtendedResource"), "1.35", "1.38"),
    (cluster("etcd", DRA), "1.37", "1.38"),
    (join("GracefulNodeShutdown"), "1.34", "1.38"),
    (static_pod("kube-scheduler", "--v=2"), "1.37", "1.38"),
    (static_pod("my-controller", f"--feature-gates={DRA}=true"), "1.37", "1.38"),
    (config_map("a: b\n"), "1.37", "1.38"),
    (cluster_api("KubeadmControlPlane", "DRAPartitionableDevices"), "1.37", "1.38"),
    (f"apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nfeatureGates: {{{DRA}: true}}\n", "1.37", "1.38"),
]  # fmt: skip


def findings(text: str, start: str, to: str, *objects: dict[str, Any]) -> list[Finding]:
    documents = load(["-"], stdin=text.encode(), relevant_only=False).documents
    settings = tuple(settings_of_documents(documents))
    compared = UpgradeInput(tuple(map(Input, objects)), ClusterState({}), settings=settings)
    return [one for step in plan(compared, start, to).steps for one in step.findings]


@pytest.mark.parametrize(("text", "start", "to"), BREAK)
def test_component_failing_to_start_breaks(text: str, start: str, to: str) -> None:
    broken = [one for one in findings(text, start, to) if one.level == "breaks"]
    assert broken
    assert {one.code for one in broken} <= {"gate-removed", "gate-locked"}


@pytest.mark.parametrize(("text", "start", "to"), START)
def test_starting_component_does_not_break(text: str, start: str, to: str) -> None:
    assert not [one for one in findings(text, start, to) if one.level == "breaks"]


def test_there_are_enough_of_both() -> None:
    assert len(BREAK) >= 12
    assert len(START) >= 12


def test_gate_with_a_changed_default_is_named_with_dependent_objects() -> None:
    """DRAConsumableCapacity: alpha in 1.34, on by default from 1.36 on (pkg/features/kube_features.go)."""
    asks = request("r", "gpu", capacity={"requests": {"memory": "1Gi"}})
    state = from_objects([claim("shares", asks), claim("plain", request("r", "gpu"))])
    steps = plan(UpgradeInput((), state), "1.35", "1.36").steps
    found = [one for step in steps for one in step.findings if one.code == "gate-default"]
    (finding,) = found
    assert finding.objects == ("ResourceClaim/ml/shares",)
    assert finding.message == (
        "DRAConsumableCapacity is on by default from Kubernetes 1.36 on: "
        "spec.devices.requests[].exactly.capacity takes effect"
    )
    set_by_hand = UpgradeInput((), state, {"DRAConsumableCapacity": True})
    steps = plan(set_by_hand, "1.35", "1.36").steps
    assert not [one for step in steps for one in step.findings if one.code == "gate-default"]


def test_gate_dependent_manifest_is_named_once_with_the_gate() -> None:
    shared = slice_of("gpu.example.com", "n1", {**device("g"), "allowMultipleAllocations": True})
    found = [one for one in findings("", "1.35", "1.36", shared) if one.level == "changes"]
    (finding,) = found
    assert finding.code == "field-kept"
    assert finding.message.endswith("in effect from 1.36 on, with DRAConsumableCapacity")


@pytest.mark.parametrize(("value", "stays", "fix"), [(OFF, "off", None), (ON, "on", "remove DRAConsumableCapacity")])  # fmt: skip
def test_gate_set_in_a_file_keeps_its_value(value: str, stays: str, fix: str | None) -> None:
    text = cluster("apiServer", "DRAConsumableCapacity", value)
    (finding,) = [one for one in findings(text, "1.35", "1.36") if one.code == "gate-default"]
    assert finding.level == "info"
    assert f"it stays {stays} at <stdin>:" in finding.message
    assert finding.fix == fix


def role(*rules: dict[str, Any], name: str = "driver") -> dict[str, Any]:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": list(rules),
    }


STATUS = {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/status"], "verbs": ["update"]}  # fmt: skip
OF_DRIVER = {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims/driver"], "verbs": ["associated-node:update"]}  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "start", "to", "broken"),
    [
        ((STATUS,), "1.35", "1.36", True),
        ((STATUS,), "1.36", "1.37", False),
        ((STATUS,), "1.34", "1.35", False),
        ((STATUS, OF_DRIVER), "1.35", "1.36", False),
    ],
)
def test_role_writing_claim_status_breaks_without_the_new_permission(
    rules: tuple[dict[str, Any], ...], start: str, to: str, broken: bool
) -> None:
    """kubernetes#134947: status.devices needs a verb with a prefix on resourceclaims/driver, from 1.36 on."""
    compared = UpgradeInput((), from_objects([]), others=(role(*rules),))
    found = [one for step in plan(compared, start, to).steps for one in step.findings]
    roles = [one for one in found if one.code == "role-lacks-permission"]
    assert bool(roles) is broken
    if roles:
        assert roles[0].level == "breaks"
        assert roles[0].objects == ("ClusterRole/driver",)
        assert "associated-node:update" in str(roles[0].fix)
