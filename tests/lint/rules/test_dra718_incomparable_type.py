"""DRA718 incomparable-type."""

from __future__ import annotations

import pytest

from tests.lint.written import found, marked, selecting

GPU = 'device.attributes["gpu.nvidia.com"]'


@pytest.mark.parametrize(
    ("comparison", "effect", "help_"),
    [
        # cel-go: no overload of > or of == for a semver and a string
        ('driverVersion >= "580"', "an error on every device", 'compareTo(semver("580.0.0")) >= 0'),
        (
            'driverVersion == "580.65.6"',
            "an error on every device",
            'compareTo(semver("580.65.6")) == 0',
        ),
    ],
)
def test_a_version_is_no_string(comparison: str, effect: str, help_: str) -> None:
    (finding,) = found(selecting(f"{GPU}.{comparison}", "gpu.nvidia.com"), "DRA718")
    assert (finding.severity, marked(finding)) == ("warning", f"{GPU}.{comparison}")
    assert finding.message.startswith(
        f"gpu.nvidia.com/driverVersion has type version: this comparison is {effect}"
    )
    assert finding.help == f"write {GPU}.driverVersion.{help_}"


def test_a_number_is_never_equal_to_a_string() -> None:
    (finding,) = found(
        selecting('device.attributes["dra.cpu"].numaNodeID == "0"', "dra.cpu"), "DRA718"
    )
    assert finding.message == "dra.cpu/numaNodeID has type int: this comparison is never true"
    assert finding.help == "compare it with a number without quotes: 0"


@pytest.mark.parametrize(
    "expression",
    [
        f'{GPU}.driverVersion.compareTo(semver("580.0.0")) >= 0',
        f'{GPU}.architecture == "Hopper"',
        'device.attributes["gpu.example.com"].index == "0"',  # everybody's
    ],
)
def test_comparisons_of_the_right_type(expression: str) -> None:
    assert found(selecting(expression, "gpu.nvidia.com"), "DRA718") == []


def test_methods_of_another_type() -> None:
    (finding,) = found(
        selecting(f'{GPU}.driverVersion.startsWith("580")', "gpu.nvidia.com"), "DRA718"
    )
    assert finding.message.endswith(
        "has type version: this is an error on every device (no such overload)"
    )
    for text in (
        f'{GPU}.productName.startsWith("NVIDIA")',
        f"{GPU}.cudaComputeCapability.major() >= 9",
    ):
        assert found(selecting(text, "gpu.nvidia.com"), "DRA718") == []


def test_a_list_is_never_equal_to_one_of_its_members() -> None:
    # dra.cpu publishes the roots near its CPUs, however many they are
    root = 'device.attributes["resource.kubernetes.io"].pcieRoot'
    (finding,) = found(selecting(f'{root} == "pci0000:17"', "dra.cpu"), "DRA718")
    assert (
        finding.message
        == "resource.kubernetes.io/pcieRoot is a list of strings: this comparison is never true"
    )
    assert finding.help == f'write "pci0000:17" in {root}'
    assert found(selecting(f'"pci0000:17" in {root}', "dra.cpu"), "DRA718") == []
