"""Gates with which a component of the next release does not start.

k8s.io/component-base v0.38.0-alpha.2 featuregate/feature_gate.go: "unrecognized feature gate", "feature is locked to".
"""

from __future__ import annotations

from pathlib import Path

import pytest

from dractl.cluster import ClusterState
from dractl.manifests import load
from dractl.upgrade import Finding, UpgradeInput, plan, settings_of_documents, settings_of_objects

KUBELET = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
featureGates:
  GATE: VALUE
"""
V1BETA3 = """\
apiVersion: kubeadm.k8s.io/v1beta3
kind: ClusterConfiguration
PART:
  extraArgs:
    feature-gates: GATE=VALUE,Other=true
"""
V1BETA4 = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
PART:
  extraArgs:
  - {name: v, value: "4"}
  - {name: feature-gates, value: GATE=VALUE}
"""
NODE = """\
apiVersion: kubeadm.k8s.io/VERSION
kind: KIND
nodeRegistration:
  kubeletExtraArgs: ARGUMENTS
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: COMPONENT-node-1, namespace: kube-system}
spec:
  containers:
  - name: main
    command: [COMPONENT, --v=2, WORDS]
"""
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: kubelet-config, namespace: kube-system}
data:
  kubelet: |
    apiVersion: kubelet.config.k8s.io/v1beta1
    kind: KubeletConfiguration
    featureGates:
      GATE: VALUE
"""
KIND = """\
apiVersion: kind.x-k8s.io/v1alpha4
kind: Cluster
featureGates: {GATE: VALUE}
"""


def breaks(text: str, start: str = "1.37", to: str = "1.38") -> dict[str, list[Finding]]:
    """Return the breaks by step."""
    documents = load(["-"], stdin=text.encode(), relevant_only=False).documents
    settings = tuple(settings_of_documents(documents))
    steps = plan(UpgradeInput((), ClusterState({}), settings=settings), start, to).steps
    found = {step.step: [one for one in step.findings if one.level == "breaks"] for step in steps}
    return {step: findings for step, findings in found.items() if findings}


def written(text: str, gate: str = "DynamicResourceAllocation", value: str = "true") -> str:
    return text.replace("GATE", gate).replace("VALUE", value)


def arguments(version: str) -> str:
    name, value = "feature-gates", "DynamicResourceAllocation=true"
    if version == "v1beta3":
        return f"{{{name}: {value}}}"
    return f"[{{name: {name}, value: {value}}}]"


@pytest.mark.parametrize(
    ("text", "step", "component", "line"),
    [
        (KUBELET, "Nodes 1.38", "kubelet", 4),
        (V1BETA3.replace("PART", "apiServer"), "Kubernetes 1.38", "kube-apiserver", 5),
        (
            V1BETA3.replace("PART", "controllerManager"),
            "Kubernetes 1.38",
            "kube-controller-manager",
            5,
        ),
        (V1BETA4.replace("PART", "scheduler"), "Kubernetes 1.38", "kube-scheduler", 6),
        (CONFIG_MAP, "Nodes 1.38", "kubelet", 9),
        (KIND, "Kubernetes 1.38", "every component", 3),
    ],
)
def test_removed_gate_breaks_each_place_setting_it(
    text: str, step: str, component: str, line: int
) -> None:
    """CHANGELOG-1.38.md, kubernetes#141946"""
    found = breaks(written(text))
    (finding,) = found.pop(step)
    assert not found
    assert finding.code == "gate-removed"
    assert f"<stdin>:{line} keeps {component} from starting" in finding.message
    assert "unrecognized feature gate: DynamicResourceAllocation" in finding.message
    assert finding.fix == "remove DynamicResourceAllocation: Kubernetes 1.37 has it on by default"
    assert "kubernetes#141946" in str(finding.source)


@pytest.mark.parametrize("kind", ["InitConfiguration", "JoinConfiguration"])
@pytest.mark.parametrize("version", ["v1beta3", "v1beta4"])
def test_a_removed_gate_in_kubelet_flags_of_kubeadm(kind: str, version: str) -> None:
    text = NODE.replace("KIND", kind).replace("VERSION", version)
    (finding,) = breaks(text.replace("ARGUMENTS", arguments(version)))["Nodes 1.38"]
    assert finding.objects == (f"{kind}/<stdin>",)


