"""DRA808 class-is-no-resource, and misspelt classes in implicit extended resources (infinitydon/dra-linux-networks)."""

from __future__ import annotations

import pytest

from tests.lint.written import device_class, documents, found, marked

CLASS = device_class("net-dpdk-vf", 'device.driver == "net.example.org"')


def pod(*resources: str) -> str:
    listed = ", ".join(
        f"{{name: c{at}, image: x, resources: {{{one}}}}}" for at, one in enumerate(resources)
    )
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers: [{listed}]\n"


def limits(name: str, part: str = "limits") -> str:
    return f'{part}: {{deviceclass.resource.kubernetes.io/{name}: "1"}}'


def test_a_misspelt_class_is_reported_once_with_the_fix_of_the_key() -> None:
    text = documents(CLASS, pod(limits("net-dpdk-vfs"), limits("net-dpdk-vf")))
    (finding,) = found(text, "DRA423")
    assert marked(finding) == "deviceclass.resource.kubernetes.io/net-dpdk-vfs"
    assert finding.fix is not None
    assert finding.fix.edits[0].text == "deviceclass.resource.kubernetes.io/net-dpdk-vf"
    assert found(text, "DRA722") == []


def test_limits_and_requests_of_one_container_are_one_finding() -> None:
    both = f"{limits('net-dpdk-vfs')}, {limits('net-dpdk-vfs', 'requests')}"
    (finding,) = found(documents(CLASS, pod(both)), "DRA423")
    assert finding.fix is None


def test_installed_class_is_looked_up_too() -> None:
    (finding,) = found(pod(limits("gpu.nvidia.con")), "DRA722")
    assert "gpu.nvidia.com" in finding.message
    assert found(documents(CLASS, pod(limits("gpu.nvidia.com"))), "DRA423") == []


@pytest.mark.parametrize(
    ("release", "gate", "words"),
    [
        ("1.34", False, "feature gate DRAExtendedResource is off"),
        ("1.35", False, "feature gate DRAExtendedResource is off"),
        ("1.34", True, "the pod runs without a device"),
        ("1.35", True, ""),
        ("1.36", True, ""),
    ],
)
def test_the_release_knows_classes_as_resources(release: str, gate: bool, words: str) -> None:
    text = documents(CLASS, pod(limits("net-dpdk-vf")))
    findings = found(text, "DRA808", release, {"DRAExtendedResource": gate})
    assert len(findings) == bool(words)
    assert all(words in finding.message for finding in findings)
