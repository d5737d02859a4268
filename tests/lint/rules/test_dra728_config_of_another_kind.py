"""DRA728 config-of-another-kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import API, claim, marked

if TYPE_CHECKING:
    from dractl.lint import Finding


def find(text: str, release: str = "1.37") -> list[Finding]:
    report = lint(load(["-"], stdin=text.encode()), Target.of(release))
    return [finding for finding in report.findings if finding.code == "DRA728"]


CONFIG = """    config:
    - requests: [{requests}]
      opaque:
        driver: gpu.nvidia.com
        parameters: {{apiVersion: resource.nvidia.com/v1beta1, kind: {kind}}}
"""


def claim_with_config(requests: str, kind: str, names: str = "") -> str:
    return claim(requests) + CONFIG.format(requests=names, kind=kind)


@pytest.mark.parametrize(
    ("device_class", "kind", "names", "message"),
    [
        (
            "mig.nvidia.com",
            "GpuConfig",
            "a",
            "refuses GpuConfig for request a, whose devices are of type mig",
        ),
        ("mig.nvidia.com", "GpuConfig", "", "does not apply GpuConfig to devices of type mig"),
        ("gpu.nvidia.com", "MigDeviceConfig", "a", "refuses MigDeviceConfig for request a"),
        (
            "gpu.nvidia.com",
            "VfioDeviceConfig",
            "",
            "does not apply VfioDeviceConfig to devices of type gpu",
        ),
    ],
)
def test_another_kind(device_class: str, kind: str, names: str, message: str) -> None:
    (finding,) = find(claim_with_config(f"a {device_class}", kind, names), "1.36")
    assert (finding.severity, marked(finding)) == ("warning", kind)
    assert message in finding.message


def test_configuration_for_all_requests_is_judged() -> None:
    """Seen with gpu.nvidia.com 0.4.1: on 1.37.1 the pod ran; with one of two requests named, the driver refused."""
    (finding,) = find(claim_with_config("a gpu.nvidia.com", "MigDeviceConfig", "a"), "1.37")
    assert "does not apply MigDeviceConfig" in finding.message
    (finding,) = find(
        claim_with_config("a gpu.nvidia.com\nb gpu.nvidia.com", "MigDeviceConfig", "a"), "1.37"
    )
    assert "refuses MigDeviceConfig for request a" in finding.message


def test_configuration_for_one_of_several_kinds_is_fine() -> None:
    assert find(claim_with_config("a gpu.nvidia.com\nb mig.nvidia.com", "GpuConfig")) == []
    assert (
        find(claim_with_config("a gpu.nvidia.com\nb mig.nvidia.com", "MigDeviceConfig", "b")) == []
    )
    assert (
        len(find(claim_with_config("a gpu.nvidia.com\nb mig.nvidia.com", "MigDeviceConfig", "a")))
        == 1
    )
    assert find(claim_with_config("a ours", "GpuConfig", "a")) == []


def test_a_class() -> None:
    text = (
        API + "kind: DeviceClass\nmetadata: {name: c}\nspec:\n  selectors: [{cel: {expression: "
        "\"device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'\"}}]\n"
        "  config: [{opaque: {driver: gpu.nvidia.com, parameters: "
        "{apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig}}}]\n"
    )
    (finding,) = find(text)
    assert "devices of this class, which are of type mig" in finding.message
    assert find(text.replace("GpuConfig", "MigDeviceConfig")) == []
