"""DRA720 and DRA721 where something always holds, or cannot because all values are equal."""

from __future__ import annotations

import pytest

from tests.lint.written import claim, found

TYPE = "gpu.nvidia.com/type"


def only_finding(requests: str, constraint: str) -> tuple[str, str]:
    (finding,) = found(claim(requests, f"constraints:\n- {constraint}\n"), "DRA720")
    return finding.severity, finding.message


def test_universal_value_is_always_equal() -> None:
    severity, message = only_finding("gpu gpu.nvidia.com {count: 2}", f"matchAttribute: {TYPE}")
    assert (severity, message.endswith("the constraint always holds")) == ("info", True)


def test_universal_value_never_differs() -> None:
    severity, message = only_finding("gpu gpu.nvidia.com {count: 2}", f"distinctAttribute: {TYPE}")
    assert (severity, message.endswith("no two differ")) == ("warning", True)


def test_different_types_never_match() -> None:
    severity, message = only_finding(
        "gpu gpu.nvidia.com\nmig mig.nvidia.com", f"matchAttribute: {TYPE}"
    )
    assert (severity, message.endswith("they never match")) == ("warning", True)


@pytest.mark.parametrize("constraint", [f"matchAttribute: {TYPE}", f"distinctAttribute: {TYPE}"])
def test_one_device_has_nothing_to_differ_from(constraint: str) -> None:
    assert found(claim("gpu gpu.nvidia.com", f"constraints:\n- {constraint}\n"), "DRA720") == []


@pytest.mark.parametrize(
    ("expression", "superfluous"),
    [
        ('device.driver == "gpu.nvidia.com"', True),
        ('device.attributes["gpu.nvidia.com"].type == "gpu"', True),
        ('device.driver == "gpu.nvidia.com" || device.allowMultipleAllocations', True),
        (
            'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].architecture == "Hopper"',
            False,
        ),
        ('!(device.driver == "gpu.nvidia.com")', False),
    ],
)
def test_condition_repeated_from_the_class_is_superfluous(
    expression: str, superfluous: bool
) -> None:
    text = claim(f"gpu gpu.nvidia.com {{selectors: [{{cel: {{expression: '{expression}'}}}}]}}")
    told = [
        finding
        for finding in found(text, "DRA721")
        if finding.message.startswith("the selector is true")
    ]
    assert [finding.severity for finding in told] == (["info"] if superfluous else [])
