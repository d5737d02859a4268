"""Errors of the allocator: each has the code of what it is about, whatever words its message or the names hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dractl.allocation import Features
from dractl.explain import Explainer, find
from tests.explain.cluster import claim, device, device_class, node, request, slice_of, state_of

if TYPE_CHECKING:
    from dractl.explain.answer import Reason

GPU = device_class("gpu", "device.driver == 'gpu.example.com'")


def first(*objects: dict[str, Any], release: str = "1.37", **gates: bool) -> Reason:
    """The first reason for the claim ``pool-claim``."""
    state = state_of(GPU, node("node-1"), *objects)
    (question,) = find(state, "pool-claim", None)
    answer = Explainer(state, Features.for_release(release, gates)).explain(question)
    assert not answer.fits
    return answer.reasons[0]


def gpus(*devices: dict[str, Any], **spec: Any) -> dict[str, Any]:
    made = slice_of("gpu.example.com", "node-1", *devices, name="pool-1")
    return {**made, "spec": {**made["spec"], **spec}}


def test_an_amount_that_range_arithmetic_cannot_hold() -> None:
    policy = {"default": "1", "validRange": {"min": "1", "step": "3"}}
    shared = {
        **device("gpu-0"),
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "1", "requestPolicy": policy}},
    }
    asked = request("r", "gpu", capacity={"requests": {"memory": "10E"}})
    reason = first(gpus(shared), claim("pool-claim", asked))
    assert (reason.code, reason.request, reason.gate) == ("scheduler-error", "r", None)
    assert reason.devices == ("gpu.example.com/pool-1/gpu-0",)
    assert "exceeds MaxInt64" in reason.message


def test_a_panic_is_a_known_fault_of_the_release() -> None:
    part = {
        **device("gpu-0"),
        "consumesCounters": [{"counterSet": "s", "counters": {"c": {"value": "1"}}}],
    }
    first_slice = gpus(part, pool={"name": "pool-1", "generation": 1, "resourceSliceCount": 2})
    sets = [{"name": "s", "counters": {"c": {"value": "1"}}}]
    second = {**first_slice, "metadata": {"name": "counters"}}
    second["spec"] = {**first_slice["spec"], "devices": [], "sharedCounters": sets}
    every = request("r", "gpu", allocationMode="All")
    del every["exactly"]["count"]
    reason = first(
        first_slice,
        second,
        claim("pool-claim", every),
        release="1.35",
        DRAPartitionableDevices=True,
    )
    assert (reason.code, reason.issue) == ("upstream-bug", "kubernetes#138882")


def test_a_derived_attribute_that_fails() -> None:
    derived = [{"name": "x.io/d", "expression": "device.attributes['gpu.example.com'].absent"}]
    asked = request("r", "gpu", derivedAttributes=derived)
    limits = [{"matchAttribute": "x.io/d"}]
    reason = first(
        gpus(device("gpu-0")),
        claim("pool-claim", asked, constraints=limits),
        DRADerivedAttributes=True,
    )
    assert (reason.code, reason.request) == ("scheduler-error", "r")
    assert reason.message.startswith(
        "evaluate derived attribute x.io/d on device gpu.example.com/pool-1/gpu-0 failed"
    )


def test_a_constraint_of_an_unknown_type() -> None:
    reason = first(
        gpus(device("gpu-0")),
        claim("pool-claim", request("r", "gpu"), constraints=[{"requests": ["r"]}]),
    )
    assert (reason.code, reason.pool, reason.gate) == ("scheduler-error", None, None)
    assert (
        reason.message
        == "claim ml/pool-claim, constraint #0: empty constraint (unsupported constraint type?)"
    )


def test_an_allocation_mode_of_a_later_release() -> None:
    asked = request("r", "gpu")
    asked["exactly"]["allocationMode"] = "Most"
    reason = first(gpus(device("gpu-0")), claim("pool-claim", asked))
    assert (reason.code, reason.message) == (
        "scheduler-error",
        "claim ml/pool-claim, request r: unsupported count mode Most",
    )


def test_a_gate_is_named_where_the_message_does_not_name_it() -> None:
    reason = first(
        gpus(device("gpu-0")),
        claim("pool-claim", request("r", "gpu", adminAccess=True)),
        release="1.35",
        DRAAdminAccess=False,
    )
    assert (reason.code, reason.gate) == ("gate-off", "DRAAdminAccess")
