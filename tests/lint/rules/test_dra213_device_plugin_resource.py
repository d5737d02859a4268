"""DRA213 device-plugin-resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dractl.lint import lint
from dractl.manifests import load
from dractl.model import Target
from tests.lint.written import API, found, marked

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("driver", "resource", "severity"),
    [
        ("gpu.nvidia.com", "nvidia.com/gpu", "info"),
        ("gpu.nvidia.com", "nvidia.com/mig-1g.5gb", "info"),
        ("gpu.amd.com", "nvidia.com/gpu", "warning"),
        (
            "gpu.vendor.example",
            "nvidia.com/gpu",
            "info",
        ),  # perhaps another driver of the same hardware
        ("gpu.nvidia.com", "example.com/gpu", None),
    ],
)
def test_names_of_device_plugins(driver: str, resource: str, severity: str | None) -> None:
    selector = f"{{cel: {{expression: 'device.driver == \"{driver}\"'}}}}"
    spec = f"spec: {{extendedResourceName: {resource}, selectors: [{selector}]}}"
    findings = found(API + f"kind: DeviceClass\nmetadata: {{name: gpu}}\n{spec}\n", "DRA213")
    assert [(item.severity, marked(item)) for item in findings] == (
        [(severity, resource)] if severity else []
    )


def test_a_chart_brings_its_class_in_place_of_the_plugin(tmp_path: Path) -> None:
    # RBLN-SW/rbln-k8s-dra-driver deployments/helm/k8s-dra-driver-npu/templates/deviceclass-npu.yaml
    text = (
        API
        + "kind: DeviceClass\nmetadata: {name: gpu}\nspec: {extendedResourceName: nvidia.com/gpu}\n"
    )
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/class.yaml").write_text(text)
    assert "DRA213" in codes(tmp_path)
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: driver\nversion: 0.1.0\n")
    assert "DRA213" not in codes(tmp_path)


def codes(folder: Path) -> set[str]:
    return {item.code for item in lint(load([str(folder)]), Target.of("1.37")).findings}
