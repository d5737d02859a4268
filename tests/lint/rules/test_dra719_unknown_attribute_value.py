"""DRA719 unknown-attribute-value."""

from __future__ import annotations

import pytest

from tests.lint.written import found, marked, selecting

GPU = 'device.attributes["gpu.nvidia.com"]'


def test_case_counts() -> None:
    (finding,) = found(selecting(f'{GPU}.architecture in ["Hopper", "blackwell"]', "gpu.nvidia.com"), "DRA719")
    assert (finding.severity, marked(finding)) == ("warning", '"blackwell"')
    assert finding.message == 'gpu.nvidia.com/architecture is never "blackwell"; did you mean Blackwell?'
    assert finding.fix is not None
    assert [edit.text for edit in finding.fix.edits] == ["Blackwell"]


def test_a_value_that_is_near_none() -> None:
    (finding,) = found(selecting(f'{GPU}.architecture == "CDNA3"', "gpu.nvidia.com"), "DRA719")
    assert finding.message == 'gpu.nvidia.com/architecture is never "CDNA3"'
    assert "Hopper" in (finding.help or "")
    assert finding.fix is None


def test_part_of_a_product_name() -> None:
    (finding,) = found(selecting(f'{GPU}.productName == "H100"', "gpu.nvidia.com"), "DRA719")
    assert "the whole name of a product" in finding.message
    assert "NVIDIA H100 80GB HBM3" in (finding.help or "")
    assert '.contains("H100")' in (finding.help or "")


@pytest.mark.parametrize(
    "expression",
    [
        f'{GPU}.architecture == "Hopper"',
        f'{GPU}.architecture.lowerAscii() == "hopper"',
        f'{GPU}.productName == "NVIDIA Some Future GPU"',
        f'{GPU}.?architecture.orValue("none") != "none"',  # the default, not a value
        f'{GPU}.uuid == "GPU-1"',
    ],
)
def test_values_that_a_device_may_have(expression: str) -> None:
    assert found(selecting(expression, "gpu.nvidia.com"), "DRA719") == []
