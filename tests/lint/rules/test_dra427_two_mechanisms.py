"""DRA427 two-mechanisms."""

from __future__ import annotations

import pytest

from tests.lint.written import API, claim, documents, found, marked


def user(resources: str) -> str:
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
        "  resourceClaims: [{name: g, resourceClaimName: gpus}]\n"
        f"  containers: [{{name: c, image: x, resources: {{claims: [{{name: g}}], {resources}}}}}]\n"
    )


@pytest.mark.parametrize(
    ("device_class", "resource"),
    [
        ("gpu.nvidia.com", "nvidia.com/gpu"),
        ("mig.nvidia.com", "nvidia.com/mig-1g.5gb"),
        ("gpu.amd.com", "amd.com/gpu"),
    ],
)
def test_one_container_asks_both(device_class: str, resource: str) -> None:
    text = documents(claim(f"gpu {device_class}"), user(f"limits: {{cpu: 1, {resource}: 1}}"))
    (finding,) = found(text, "DRA427")
    assert (finding.severity, marked(finding)) == ("warning", resource)
    assert "claim g" in finding.message


@pytest.mark.parametrize(
    ("requests", "resources"),
    [
        ("gpu gpu.nvidia.com", "limits: {cpu: 1}"),
        ("gpu gpu.nvidia.com", "limits: {amd.com/gpu: 1}"),
        (
            "gpu gpu.nvidia.com {allocationMode: All, adminAccess: true}",
            "limits: {nvidia.com/gpu: 1}",
        ),
        ("channel compute-domain-default-channel.nvidia.com", "limits: {nvidia.com/gpu: 4}"),
        ("nic dra.net", "limits: {rdma/hca: 1}"),  # perhaps another network
        ("gpu gpu.vendor.example", "limits: {nvidia.com/gpu: 1}"),
    ],
)
def test_other_hardware(requests: str, resources: str) -> None:
    assert found(documents(claim(requests), user(resources)), "DRA427") == []


def test_a_class_may_provide_the_resource() -> None:
    provider = API + (
        "kind: DeviceClass\nmetadata: {name: gpu}\nspec: {extendedResourceName: nvidia.com/gpu, "
        "selectors: [{cel: {expression: 'device.driver == \"gpu.nvidia.com\"'}}]}\n"
    )
    text = documents(provider, claim("gpu gpu.nvidia.com"), user("limits: {nvidia.com/gpu: 1}"))
    assert found(text, "DRA427") == []
