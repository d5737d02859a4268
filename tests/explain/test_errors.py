"""Errors of the allocator: each has the code of what it is about, whatever words its message or the names hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dractl.allocation import Features
from dractl.explain import Explainer, find_subjects
from tests.explain.cluster import (
    claim,
    device,
    device_class,
    node,
    pod,
    request,
    slice_of,
    state_of,
)

if TYPE_CHECKING:
    from dractl.explain.answer import Explanation, Reason

GPU = device_class("gpu", "device.driver == 'gpu.example.com'")


def first(*objects: dict[str, Any], release: str = "1.37", **gates: bool) -> Reason:
    """The first reason for the claim ``pool-claim``."""
    state = state_of(GPU, node("node-1"), *objects)
    (question,) = find_subjects(state, "pool-claim", None)
    answer = Explainer(state, Features.for_release(release, gates)).explain(question)
    assert not answer.fits
    return answer.reasons[0]


def gpus(*devices: dict[str, Any], **spec: Any) -> dict[str, Any]:
    made = slice_of("gpu.example.com", "node-1", *devices, name="pool-1")
    return {**made, "spec": {**made["spec"], **spec}}


def test_an_amount_beyond_range_arithmetic_is_a_scheduler_error() -> None:
    policy = {"default": "1", "validRange": {"min": "1", "step": "3"}}
    shared = {
        **device("gpu-0"),
        "allowMultipleAllocations": True,
        "capacity": {"memory": {"value": "1", "requestPolicy": policy}},
    }
    asked = request("r", "gpu", capacity={"requests": {"memory": "10E"}})
    reason = first(gpus(shared), claim("pool-claim", asked))
    assert (reason.code, reason.request, reason.facts.get("gate")) == ("scheduler-error", "r", None)
    assert reason.facts.get("devices") == ("gpu.example.com/pool-1/gpu-0",)
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
    assert (reason.code, reason.facts.get("issue")) == ("upstream-bug", "kubernetes#138882")
    assert reason.message.endswith(" (kubernetes#138882)")


def test_a_failing_derived_attribute_is_a_scheduler_error() -> None:
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
    assert (reason.code, reason.facts.get("pool"), reason.facts.get("gate")) == (
        "scheduler-error",
        None,
        None,
    )
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
    assert (reason.code, reason.facts.get("gate")) == ("gate-off", "DRAAdminAccess")


# -- a request for all devices beside a pool that cannot be used (kubernetes#141898) --


def all_beside_a_broken_pool(release: str, **broken: Any) -> Explanation:
    """The answer for a claim for all devices, where the pool of another driver on node-1 is broken."""
    every = request("r", "gpu", allocationMode="All")
    del every["exactly"]["count"]
    network = slice_of("net.example.com", "node-1", device("nic-0"), **broken.pop("pool", {}))
    network["spec"].update(broken)
    state = state_of(
        GPU,
        node("node-1"),
        node("node-2"),
        slice_of("gpu.example.com", "node-1", device("gpu-0")),
        slice_of("gpu.example.com", "node-2", device("gpu-0")),
        network,
        claim("all", every),
    )
    (question,) = find_subjects(state, "all", None)
    return Explainer(state, Features.for_release(release)).explain(question)


INCOMPLETE: dict[str, Any] = {"pool": {"resourceSliceCount": 2}}
INVALID: dict[str, Any] = {"devices": [device("nic-0"), device("nic-0")]}


@pytest.mark.parametrize(
    ("broken", "code"), [(INCOMPLETE, "pool-incomplete"), (INVALID, "pool-invalid")]
)
def test_a_broken_pool_on_one_node_ends_the_attempt_up_to_1_37(
    broken: dict[str, Any], code: str
) -> None:
    answer = all_beside_a_broken_pool("1.37", **broken)
    assert not answer.fits
    assert answer.headline.startswith("the scheduler's attempt ends in an error")
    assert [reason.code for reason in answer.reasons] == [code]
    assert [each.verdict for each in answer.nodes] == ["error", "allocatable"]


@pytest.mark.parametrize("broken", [INCOMPLETE, INVALID])
def test_a_broken_pool_on_one_node_leaves_the_other_nodes_from_1_38_on(
    broken: dict[str, Any],
) -> None:
    answer = all_beside_a_broken_pool("1.38", **broken)
    assert answer.fits
    assert answer.fixes == ()
    assert "node-2" in answer.headline
    assert [each.verdict for each in answer.nodes] == ["unallocatable", "allocatable"]


@pytest.mark.parametrize(
    ("broken", "code"), [(INCOMPLETE, "pool-incomplete"), (INVALID, "pool-invalid")]
)
def test_a_broken_pool_on_the_only_node_is_the_reason_in_1_38_too(
    broken: dict[str, Any], code: str
) -> None:
    every = request("r", "gpu", allocationMode="All")
    del every["exactly"]["count"]
    network = slice_of("net.example.com", "node-1", device("nic-0"), **broken.get("pool", {}))
    network["spec"].update({k: v for k, v in broken.items() if k != "pool"})
    reason = first(gpus(device("gpu-0")), network, claim("pool-claim", every), release="1.38")
    assert reason.code == code
    assert reason.message.startswith("request r wants all devices, and pool net.example.com/node-1")


# -- a device that was shared, and is not any more (kubernetes#140797) --


def explain_beside_a_share(release: str) -> Explanation:
    """The answer for a claim for a whole device, of which another claim still has a share that consumes no capacity."""
    result = {
        "request": "r",
        "driver": "gpu.example.com",
        "pool": "node-1",
        "device": "gpu-0",
        "shareID": "a671734a-e8e5-11e4-8fde-42010af09327",
    }
    shared = claim(
        "shared", request("r", "gpu"), status={"allocation": {"devices": {"results": [result]}}}
    )
    state = state_of(
        GPU,
        node("node-1"),
        slice_of("gpu.example.com", "node-1", device("gpu-0")),
        shared,
        claim("whole", request("r", "gpu")),
    )
    (question,) = find_subjects(state, "whole", None)
    return Explainer(state, Features.for_release(release)).explain(question)


def test_a_live_share_does_not_keep_a_device_up_to_1_37() -> None:
    assert explain_beside_a_share("1.37").fits


def test_a_live_share_keeps_a_device_from_1_38_on() -> None:
    answer = explain_beside_a_share("1.38")
    assert not answer.fits
    assert [reason.code for reason in answer.reasons] == ["device-in-use"]
    assert "shared" in answer.reasons[0].message


@pytest.mark.parametrize(("namespace", "is_suspected"), [("ml", True), ("eval", False)])
def test_only_a_namespace_that_was_shown_can_lack_the_label_for_admin_access(
    namespace: str, *, is_suspected: bool
) -> None:
    asking = pod("p", {"name": "g", "resourceClaimName": "c"})
    shown = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    state = state_of(
        asking,
        node("a"),
        device_class("gpu", "true"),
        claim("other-claim", request("r", "gpu", adminAccess=True)),
        shown,
    )
    (question,) = find_subjects(state, "pod/p", None)
    headline = Explainer(state, Features.for_release("1.37")).explain(question).headline
    assert "claim ml/c does not exist" in headline
    assert ("lacks the label" in headline) == is_suspected


def test_the_step_for_an_old_form_names_where_the_name_belongs() -> None:
    """Up to Kubernetes 1.30 the names were in a ClaimSource (core/v1 PodResourceClaim)."""
    entry = {"name": "gpu", "source": {"resourceClaimName": "pool-claim"}}
    state = state_of(GPU, node("node-1"), pod("p", entry))
    (question,) = find_subjects(state, "p", None)
    answer = Explainer(state, Features.for_release("1.37", {})).explain(question)
    assert answer.reasons[0].code == "claim-unset-source"
    assert "in the entry itself and not below source" in answer.next[0].text
