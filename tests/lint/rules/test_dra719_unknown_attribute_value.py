"""DRA719 unknown-attribute-value."""

from __future__ import annotations

import pytest

from tests.lint.written import found, marked, selecting

GPU = 'device.attributes["gpu.nvidia.com"]'


def test_case_counts() -> None:
    (finding,) = found(
        selecting(f'{GPU}.architecture in ["Hopper", "blackwell"]', "gpu.nvidia.com"), "DRA719"
    )
    assert (finding.severity, marked(finding)) == ("warning", '"blackwell"')
    assert (
        finding.message
        == 'gpu.nvidia.com/architecture is never "blackwell"; did you mean Blackwell?'
    )
    assert finding.fix is not None
    assert [edit.text for edit in finding.fix.edits] == ["Blackwell"]


def test_a_value_near_none() -> None:
    (finding,) = found(selecting(f'{GPU}.architecture == "CDNA3"', "gpu.nvidia.com"), "DRA719")
    assert finding.message == 'gpu.nvidia.com/architecture is never "CDNA3"'
    assert "Hopper" in (finding.help or "")
    assert finding.fix is None


def test_part_of_a_product_name() -> None:
    (finding,) = found(selecting(f'{GPU}.productName == "H100"', "gpu.nvidia.com"), "DRA719")
    assert "holds full product names such as" in finding.message
    assert "NVIDIA H100 80GB HBM3" in (finding.help or "")
    assert '.contains("H100")' in (finding.help or "")


@pytest.mark.parametrize(
    "call",
    [
        'startsWith("H100")',
        'contains("h100")',
        'matches("^H100")',
        'lowerAscii().matches("^.*H100.*$")',
    ],
)
def test_parts_of_no_product_name_are_found(call: str) -> None:
    (finding,) = found(selecting(f"{GPU}.productName.{call}", "gpu.nvidia.com"), "DRA719")
    assert finding.message.startswith(
        "this is true for no known gpu.nvidia.com/productName, such as NVIDIA H100"
    )
    assert finding.help == 'write .lowerAscii().contains("h100")'


@pytest.mark.parametrize(
    "condition",
    [
        f'{GPU}.productName.lowerAscii().matches("^.*h100.*$")',
        f'{GPU}.productName.contains("H100")',
        f'{GPU}.productName.startsWith("NVIDIA Future")',
        f'{GPU}.productName.contains("future")',
        f'!{GPU}.productName.contains("h100")',
        f'{GPU}.productName.contains("h100") || {GPU}.productName.contains("H100")',
    ],
)
def test_parts_of_a_possible_product_name_are_fine(condition: str) -> None:
    assert found(selecting(condition, "gpu.nvidia.com"), "DRA719") == []


@pytest.mark.parametrize(
    ("written", "meant"), [("1g5gb", "1g.5gb"), ("mig-3g.40gb", "3g.40gb"), ("small", None)]
)
def test_mig_profiles_have_one_form(written: str, meant: str | None) -> None:
    # NVIDIA/go-nvlib pkg/nvlib/device/mig_profile.go MigProfileInfo.String
    (finding,) = found(selecting(f'{GPU}.profile == "{written}"', "mig.nvidia.com"), "DRA719")
    assert [edit.text for edit in finding.fix.edits] == [meant] if finding.fix else meant is None


@pytest.mark.parametrize(
    "profile", ["1g.5gb", "1c.2g.10gb", "1g.10gb+me", "1g.12gb-me", "1g.24gb+me.all", "7g.80gb"]
)
def test_mig_profiles(profile: str) -> None:
    assert found(selecting(f'{GPU}.profile == "{profile}"', "mig.nvidia.com"), "DRA719") == []


def test_models_of_intel_are_those_of_its_table() -> None:
    gpu = 'device.attributes["gpu.intel.com"]'
    (finding,) = found(selecting(f'{gpu}.model == "0x56c0"', "gpu.intel.com"), "DRA719")
    assert "Flex 170" in (finding.help or "")
    assert (
        found(
            selecting(f'{gpu}.model == "B580" && {gpu}.family == "Arc B-Series"', "gpu.intel.com"),
            "DRA719",
        )
        == []
    )


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
def test_possible_values_are_fine(expression: str) -> None:
    assert found(selecting(expression, "gpu.nvidia.com"), "DRA719") == []
