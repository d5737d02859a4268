"""Known breakages, and what has to be done before a step."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.facts.known import breakages
from dractl.upgrade import UpgradeInput, plan
from dractl.upgrade.finding import Step, steps_before_nodes
from dractl.upgrade.known import CONTROL_PLANE, faults_of_release
from dractl.views import Node
from tests.explain.cluster import slice_of, state_of


def node(kubelet: str, runtime: str = "containerd://2.1.0", name: str = "node-1") -> dict[str, Any]:
    info = {"kubeletVersion": kubelet, "containerRuntimeVersion": runtime}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"nodeInfo": info},
    }


def told(*objects: dict[str, Any], start: str = "1.34", to: str = "1.35") -> list[tuple[str, str]]:
    found = plan(UpgradeInput((), state_of(*objects)), start, to)
    return [
        (one.level, one.message)
        for step in found.steps
        for one in step.findings
        if one.code == "known-problem"
    ]


@pytest.mark.parametrize(
    ("kubelet", "runtime", "word"),
    [
        ("v1.34.1", "containerd://2.1.0", "idle for 30 minutes"),  # kubernetes/kubernetes#133920
        ("v1.34.3+k3s1", "containerd://2.1.0", "already prepared"),  # kubernetes/kubernetes#135919
        (
            "v1.34.9",
            "containerd://1.6.33",
            "CDI devices from kubelet",
        ),  # kubernetes/kubernetes#125210
        ("v1.34.9", "containerd://1.7.29", "NRI plugin"),  # containerd/containerd#12650
        ("v1.34.9", "docker://29.4.0", "cri-dockerd"),  # Mirantis/cri-dockerd#558
        ("v1.34.3", "containerd://2.1.0", "already prepared"),  # CHANGELOG-1.34.md: fixed in 1.34.4
    ],
)
def test_versions_of_nodes_are_compared_with_known_faults(
    kubelet: str, runtime: str, word: str
) -> None:
    found = told(node(kubelet, runtime))
    assert any(level == "changes" and word in message for level, message in found), found


def test_nothing_is_known_of_a_release_to_come() -> None:
    assert (
        list(faults_of_release(CONTROL_PLANE, "1.99"))
        == list(faults_of_release(("kubelet",), "1.99"))
        == []
    )
    assert list(faults_of_release(("kubelet",), "1.99.1")) == []


def test_each_drained_kubelet_is_named_once() -> None:
    nodes = [
        node(kubelet, name=f"n{number}")
        for number, kubelet in enumerate(("v1.35.2", "v1.36.0", "v1.35.1", "v1.37.0"))
    ]
    (step,) = steps_before_nodes("1.37", (), map(Node, nodes))
    assert step == "drain n0, n1, n2 one by one (kubelet 1.35, 1.36)"


def test_fixed_versions_are_not_reported() -> None:
    found = told(
        node("v1.34.5", "containerd://1.7.30"), node("v1.34.5", "cri-o://1.34.0", "node-2")
    )
    fixed = ("idle for 30 minutes", "already prepared", "CDI devices from kubelet", "NRI plugin")
    assert found
    running = [text for _, text in found if text.startswith(("kubelet v", "containerd", "cri-o"))]
    assert [text for text in running if any(words in text for words in fixed)] == []


def test_the_version_upgraded_to_breaks() -> None:
    """kubernetes/kubernetes CHANGELOG-1.35.md: fixed in 1.35.1 and 1.35.6."""
    found = plan(UpgradeInput((), state_of()), "1.34", "1.35.0")
    said = {step.step: [(one.level, one.message) for one in step.findings] for step in found.steps}
    assert [level for level, text in said["Nodes 1.35"] if "already prepared" in text] == ["breaks"]
    broken = [text for level, text in said["Kubernetes 1.35"] if level == "breaks"]
    assert [text.partition(":")[0] for text in broken] == ["kube-scheduler 1.35.0"] * 3
    assert any("panics" in text for text in broken)
    assert any("allocated to two claims" in text for _, text in said["Kubernetes 1.35"])
    found = plan(UpgradeInput((), state_of()), "1.34", "1.35.6")
    (broken_still,) = [
        one for step in found.steps for one in step.findings if one.level == "breaks"
    ]
    assert "extendedResourceName" in broken_still.message  # kubernetes#141110, fixed in 1.38.0
    assert [step.step for step in plan(UpgradeInput((), state_of()), "1.34", "1.34.1").steps] == [
        "Nodes 1.34"
    ]


def test_first_patches_of_the_release_are_named() -> None:
    """A cluster that goes to 1.36 hears of what 1.36.0 to 1.36.2 have (CHANGELOG-1.36.md)."""
    found = plan(UpgradeInput((), state_of(node("v1.35.9"))), "1.35", "1.36")
    (step,) = [step for step in found.steps if step.step == "Kubernetes 1.36"]
    told_of = [(one.level, one.message.partition(":")[0], one.fix) for one in step.findings]
    assert ("info", "kube-scheduler before 1.36.3", "use kube-scheduler 1.36.3 or later") in told_of
    assert all(one.source and one.date for one in step.findings)


def test_nodes_are_a_step_after_the_control_plane() -> None:
    found = plan(
        UpgradeInput((), state_of(node("v1.35.9"), node("v1.36.4", name="node-2"))), "1.35", "1.37"
    )
    assert [step.step for step in found.steps] == [
        "Kubernetes 1.36",
        "Kubernetes 1.37",
        "Nodes 1.37",
    ]
    assert found.steps[-1].before == ("drain node-1, node-2 one by one (kubelet 1.35, 1.36)",)


def test_the_faults_of_the_last_release_belong_to_the_last_step() -> None:
    found = plan(UpgradeInput((), state_of(node("v1.34.9"))), "1.34", "1.36")
    faulty = [
        step.step
        for step in found.steps
        if any(one.message.startswith("kube-scheduler before 1.36.3") for one in step.findings)
    ]
    assert faulty == ["Kubernetes 1.36"]


def test_kernels_are_information() -> None:
    """TUM-DSE/doctor-cluster-config#1795: with NICs that no object names."""
    one = node("v1.37.2")
    one["status"]["nodeInfo"]["kernelVersion"] = "6.18.45-1-default"
    assert [level for level, text in told(one, start="1.36", to="1.37") if "bnxt_en" in text] == [
        "info"
    ]
    one["status"]["nodeInfo"]["kernelVersion"] = "5.14.0-570.el9.x86_64"
    assert [text for _, text in told(one, start="1.36", to="1.37") if "bnxt_en" in text] == []


