"""Limits of Cluster Autoscaler's versions and settings.

Expected answers follow its flags (kubernetes/autoscaler cluster-autoscaler/config/flags/flags.go of the tags 1.32.0 to
1.36.1) and its providers (kubernetes/autoscaler#10199).
"""

from __future__ import annotations

from typing import Any

import pytest

from dractl.autoscaler.cluster_autoscaler import find_claim_limit
from dractl.objects.cluster_autoscaler import ClusterAutoscaler, read_cluster_autoscaler

FLAG = "--enable-dynamic-resource-allocation"


def container(version: str, *arguments: str, field: str = "command") -> dict[str, Any]:
    image = f"registry.k8s.io/autoscaling/cluster-autoscaler:v{version}"
    return {"image": image, field: ["./cluster-autoscaler", *arguments]}


def settings(version: str, *arguments: str) -> ClusterAutoscaler:
    read = read_cluster_autoscaler(container(version, *arguments))
    assert read is not None
    return read


@pytest.mark.parametrize(
    ("version", "arguments", "verdict", "words"),
    [
        ("1.31.5", (), "unknown", "does not know claims"),
        ("1.34.5", (), "unknown", "false by default"),
        ("1.34.5", (f"{FLAG}=false",), "unknown", "false here"),
        ("1.34.5", (f"{FLAG}=F",), "unknown", "false here"),
        ("1.34.5", (f"{FLAG}=false", FLAG), None, ""),
        ("1.32.0", (f"{FLAG}=true",), None, ""),
        ("1.32.0", ("--enable_dynamic_resource_allocation=1",), None, ""),
        ("1.36.1", (), None, ""),
        ("1.35.0", (f"{FLAG}=false",), "never", "refuses to start"),
        ("1.36.1", ("--cloud-provider=clusterapi",), "unknown", "incomplete"),
        ("1.35.0", ("--cloud-provider", "clusterapi"), "unknown", "incomplete"),
        ("1.36.9", ("--cloud-provider=clusterapi",), None, ""),
        ("1.37.0", ("--cloud-provider=clusterapi",), None, ""),
        ("1.34.5", (FLAG, "--cloud-provider=clusterapi"), None, ""),
        ("1.36.1", ("--cloud-provider=aws",), "unknown", "expects no devices"),
        ("1.36.1", ("--cloud-provider=hetzner",), None, ""),
    ],
)
def test_versions_flags_and_providers(
    version: str, arguments: tuple[str, ...], verdict: str | None, words: str
) -> None:
    limit = find_claim_limit(settings(version, *arguments))
    assert (None if limit is None else limit.verdict) == verdict
    assert limit is None or words in limit.reason


def test_an_image_without_a_version_shows_no_limit() -> None:
    image = "registry.k8s.io/autoscaling/cluster-autoscaler@sha256:" + "0" * 64
    read = read_cluster_autoscaler({"image": image, "command": ["./cluster-autoscaler"]})
    assert read is not None
    assert find_claim_limit(read) is None


def test_the_place_of_the_flag() -> None:
    read = read_cluster_autoscaler(container("1.34.5", f"{FLAG}=false", field="args"))
    assert read is not None
    assert read.argument == ("args", 1)


def test_a_shell_command() -> None:
    line = f"./cluster-autoscaler --v=4 --cloud-provider=aws {FLAG}=true 1>>/var/log/ca.log"
    read = settings("1.34.5", "-c", line)
    assert (read.provider, read.handles_claims) == ("aws", True)


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.2", "1.34.2"),
        ("registry.example/cluster-autoscaler-arm64:1.33", "1.33"),
        ("cluster-autoscaler:v1.35.0@sha256:0a", "1.35.0"),
        ("cluster-autoscaler:latest", ""),
        ("registry.example:5000/cluster-autoscaler", ""),
    ],
)
def test_images(image: str, version: str) -> None:
    read = read_cluster_autoscaler({"image": image})
    assert read is not None
    assert read.version == version


@pytest.mark.parametrize(
    "wrong",
    [
        {"image": "registry.example/cluster-autoscaler-operator:v1"},
        {"image": "registry.example/my-cluster-autoscaler:v1"},
        {"image": 3},
        {},
    ],
)
def test_other_containers(wrong: dict[str, Any]) -> None:
    assert read_cluster_autoscaler(wrong) is None


def test_broken_arguments_are_ignored() -> None:
    read = read_cluster_autoscaler({"image": "cluster-autoscaler:v1.34.0", "args": [3, None, {}]})
    assert read == ClusterAutoscaler("1.34.0", "", None, None)
