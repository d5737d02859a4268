"""DRA721 selector-never-holds."""

from __future__ import annotations

import pytest

from dractl.lint.published import drivers
from tests.lint.written import device_class, documents, found, marked, selecting

GPU = 'device.attributes["gpu.nvidia.com"]'
DATED = f"gpu.nvidia.com is {drivers()['gpu.nvidia.com'].known_to}"


@pytest.mark.parametrize(
    ("expression", "severity", "message"),
    [
        ("false", "warning", "the selector is false for every device"),
        ("1 / 0 == 1", "warning", "the selector fails on every device: division by zero"),
        ("1 < 2", "info", "the selector is true for every device"),
    ],
)
def test_selector_without_device_fields_is_found(
    expression: str, severity: str, message: str
) -> None:
    (finding,) = found(selecting(expression), "DRA721")
    assert (finding.severity, finding.message) == (severity, message)
    assert expression in marked(finding)


@pytest.mark.parametrize(
    ("expression", "message", "help_"),
    [
        (
            'device.driver == "gpu.amd.com"',
            "the devices of class gpu.nvidia.com belong to driver gpu.nvidia.com",
            None,
        ),
        (
            f'{GPU}.type == "mig"',
            "class gpu.nvidia.com has devices of type gpu only",
            "gpu.nvidia.com installs a class for them: mig.nvidia.com",
        ),
        (
            f'{GPU}.architecture.startsWith("hop")',
            "gpu.nvidia.com/architecture is one of Kepler",
            DATED,
        ),
    ],
)
def test_selector_excluded_by_an_installed_class_is_explained(
    expression: str, message: str, help_: str | None
) -> None:
    (finding,) = found(selecting(expression, "gpu.nvidia.com"), "DRA721")
    assert (finding.severity, finding.confidence, marked(finding)) == (
        "warning",
        "likely",
        expression,
    )
    assert finding.message.startswith(f"no device satisfies this: {message}")
    assert finding.help == help_


@pytest.mark.parametrize(
    "expression",
    [
        f'{GPU}.architecture.startsWith("Hop")',
        f'device.driver == "gpu.amd.com" || {GPU}.architecture == "Hopper"',
        "size(device.attributes) > 0",
    ],
)
def test_satisfiable_selectors_are_fine(expression: str) -> None:
    assert found(selecting(expression, "gpu.nvidia.com"), "DRA721") == []


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "gpu.nvidia.com"',
        f'{GPU}.type == "gpu"',
        f'{GPU}.type != "mig"',
        f'{GPU}.type in ["gpu", "mig"]',
        f'device.driver == "gpu.nvidia.com" && {GPU}.type == "gpu"',
        f'device.driver == "gpu.amd.com" || {GPU}.type == "gpu"',
        f'!({GPU}.type == "vfio") && device.driver != "gpu.amd.com"',
    ],
)
def test_condition_required_by_the_class_is_an_info(expression: str) -> None:
    (finding,) = found(selecting(expression, "gpu.nvidia.com"), "DRA721")
    assert finding.severity == "info"
    assert "true for every device" in finding.message


def test_a_class_of_the_input_counts_before_the_installed_one() -> None:
    own = device_class("gpu.nvidia.com", 'device.driver == "gpu.amd.com"')
    (finding,) = found(
        documents(own, selecting('device.driver == "gpu.amd.com"', "gpu.nvidia.com")), "DRA721"
    )
    assert (finding.severity, finding.message) == (
        "info",
        "the selector is true for every device of class gpu.nvidia.com",
    )


@pytest.mark.parametrize(
    ("of_class", "expression", "follows"),
    [
        ('device.driver == "gpu.amd.com"', 'device.driver != "gpu.nvidia.com"', True),
        (f"has({GPU}.uuid)", f"has({GPU}.uuid) || {GPU}.index == 0", True),
        (f'{GPU}.type == "gpu" && {GPU}.index == 0', f"{GPU}.index != 1", True),
        (f"has({GPU}.uuid)", f'{GPU}.uuid != ""', False),
        ('device.driver in ["a", "b"]', 'device.driver != "a"', False),
        (f'{GPU}.type == "gpu"', f'{GPU}.type == "gpu" && {GPU}.index == 0', False),
    ],
)
def test_condition_required_by_an_input_class_is_an_info(
    of_class: str, expression: str, follows: bool
) -> None:
    findings = found(documents(device_class("any", of_class), selecting(expression)), "DRA721")
    assert [finding.severity for finding in findings] == (["info"] if follows else [])


@pytest.mark.parametrize(
    ("of_class", "expression"),
    [
        ('device.driver == "gpu.amd.com"', 'device.driver != "gpu.amd.com"'),
        ('device.driver != "gpu.amd.com"', 'device.driver == "gpu.amd.com"'),
        (f"has({GPU}.uuid)", f"!has({GPU}.uuid)"),
        ('device.driver in ["a", "b"]', 'device.driver != "a" && device.driver != "b"'),
    ],
)
def test_selector_excluded_by_an_input_class_is_found(of_class: str, expression: str) -> None:
    (finding,) = found(documents(device_class("any", of_class), selecting(expression)), "DRA721")
    assert finding.severity == "warning"
    assert expression in marked(finding)
    assert finding.message == "no device satisfies this together with the selectors of class any"


def test_selector_excluded_by_an_installed_class_is_found() -> None:
    (finding,) = found(selecting('device.driver != "gpu.nvidia.com"', "gpu.nvidia.com"), "DRA721")
    assert (
        finding.message
        == "no device satisfies this together with the selectors of class gpu.nvidia.com"
    )


@pytest.mark.parametrize(
    ("of_class", "expression"),
    [
        ('device.driver in ["a", "b"]', 'device.driver != "a"'),
        (f"(!has({GPU}.uuid))", f'{GPU}.type == "gpu"'),
        (
            'device.driver != "a" && device.driver == "a"',
            'device.driver == "b"',
        ),  # the class is at fault
    ],
)
def test_selector_compatible_with_an_input_class_is_fine(of_class: str, expression: str) -> None:
    findings = found(documents(device_class("any", of_class), selecting(expression)), "DRA721")
    assert [finding for finding in findings if expression in finding.excerpt] == []


def test_a_card_has_less_memory_than_its_name_says() -> None:
    # NVML reports 81559 MiB for it
    named = 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3"'
    size = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("SIZE")) >= 0'
    (finding,) = found(
        selecting(f"{named} && {size}".replace("SIZE", "80Gi"), "gpu.nvidia.com"), "DRA721"
    )
    assert (
        finding.message
        == "no device satisfies this: NVIDIA H100 80GB HBM3 has 81559Mi, which is 79.6Gi"
    )
    assert (
        found(selecting(f"{named} && {size}".replace("SIZE", "79Gi"), "gpu.nvidia.com"), "DRA721")
        == []
    )
    assert (
        found(selecting(size.replace("SIZE", "80Gi"), "gpu.nvidia.com"), "DRA721") == []
    )  # others have it
