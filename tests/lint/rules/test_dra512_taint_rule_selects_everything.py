"""DRA512 taint-rule-selects-everything."""

from __future__ import annotations

import pytest

from tests.lint.written import found, marked

RULE = "apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata: {name: hot}\nspec:\n"
TAINT = "  taint: {key: gpu.example.com/hot, effect: NoSchedule}\n"


@pytest.mark.parametrize("selector", ["{}", "{driver: null}"])
def test_an_empty_selector(selector: str) -> None:
    # DeviceTaintSelector: "The empty selector matches all devices"
    (finding,) = found(RULE + f"  deviceSelector: {selector}\n" + TAINT, "DRA512")
    assert (finding.severity, marked(finding)) == ("warning", selector)
    assert "every device of every driver" in finding.message


@pytest.mark.parametrize("selector", ["{driver: gpu.example.com}", "{pool: a}", "{device: gpu-0}"])
def test_one_field_is_enough(selector: str) -> None:
    assert found(RULE + f"  deviceSelector: {selector}\n" + TAINT, "DRA512") == []


def test_missing_selector_is_left_to_dra511() -> None:
    assert found(RULE + TAINT, "DRA512") == []
