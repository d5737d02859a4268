"""DRA213 device-plugin-resource."""

from __future__ import annotations

import pytest

from tests.lint.written import API, found, marked


@pytest.mark.parametrize(
    ("driver", "resource", "severity"),
    [
        ("gpu.nvidia.com", "nvidia.com/gpu", "info"),
        ("gpu.nvidia.com", "nvidia.com/mig-1g.5gb", "info"),
        ("gpu.amd.com", "nvidia.com/gpu", "warning"),
        ("gpu.vendor.example", "nvidia.com/gpu", "info"),  # perhaps another driver of the same hardware
        ("gpu.nvidia.com", "example.com/gpu", None),
    ],
)
def test_names_of_device_plugins(driver: str, resource: str, severity: str | None) -> None:
    selector = f"{{cel: {{expression: 'device.driver == \"{driver}\"'}}}}"
    spec = f"spec: {{extendedResourceName: {resource}, selectors: [{selector}]}}"
    findings = found(API + f"kind: DeviceClass\nmetadata: {{name: gpu}}\n{spec}\n", "DRA213")
    assert [(item.severity, marked(item)) for item in findings] == ([(severity, resource)] if severity else [])
