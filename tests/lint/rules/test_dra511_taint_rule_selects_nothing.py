"""DRA511 taint-rule-selects-nothing."""

from __future__ import annotations

from tests.lint.written import found, marked

RULE = "apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata: {name: hot}\nspec:\n"
TAINT = "  taint: {key: gpu.example.com/hot, effect: NoSchedule}\n"


def test_a_rule_without_selector() -> None:
    (finding,) = found(RULE + TAINT, "DRA511")
    assert (finding.severity, marked(finding)) == ("warning", "spec")
    assert finding.message == "the rule has no deviceSelector: it taints no device"
    assert len(found(RULE + "  deviceSelector: null\n" + TAINT, "DRA511")) == 1


def test_a_rule_with_a_selector_and_one_with_an_empty_one() -> None:
    assert found(RULE + "  deviceSelector: {driver: gpu.example.com}\n" + TAINT, "DRA511") == []
    assert found(RULE + "  deviceSelector: {}\n" + TAINT, "DRA511") == []
