"""Known breakages, and what has to be done before a step."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.facts.known import breakages
from dractl.upgrade import Compared, plan
from dractl.upgrade.finding import before_nodes
from dractl.upgrade.known import of_release
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
    found = plan(Compared((), state_of(*objects)), start, to)
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
def test_the_versions_of_nodes_are_compared_with_what_is_known(
    kubelet: str, runtime: str, word: str
) -> None:
    found = told(node(kubelet, runtime))
    assert any(level == "changes" and word in message for level, message in found), found


def test_nothing_is_known_of_a_release_to_come() -> None:
    assert list(of_release("scheduler", "1.99")) == list(of_release("kubelet", "1.99")) == []
    assert list(of_release("kubelet", "1.99.1")) == []


def test_each_kubelet_that_is_drained_is_named_once() -> None:
    nodes = [
        node(kubelet, name=f"n{number}")
        for number, kubelet in enumerate(("v1.35.2", "v1.36.0", "v1.35.1", "v1.37.0"))
    ]
    (step,) = before_nodes("1.37", (), nodes)
    assert step == "drain n0, n1, n2 one by one (kubelet 1.35, 1.36)"


def test_fixed_versions_are_not_told() -> None:
    found = told(
        node("v1.34.5", "containerd://1.7.30"), node("v1.34.5", "cri-o://1.34.0", "node-2")
    )
    assert {level for level, _ in found} == {"info"}
    nodes = [
        text for _, text in found if text.startswith(("kubelet v", "containerd", "cri-o", "kernel"))
    ]
    assert [
        text for text in nodes if "passed to the runtime twice" not in text
    ] == []  # fixed by cherry-picks


def test_the_version_that_is_upgraded_to_breaks() -> None:
    """kubernetes/kubernetes CHANGELOG-1.35.md: fixed in 1.35.1 and 1.35.6."""
    found = plan(Compared((), state_of()), "1.34", "1.35.0")
    said = {step.step: [(one.level, one.message) for one in step.findings] for step in found.steps}
    assert [level for level, text in said["Nodes 1.35"] if "already prepared" in text] == ["breaks"]
    assert [level for level, _ in said["Kubernetes 1.35"]] == ["breaks", "breaks"]
    assert any("allocated to two claims" in text for _, text in said["Kubernetes 1.35"])
    found = plan(Compared((), state_of()), "1.34", "1.35.6")
    assert {one.level for step in found.steps for one in step.findings} == {"info"}
    assert [step.step for step in plan(Compared((), state_of()), "1.34", "1.34.1").steps] == [
        "Nodes 1.34"
    ]


def test_first_patches_of_the_release_are_named() -> None:
    """A cluster that goes to 1.36 hears of what 1.36.0 to 1.36.2 have (CHANGELOG-1.36.md)."""
    found = plan(Compared((), state_of(node("v1.35.9"))), "1.35", "1.36")
    (step,) = [step for step in found.steps if step.step == "Kubernetes 1.36"]
    told_of = [(one.level, one.message.partition(":")[0], one.fix) for one in step.findings]
    assert (
        "info",
        "kube-scheduler before 1.36.3",
        "take kube-scheduler 1.36.3 or later",
    ) in told_of
    assert all(one.source and one.date for one in step.findings)


def test_nodes_are_a_step_after_the_control_plane() -> None:
    found = plan(
        Compared((), state_of(node("v1.35.9"), node("v1.36.4", name="node-2"))), "1.35", "1.37"
    )
    assert [step.step for step in found.steps] == [
        "Kubernetes 1.36",
        "Kubernetes 1.37",
        "Nodes 1.37",
    ]
    assert found.steps[-1].before == ("drain node-1, node-2 one by one (kubelet 1.35, 1.36)",)


def test_kernels_are_information() -> None:
    """TUM-DSE/doctor-cluster-config#1795: with NICs that no object names."""
    one = node("v1.37.2")
    one["status"]["nodeInfo"]["kernelVersion"] = "6.18.45-1-default"
    assert [level for level, text in told(one, start="1.36", to="1.37") if "bnxt_en" in text] == [
        "info"
    ]
    one["status"]["nodeInfo"]["kernelVersion"] = "5.14.0-570.el9.x86_64"
    assert [text for _, text in told(one, start="1.36", to="1.37") if "bnxt_en" in text] == []


def test_what_the_cluster_does_not_show_is_information() -> None:
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
    found = plan(Compared((), state_of(node("v1.33.9"))), "1.36", "1.37")
    assert any("kubelets of node-1" in text for text in found.steps[0].before)
    found = plan(Compared((), state_of(node("v1.34.9"))), "1.36", "1.37")
    assert found.steps[0].before == ()


def test_every_row_has_a_source_and_a_date() -> None:
    assert breakages()
    assert all(row.source and row.read and row.fix for row in breakages())
