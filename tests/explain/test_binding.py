"""Claims that are allocated already: joining one, and waiting for its devices."""

from __future__ import annotations

from typing import Any

import pytest

from dractl.allocation import Features
from dractl.explain import Explainer, Explanation, find
from tests.explain.cluster import allocation, claim, device, device_class, node, pod, request, slice_of, state_of

GPU = device_class("gpu", "device.driver == 'gpu.example.com'")
CLUSTER = (GPU, node("node-1"), slice_of("gpu.example.com", "node-1", device("gpu-0")))
WHEN = "2026-11-21T02:21:34Z"


def explain(*objects: dict[str, Any], release: str = "1.37", gates: dict[str, bool] | None = None) -> Explanation:
    state = state_of(*objects)
    (question,) = find(state, "pod/p", None)
    return Explainer(state, Features.for_release(release, gates or {})).explain(question)


def shared(timestamp: str | None, user: str | None = "first") -> dict[str, Any]:
    status = allocation("node-1", ("gpu.example.com", "gpu-0"), pod=user)
    if timestamp:
        status["allocation"]["allocationTimestamp"] = timestamp
    return claim("c", request("r", "gpu"), status=status, metadata={"uid": "uid-c"})


def joining(**more: Any) -> dict[str, Any]:
    return pod("p", {"name": "g", "resourceClaimName": "c"}, metadata={"uid": "uid-p"}, **more)


FIRST = pod(
    "first",
    {"name": "g", "resourceClaimName": "c"},
    metadata={"uid": "uid-first"},
    spec={"nodeName": "node-1"},
    status={"phase": "Running"},
)


# Recorded with kube-scheduler 1.36.3 and 1.37.1; 1.34 and 1.35 do the same where the alpha gate is on.
@pytest.mark.parametrize(
    ("release", "gates", "joins"),
    [
        ("1.37", {}, False),
        ("1.36", {}, False),
        ("1.36", {"DRADeviceBindingConditions": False}, True),
        ("1.35", {}, True),
        ("1.35", {"DRADeviceBindingConditions": True}, False),
        ("1.34", {"DRADeviceBindingConditions": True, "DRAResourceClaimDeviceStatus": True}, False),
    ],
)
def test_a_claim_allocated_without_a_time_cannot_be_joined(release: str, gates: dict[str, bool], joins: bool) -> None:
    answer = explain(*CLUSTER, FIRST, shared(None), joining(), release=release, gates=gates)
    assert answer.fits is joins
    if not joins:
        assert (answer.verdict, answer.reasons[0].code) == ("error", "upstream-bug")
        assert "allocationTimestamp" in answer.reasons[0].message
        assert "ml/c" in answer.reasons[0].message
        assert "field cannot be modified once set" in (answer.scheduler_message or "")
        assert any("pod first ends" in fix.title for fix in answer.fixes)


def test_a_claim_with_a_time_can_be_joined_and_one_that_is_reserved_needs_no_joining() -> None:
    assert explain(*CLUSTER, FIRST, shared(WHEN), joining()).fits
    assert explain(*CLUSTER, shared(None, user="p"), joining()).fits
