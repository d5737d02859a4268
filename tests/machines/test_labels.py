"""Labels of the node of a described machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.errors import InputError
from dractl.machines import labels_of, machine, names, setter
from dractl.machines.labels import is_key, is_value

if TYPE_CHECKING:
    from pathlib import Path


def test_an_instance_type_of_karpenter() -> None:
    """aws/karpenter-provider-aws website/content/en/preview/reference/instance-types.md, p5.48xlarge."""
    found = labels_of("p5.48xlarge")
    wanted = {
        "karpenter.k8s.aws/instance-category": "p",
        "karpenter.k8s.aws/instance-cpu": "192",
        "karpenter.k8s.aws/instance-cpu-manufacturer": "amd",
        "karpenter.k8s.aws/instance-family": "p5",
        "karpenter.k8s.aws/instance-generation": "5",
        "karpenter.k8s.aws/instance-gpu-count": "8",
        "karpenter.k8s.aws/instance-gpu-name": "h100",
        "karpenter.k8s.aws/instance-memory": "2097152",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "p5.48xlarge",
    }
    assert wanted.items() <= found.items()
    assert "topology.kubernetes.io/zone" not in found
    assert "kubernetes.io/hostname" not in found


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("a3-megagpu-8g", "cloud.google.com/gke-accelerator", "nvidia-h100-mega-80gb"),
        ("ct6e-standard-4t", "cloud.google.com/gke-tpu-accelerator", "tpu-v6e-slice"),
        ("g5g.xlarge", "kubernetes.io/arch", "arm64"),
        ("BM.GPU.GB200-v3.4", "kubernetes.io/arch", "arm64"),
        ("8xGB200", "kubernetes.io/arch", "arm64"),
        ("trn1.32xlarge", "karpenter.k8s.aws/instance-accelerator-name", "trainium"),
    ],
)
def test_other_labels(name: str, key: str, value: str) -> None:
    assert labels_of(name)[key] == value


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        # As docs/gpu-feature-discovery of NVIDIA/k8s-device-plugin shows them for other GPUs.
        ("8xH100", ("NVIDIA-H100-80GB-HBM3", "8", "81559", "hopper", "9", "0")),
        ("2xT4", ("Tesla-T4", "2", "15360", "turing", "7", "5")),
        ("L40S", ("NVIDIA-L40S", "1", "46068", "ada-lovelace", "8", "9")),
        ("4xGB300", ("NVIDIA-GB300", "4", "284208", "blackwell", "10", "3")),
    ],
)
def test_gpu_feature_discovery(spec: str, wanted: tuple[str, ...]) -> None:
    found = labels_of(spec)
    keys = ("product", "count", "memory", "family", "compute.major", "compute.minor")
    assert tuple(found[f"nvidia.com/gpu.{key}"] for key in keys) == wanted


@pytest.mark.parametrize("spec", ["8xH100,mig=on", "H100,A100", "8xMI300X", "8xnic"])
def test_where_gpu_feature_discovery_depends_on_more(spec: str) -> None:
    assert not any(key.startswith("nvidia.com/") for key in labels_of(spec))


def test_architecture_is_read_from_the_host() -> None:
    assert machine("g5g.xlarge").host.architecture == "aarch64"
    assert machine("dgx-h100").host.architecture == "x86_64"
    assert machine("8xH100").host.architecture is None
    assert "kubernetes.io/arch" not in labels_of("8xH100")


def test_every_named_machine_has_an_architecture_and_valid_labels() -> None:
    for name in names.every():
        found = labels_of(name)
        assert found["kubernetes.io/arch"] in ("amd64", "arm64"), name
        assert all(is_key(key) and is_value(value) for key, value in found.items()), name


def test_setter_of_a_label_is_known() -> None:
    assert setter("karpenter.k8s.aws/instance-gpu-name") == "Karpenter"
    assert setter("nvidia.com/gpu.product") == "GPU Feature Discovery"
    assert setter("node.kubernetes.io/instance-type") is None


@pytest.mark.parametrize(
    ("line", "said", "at"),
    [
        ("labels: {a: b, zone/: x}", "'zone/' is not a valid label key", ":2:16"),
        ("labels: {gpus: 8}", "label gpus must be a string, not 8", ":2:"),
        ("labels: {gpus: true}", "label gpus must be a string, not True", ":2:"),
        ("labels: {team: 'a b'}", "label team must be at most 63 letters", ":2:"),
        (
            "labels: {kubernetes.io/arch: x86_64}",
            "must be one of amd64, arm64, not 'x86_64'",
            ":2:",
        ),
        ("labels: [a]", "labels must be a map", ":2:"),
        ("label: {a: b}", "unknown key 'label'; did you mean labels?", ":2:1"),
    ],
)
def test_impossible_labels_have_their_line(line: str, said: str, at: str, tmp_path: Path) -> None:
    path = tmp_path / "machine.yaml"
    path.write_text(f"roots: [{{devices: [H100]}}]\n{line}\n")
    with pytest.raises(InputError) as caught:
        labels_of(str(path))
    assert said in caught.value.message
    assert f"machine.yaml{at}" in str(caught.value.place)


def test_labels_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "machine.yaml"
    path.write_text(
        "labels: {topology.kubernetes.io/zone: a, empty: ''}\nroots: [{devices: [H100]}]\n"
    )
    found = labels_of(str(path))
    assert (found["topology.kubernetes.io/zone"], found["empty"]) == ("a", "")