def test_fault_of_an_unseen_component_is_information() -> None:
    """ROCm/gpu-operator#610: it breaks with a kernel module that no object names."""
    slices = slice_of("gpu.amd.com", "node-1", {"name": "gpu-0"})
    image = {"name": "plugin", "image": "docker.io/rocm/k8s-gpu-dra-driver:v1.0.0"}
    spec = {"template": {"spec": {"containers": [image]}}}
    daemons = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "amd", "namespace": "x"},
        "spec": spec,
    }
    assert [
        level for level, text in told(node("v1.34.5"), slices, daemons) if "amdgpu 6.19.14" in text
    ] == ["info"]
    image["image"] = "docker.io/rocm/k8s-gpu-dra-driver:v1.0.1"
    assert [text for _, text in told(node("v1.34.5"), slices, daemons) if "amdgpu" in text] == []


def test_old_kubelets_are_upgraded_before_the_control_plane() -> None:
    """kubernetes.io/releases/version-skew-policy: kubelet is at most three minor versions older."""
    found = plan(UpgradeInput((), state_of(node("v1.33.9"))), "1.36", "1.37")
    assert any("kubelets of node-1" in text for text in found.steps[0].before)
    found = plan(UpgradeInput((), state_of(node("v1.34.9"))), "1.36", "1.37")
    assert found.steps[0].before == ()


def test_every_row_has_a_source_and_a_date() -> None:
    assert breakages()
    assert all(row.source and row.read and row.fix for row in breakages())


# -- what 1.38 mends (kubernetes/kubernetes CHANGELOG-1.38.md) --

PULLS = {
    "scheduler": ("140798", "141898", "141110", "141556"),
    "controller-manager": ("142289", "141276"),
    "kubelet": ("140904", "137534", "139772"),
    "library": ("141107", "141106", "141108", "142003", "141815"),
}


@pytest.mark.parametrize(
    ("component", "pull"), [(name, pull) for name, pulls in PULLS.items() for pull in pulls]
)
def test_faults_fixed_by_1_38_are_known_of_earlier_releases(component: str, pull: str) -> None:
    (row,) = [row for row in breakages() if f"#{pull}" in row.source]
    before, after = ("0.37.0", "0.38.0") if component == "library" else ("1.36.5", "1.38.0")
    assert row.of == component
    assert row.concerns(before)
    assert not row.concerns(after)


def test_a_backport_ends_a_known_problem() -> None:
    """kubernetes#142289: pkg/controller/devicetainteviction at v1.37.1 and v1.37.2."""
    (row,) = [row for row in breakages() if "#142289" in row.source]
    assert row.concerns("v1.37.1")
    assert not row.concerns("v1.37.2")
    assert not row.concerns("v1.38.0-alpha.2")


def test_release_names_the_faults_it_fixes() -> None:
    steps = {step.step: step.findings for step in problems("1.37", "1.38")}
    control = {one.message.partition(":")[0] for one in steps["Kubernetes 1.38"]}
    assert control == {
        "kube-scheduler before 1.38.0",
        "kube-controller-manager before 1.38.0",
        "drivers built with k8s.io/dynamic-resource-allocation before 0.38.0",
    }
    assert {one.level for one in steps["Kubernetes 1.38"]} == {"info"}
    titles = [one.message.partition(":")[0] for one in faults_of_release(("kubelet",), "1.38")]
    assert "kubelet before 1.38.0" in titles
    # The kubelet of the node has these faults, so they are said of the node alone.
    faults = [one.message.partition(": ")[2] for one in steps["Nodes 1.38"]]
    assert len(faults) > 1
    assert len(faults) == len(set(faults))


def test_fault_of_the_present_release_does_not_break() -> None:
    """A device with a live share (kubernetes#140798) is in 1.36 and 1.37 alike."""
    (step,) = [step for step in problems("1.36", "1.37.2") if step.step == "Kubernetes 1.37"]
    (shared,) = [one for one in step.findings if "live share" in one.message]
    assert (shared.level, shared.message.partition(":")[0]) == ("info", "kube-scheduler 1.37.2")


def problems(start: str, to: str) -> list[Step]:
    """The steps of an upgrade of one node, with known problems alone."""
    found = plan(UpgradeInput((), state_of(node(f"v{start}.0"))), start, to)
    return [
        Step(
            step.step,
            step.before,
            tuple(one for one in step.findings if one.code == "known-problem"),
        )
        for step in found.steps
    ]
