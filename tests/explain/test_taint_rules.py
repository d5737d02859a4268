"""Answers where a DeviceTaintRule of 1.34 selects devices by class or CEL."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.explain import Explainer, Explanation, find_subjects
from dractl.scheduler.attempt import Scheduler
from tests.explain.cluster import claim, device, device_class, node, request, slice_of, state_of

FEATURES = Features.for_release("1.34", {"DRADeviceTaints": True})
GPU = device_class("gpu", "device.driver == 'gpu.example.com'")
OLD = device_class("old", "device.attributes['gpu.example.com'].age > 3")
SLICE = slice_of("gpu.example.com", "node-1", device("gpu-0", age=5), device("gpu-1", age=1))


def rule(name: str, **selector: Any) -> dict[str, Any]:
    spec = {"deviceSelector": selector, "taint": {"key": "worn", "effect": "NoSchedule"}}
    kind = {
        "apiVersion": "resource.k8s.io/v1alpha3",
        "kind": "DeviceTaintRule",
        "metadata": {"name": name},
    }
    return {**kind, "spec": spec}


def explain(count: int, *objects: dict[str, Any]) -> Explanation:
    state = state_of(GPU, node("node-1"), SLICE, claim("c", request("r", "gpu", count)), *objects)
    (question,) = find_subjects(state, "c", None)
    return Explainer(state, FEATURES).explain(question)


@pytest.mark.parametrize(
    "selector",
    [
        {"deviceClassName": "old"},
        {"selectors": [{"cel": {"expression": "device.attributes['gpu.example.com'].age > 3"}}]},
    ],
)
def test_only_the_tainting_rule_is_named(selector: dict[str, Any]) -> None:
    other = rule("other", selectors=[{"cel": {"expression": "device.driver == 'nic.example.com'"}}])
    gone = rule("gone", deviceClassName="no-such-class")
    rules = (rule("by", **selector), other, gone)
    assert explain(1, OLD, *rules).verdict == "allocatable"
    answer = explain(2, OLD, *rules)
    assert answer.verdict == "unallocatable"
    (reason,) = [reason for reason in answer.reasons if reason.code == "tainted"]
    assert reason.facts.get("rules") == ("by",)
    assert reason.facts.get("devices") == ("gpu.example.com/node-1/gpu-0",)


def test_added_or_removed_class_changes_the_taints_of_its_rule() -> None:
    state = state_of(GPU, node("node-1"), SLICE, rule("by", deviceClassName="old"))
    before = Scheduler(state, FEATURES)
    after = before.with_state(state.replace("DeviceClass", ("", "old"), OLD))
    again = after.with_state(after.state.replace("DeviceClass", ("", "old"), None))
    found = [
        [len(d.taints) for d in scheduler.slices[0].spec.devices]
        for scheduler in (before, after, again)
    ]
    assert found == [[0, 0], [1, 0], [0, 0]]


@pytest.mark.parametrize(("release", "is_off"), [("1.34", False), ("1.36", True), ("1.37", False)])
def test_answer_says_that_rules_have_no_effect_while_their_gate_is_off(
    release: str, is_off: bool
) -> None:
    """kubernetes/kubernetes#141422: whether the rule counts decides the answer."""
    state = state_of(GPU, node("node-1"), SLICE, claim("c", request("r", "gpu")), rule("by"))
    (question,) = find_subjects(state, "c", None)
    answer = Explainer(state, Features.for_release(release)).explain(question)
    said = [note for note in answer.notes if note.startswith("DeviceTaintRules have no effect")]
    assert bool(said) is is_off