@pytest.mark.parametrize(
    "words",
    [
        "--feature-gates=DynamicResourceAllocation=true",
        "--feature-gates, DynamicResourceAllocation=true",
        "'--feature-gates=kube:DynamicResourceAllocation=true,Other=false'",
    ],
)
@pytest.mark.parametrize(
    "component", ["kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubelet"]
)
def test_a_removed_gate_in_the_flags_of_a_static_pod(component: str, words: str) -> None:
    text = POD.replace("COMPONENT", component).replace("WORDS", words)
    ((step, (finding,)),) = breaks(text).items()
    assert step == ("Nodes 1.38" if component == "kubelet" else "Kubernetes 1.38")
    assert finding.objects == (f"Pod/kube-system/{component}-node-1",)


def test_a_pod_of_a_running_cluster() -> None:
    pod = load(
        ["-"],
        stdin=POD.replace("COMPONENT", "kube-scheduler")
        .replace("WORDS", "--feature-gates=DynamicResourceAllocation=true")
        .encode(),
        relevant_only=False,
    ).documents[0]
    (setting,) = settings_of_objects([pod.value])
    assert setting.place == "Pod/kube-system/kube-scheduler-node-1"


@pytest.mark.parametrize("gate", ["DRADeviceTaints", "DRADeviceTaintRules"])
def test_gate_locked_the_other_way_breaks(gate: str) -> None:
    """CHANGELOG-1.38.md, kubernetes#140256"""
    (finding,) = breaks(written(KUBELET, gate, "false"))["Nodes 1.38"]
    assert finding.code == "gate-locked"
    assert f"cannot set feature gate {gate} to false" in finding.message
    assert not breaks(written(KUBELET, gate, "true"))


def test_a_gate_of_another_group_breaks_where_it_was_removed() -> None:
    """sig-release release-1.37 notes, kubernetes#137755; CHANGELOG-1.38.md, kubernetes#141714"""
    assert [*breaks(written(KUBELET, "SidecarContainers"), "1.36", "1.37")] == ["Nodes 1.37"]
    assert not breaks(written(KUBELET, "SidecarContainers"), "1.37", "1.38")
    assert not breaks(written(KUBELET, "KubeletTracing"), "1.36", "1.37")
    assert [*breaks(written(KUBELET, "KubeletTracing"), "1.36", "1.38")] == ["Nodes 1.38"]


def test_flags_of_other_programs_and_gates_of_kubeadm_set_nothing() -> None:
    text = POD.replace("COMPONENT", "my-controller").replace(
        "WORDS", "--feature-gates=DynamicResourceAllocation=true"
    )
    own = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nfeatureGates: {DynamicResourceAllocation: true}\n"
    assert not breaks(f"{text}---\n{own}")


def test_gates_of_the_command_line_are_judged_as_a_component_s() -> None:
    steps = plan(
        UpgradeInput((), ClusterState({}), {"DynamicResourceAllocation": True}), "1.37", "1.38"
    ).steps
    (finding,) = [one for step in steps for one in step.findings if one.level == "breaks"]
    assert "--feature-gates keeps a component from starting" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates: [a]\n",
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\napiServer: {extraArgs: [1, {name: feature-gates}]}\n",
        "apiVersion: kubeadm.k8s.io/v1beta3\nkind: JoinConfiguration\nnodeRegistration: x\n",
        POD.replace("COMPONENT", "kubelet").replace("WORDS", "--feature-gates"),
        POD.replace("COMPONENT", "kubelet").replace("WORDS", "--feature-gates=A=maybe"),
        CONFIG_MAP.replace("GATE: VALUE", "- ["),
    ],
)
def test_unreadable_settings_break_nothing(text: str) -> None:
    assert not breaks(text)


def test_files_without_anything_of_dra_are_read_for_gates(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from dractl.cli.main import main

    (tmp_path / "kubelet.yaml").write_text(written(KUBELET))
    (tmp_path / "notes.yaml").write_text("a: [b\n")
    options = ["--isolated", "-q", "--from", "1.37", "--to", "1.38", "-o", "name"]
    assert main(["upgrade", str(tmp_path), *options]) == 1
    assert capsys.readouterr().out == "KubeletConfiguration/kubelet.yaml\n"
