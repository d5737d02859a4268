"""Known breakages, and what has to be done before a step."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.facts.known import breakages
from dractl.upgrade import Inputs, plan
from tests.explain.cluster import slice_of, state_of


def node(kubelet: str, runtime: str = "containerd://2.1.0", name: str = "node-1") -> dict[str, Any]:
    info = {"kubeletVersion": kubelet, "containerRuntimeVersion": runtime}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": {"nodeInfo": info}}


def told(*objects: dict[str, Any], start: str = "1.34", to: str = "1.35") -> list[tuple[str, str]]:
    found = plan(Inputs((), state_of(*objects)), start, to)
    return [(one.level, one.message) for step in found.steps for one in step.findings if one.code == "known-problem"]


@pytest.mark.parametrize(
    ("kubelet", "runtime", "word"),
    [
        ("v1.34.1", "containerd://2.1.0", "idle for 30 minutes"),  # kubernetes/kubernetes#133920
        ("v1.34.3+k3s1", "containerd://2.1.0", "already prepared"),  # kubernetes/kubernetes#135919
        ("v1.34.9", "containerd://1.6.33", "CDI devices from kubelet"),  # kubernetes/kubernetes#125210
        ("v1.34.9", "containerd://1.7.29", "NRI plugin"),  # containerd/containerd#12650
        ("v1.34.9", "docker://29.4.0", "cri-dockerd"),  # Mirantis/cri-dockerd#558
    ],
)
def test_the_versions_of_nodes_are_compared_with_what_is_known(kubelet: str, runtime: str, word: str) -> None:
    found = told(node(kubelet, runtime))
    assert any(level == "changes" and word in message for level, message in found), found


def test_fixed_versions_are_not_told() -> None:
    assert told(node("v1.34.5", "containerd://1.7.30"), node("v1.34.5", "cri-o://1.34.0", "node-2")) == []


def test_the_version_that_is_upgraded_to_breaks() -> None:
    """kubernetes/kubernetes#135919 came after 1.35.0."""
    found = plan(Inputs((), state_of(node("v1.34.5"))), "1.34", "1.35.0")
    assert [one.level for step in found.steps for one in step.findings] == ["breaks"]


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
    assert [level for level, text in told(node("v1.34.5"), slices, daemons) if "amdgpu 6.19.14" in text] == ["info"]
    image["image"] = "docker.io/rocm/k8s-gpu-dra-driver:v1.0.1"
    assert told(node("v1.34.5"), slices, daemons) == []


def test_old_kubelets_are_upgraded_before_the_control_plane() -> None:
    """kubernetes.io/releases/version-skew-policy: kubelet is at most three minor versions older."""
    found = plan(Inputs((), state_of(node("v1.33.9"))), "1.36", "1.37")
    assert any("kubelets of node-1" in text for text in found.steps[0].before)
    found = plan(Inputs((), state_of(node("v1.34.9"))), "1.36", "1.37")
    assert found.steps[0].before == ()


def test_every_row_has_a_source_and_a_date() -> None:
    assert breakages()
    assert all(row.source and row.read and row.fix for row in breakages())
