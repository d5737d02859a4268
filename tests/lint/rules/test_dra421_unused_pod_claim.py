"""DRA421 unused-pod-claim."""

from __future__ import annotations

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import claim, documents, found, pod


def drop_container_claims(text: str) -> str:
    return text.replace("resources: {claims: [{name: gpu}]}", "resources: {}")


def test_claim_unused_by_containers_is_found() -> None:
    text = documents(claim("gpu gpu.nvidia.com"), drop_container_claims(pod("gpu=gpus")))
    (finding,) = found(text, "DRA421")
    assert (finding.severity, finding.path) == ("warning", "spec.resourceClaims[0].name")
    assert found(documents(claim("gpu gpu.nvidia.com"), pod("gpu=gpus")), "DRA421") == []


def test_claim_absent_from_the_input_is_an_info() -> None:
    assert [
        finding.severity for finding in found(drop_container_claims(pod("gpu=gpus")), "DRA421")
    ] == ["info"]


@pytest.mark.parametrize(
    "device_class", ["dranet", "rdma-nics", "sriovnetwork.k8snetworkplumbingwg.io"]
)
def test_network_devices_are_moved_into_the_pod_and_named_by_no_container(
    device_class: str,
) -> None:
    text = documents(claim(f"port {device_class}"), drop_container_claims(pod("gpu=gpus")))
    assert found(text, "DRA421") == []


RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: photos}
spec:
  values:
    defaultPodOptions:
      resourceClaims: [{name: gpu, resourceClaimName: gpus}]
    controllers:
      server:
        containers:
          app: {image: {repository: x}, resources: {limits: {memory: 1Gi}}}
      learning:
        containers:
          app: {image: {repository: x}, resources: {claims: [{name: CLAIM}]}}
"""


def test_each_controller_of_a_chart_has_a_pod() -> None:
    text = documents(claim("gpu gpu.nvidia.com"), RELEASE.replace("CLAIM", "gpu"))
    (finding,) = found(text, "DRA421")
    assert (finding.path, finding.severity) == (
        "spec.values.defaultPodOptions.resourceClaims[0].name",
        "warning",
    )
    assert finding.message.startswith("no container of controller server uses the claim gpu")
    assert "only in the controllers that use it" in (finding.help or "")


def test_list_shared_by_several_controllers_is_one_finding() -> None:
    text = documents(
        claim("gpu gpu.nvidia.com"), RELEASE.replace("claims: [{name: CLAIM}]", "limits: {}")
    )
    (finding,) = found(text, "DRA421")
    assert finding.message.startswith(
        "no container of controllers server and learning uses the claim gpu"
    )


def test_a_placeholder_may_be_the_name_of_the_claim() -> None:
    (finding,) = found(RELEASE.replace("CLAIM", "'${NAME}'"), "DRA421")
    assert finding.message.startswith("no container of controller server uses")


def test_a_misspelt_name_in_a_container_is_one_mistake() -> None:
    misspelt = pod("gpu=gpus").replace("claims: [{name: gpu}]", "claims: [{name: gp}]")
    report = lint(
        load(["-"], stdin=documents(claim("gpu gpu.nvidia.com"), misspelt).encode()),
        Target.of("1.37"),
    )
    assert [finding.code for finding in report.findings] == ["DRA409"]
