"""DRA721 selector-never-holds."""

from __future__ import annotations

import pytest

from tests.lint.written import device_class, documents, found, marked, selecting

GPU = 'device.attributes["gpu.nvidia.com"]'


@pytest.mark.parametrize(
    ("expression", "severity", "message"),
    [
        ("false", "warning", "the selector is false for every device"),
        ("1 / 0 == 1", "warning", "the selector fails on every device: division by zero"),
        ("1 < 2", "info", "the selector is true for every device"),
    ],
)
def test_a_selector_that_reads_nothing_of_the_device(expression: str, severity: str, message: str) -> None:
    (finding,) = found(selecting(expression), "DRA721")
    assert (finding.severity, finding.message) == (severity, message)
    assert expression in marked(finding)


@pytest.mark.parametrize(
    ("expression", "message", "help_"),
    [
        ('device.driver == "gpu.amd.com"', "the devices of class gpu.nvidia.com belong to driver gpu.nvidia.com", None),
        (
            f'{GPU}.type == "mig"',
            "class gpu.nvidia.com has devices of type gpu only",
            "gpu.nvidia.com installs a class for them: mig.nvidia.com",
        ),
        (f'{GPU}.architecture.startsWith("hop")', "gpu.nvidia.com/architecture is one of Kepler", None),
    ],
)
def test_what_an_installed_class_excludes(expression: str, message: str, help_: str | None) -> None:
    (finding,) = found(selecting(expression, "gpu.nvidia.com"), "DRA721")
    assert (finding.severity, finding.confidence, marked(finding)) == ("warning", "likely", expression)
    assert finding.message.startswith(f"no device satisfies this: {message}")
    assert finding.help == help_


@pytest.mark.parametrize(
    "expression",
    [
        f'{GPU}.architecture.startsWith("Hop")',
        f'device.driver == "gpu.amd.com" || {GPU}.type == "gpu"',
        "size(device.attributes) > 0",
    ],
)
def test_selectors_that_can_hold(expression: str) -> None:
    assert found(selecting(expression, "gpu.nvidia.com"), "DRA721") == []


@pytest.mark.parametrize("expression", ['device.driver == "gpu.nvidia.com"', f'{GPU}.type == "gpu"'])
def test_what_the_class_requires_already_is_no_mistake(expression: str) -> None:
    (finding,) = found(selecting(expression, "gpu.nvidia.com"), "DRA721")
    assert finding.severity == "info"
    assert "true for every device" in finding.message


def test_a_class_of_the_input_counts_before_the_installed_one() -> None:
    own = device_class("gpu.nvidia.com", 'device.driver == "gpu.amd.com"')
    assert found(documents(own, selecting('device.driver == "gpu.amd.com"', "gpu.nvidia.com")), "DRA721") == []
