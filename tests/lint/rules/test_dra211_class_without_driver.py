"""DRA211 class-without-driver."""

from __future__ import annotations

import pytest

from tests.lint.written import API, device_class, found

MODEL = 'device.attributes["gpu.example.com"].model == "A100"'


def test_class_without_a_driver_condition_is_found() -> None:
    (finding,) = found(device_class("gpu", MODEL), "DRA211")
    assert (finding.severity, finding.confidence) == ("warning", "likely")
    assert finding.path == "spec.selectors[0].cel.expression"
    assert 'begin with device.driver == "gpu.example.com"' in (finding.help or "")


@pytest.mark.parametrize(
    "selectors",
    [
        (f'device.driver == "gpu.example.com" && {MODEL}',),
        ('device.driver == "gpu.example.com"', MODEL),
        ('device.driver.endsWith(".example.com")',),
        ('device.driver in ["a.example.com", "b.example.com"]',),
    ],
)
def test_any_condition_on_the_driver_in_any_selector_is_enough(selectors: tuple[str, ...]) -> None:
    quoted = [f"'{selector}'" for selector in selectors]
    assert found(device_class("gpu", *quoted), "DRA211") == []


def test_a_driver_in_a_string_or_comment_is_no_condition() -> None:
    text = device_class(
        "gpu", "'" + 'device.attributes["gpu.example.com"].model == "device.driver"' + "'"
    )
    assert len(found(text, "DRA211")) == 1


def test_class_without_selectors_is_left_to_dra210() -> None:
    assert found(API + "kind: DeviceClass\nmetadata: {name: gpu}\nspec: {}\n", "DRA211") == []
